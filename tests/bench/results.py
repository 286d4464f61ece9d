"""Results as JSON files, each with the commit, the machine, the versions and the scale that it comes from."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sqlite3
import subprocess
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import msgspec

from tests.bench.processes import ROOT
from tests.bench.scale import Scale

HERE = Path(__file__).parent / "results"

_PACKAGES = ("aiosqlite", "asyncpg", "httptools", "litestar", "msgspec", "numpy", "sqlalchemy", "uvicorn", "uvloop")


def write(
    folder: Path,
    name: str,
    scale: Scale,
    figures: Mapping[str, object],
    *,
    machine: Mapping[str, object],
    commit: str | None,
) -> None:
    """Keeps one experiment's figures, with the machine and the commit as they were before."""
    folder.mkdir(parents=True, exist_ok=True)
    found = {
        "experiment": name,
        "at": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "commit": commit,
        "machine": machine,
        "versions": _versions(),
        "scale": scale,
        **figures,
    }
    (folder / f"{name}.json").write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n")


def read(folder: Path, name: str) -> dict[str, Any] | None:
    """One experiment's figures, or None where it has not been run."""
    file = folder / f"{name}.json"
    return msgspec.json.decode(file.read_bytes(), type=dict[str, Any]) if file.exists() else None


def machine() -> dict[str, object]:
    """What this machine is, and how busy it is now."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    memory = int(Path("/proc/meminfo").read_text().split()[1]) // (1 << 20)
    return {
        "processor": models[0] if models else platform.machine(),
        "cores": os.cpu_count(),
        "memory_gb": memory,
        "system": f"{platform.system()} {platform.release()}",
        "load_average": round(os.getloadavg()[0], 2),
    }


def commit(root: Path = ROOT) -> str | None:
    """The project's commit in short, with a "+" where files that it keeps differ from it; None without a repository.

    What a run writes itself (figures and documentation) does not count, so that each experiment of a run says the same.
    """
    try:
        head = _git(root, "rev-parse", "--short", "HEAD")
        written = [f":(exclude){one}" for one in ("tests/bench/results", "docs")]
        differs = _git(root, "status", "--porcelain", "--untracked-files=no", "--", ".", *written)
    except (OSError, subprocess.CalledProcessError):
        return None
    return f"{head}+" if differs else head


def _git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True).stdout.strip()


def _versions() -> dict[str, str]:
    packages = {name: importlib.metadata.version(name) for name in _PACKAGES}
    return {"python": platform.python_version(), "sqlite": sqlite3.sqlite_version, **packages}
