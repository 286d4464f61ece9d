"""The files in `deploy/` name what is there, and pass their own tools' checks where those are installed."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.docs.blocks import PROJECT
from tools.docs.settings import settings

DEPLOY = PROJECT / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
KNOWN = {one.variable for one in settings()}


def test_the_image_copies_what_the_wheel_is_built_from() -> None:
    text = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
    copied = {name for line in re.findall(r"^COPY (?!--)(.+) \S+$", text, re.MULTILINE) for name in line.split()}
    assert all((PROJECT / name).exists() for name in copied)
    packages = re.search(r"^packages = \[(.+)\]$", (PROJECT / "pyproject.toml").read_text(), re.MULTILINE)
    assert packages is not None
    assert {name.strip(' "') for name in packages[1].split(",")} <= copied
    wanted = {line[1:] for line in (PROJECT / ".containerignore").read_text().split() if line.startswith("!")}
    assert {name.split("/")[0] for name in copied} == wanted


def test_the_image_sets_known_settings_and_runs_without_root() -> None:
    text = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
    assert set(re.findall(r"\b(MG_[A-Z_]+)=", text)) <= KNOWN
    assert re.search(r"^USER 10001:10001$", text, re.MULTILINE)
    assert "HEALTHCHECK" in text
    assert "/health'" in text


def test_the_cluster_sets_known_settings_and_is_locked_down() -> None:
    compose: Any = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    ours = [one for one in compose["services"].values() if one["image"] == "memorygrid"]
    assert len(ours) == 2
    for one in ours:
        assert {name for name in one["environment"] if name.startswith(("MG_", "ANTHROPIC"))} <= KNOWN
        assert one["read_only"]
        assert one["cap_drop"] == ["ALL"]
        assert (DEPLOY / one["build"]["context"] / one["build"]["dockerfile"]).is_file()
    published = [port for one in compose["services"].values() for port in one.get("ports", [])]
    assert all(port.startswith("127.0.0.1:") for port in published)
    mounted = [one.split(":")[0] for service in compose["services"].values() for one in service.get("volumes", [])]
    assert all((DEPLOY / one).is_file() for one in mounted if one.startswith("./"))


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_systemd_understands_the_units(unit: Path, tmp_path: Path) -> None:
    text = unit.read_text(encoding="utf-8")
    assert set(re.findall(r"\b(MG_[A-Z_]+)=", text)) <= KNOWN
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    copy = tmp_path / unit.name
    copy.write_text(re.sub(r"^ExecStart=\S+", "ExecStart=/bin/true", text, flags=re.MULTILINE), encoding="utf-8")
    checked(["systemd-analyze", "verify", "--man=no", str(copy)])
    said = checked(["systemd-analyze", "security", "--offline=yes", "--threshold=20", str(unit)])
    assert "exposure level" in said


def test_caddy_understands_its_file() -> None:
    if shutil.which("caddy") is None:
        pytest.skip("caddy is not installed")
    checked(["caddy", "validate", "--adapter", "caddyfile", "--config", str(DEPLOY / "Caddyfile")])


def checked(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
