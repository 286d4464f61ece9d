"""A pytest plugin for a suite that starts the service: each of its tests gets new databases on the servers of `--pair`.

The service is started by the program that `python_on` writes, which takes their settings from the environment. What a
test sets itself stays as it is.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers import storage

_PREFIX = "NEW_DATABASES_"
_NAMES = ("MG_TIDB_DSN", "MG_FEEDBACK_TIDB_DSN", "MG_VECTOR_BACKEND", "MG_VECTOR_DSN")


def python_on(folder: Path) -> Path:
    """A program in place of the Python that runs the service."""
    program = folder / "python"
    given = [f'[ -z "${{{_PREFIX}{name}}}" ] || export {name}="${{{name}:-${_PREFIX}{name}}}"' for name in _NAMES]
    program.write_text("\n".join(["#!/bin/sh", *given, f'exec "{sys.executable}" "$@"', ""]))
    program.chmod(0o700)
    return program


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--pair", default=storage.PAIRS[0], help="an SQL engine and a vector backend, for example %(default)s"
    )


@pytest.fixture(scope="session")
def pair_of_servers(request: pytest.FixtureRequest) -> Iterator[storage.Storage]:
    with storage.running(request.config.getoption("--pair")) as running:
        yield running


@pytest.fixture(autouse=True)
def _new_databases(pair_of_servers: storage.Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in pair_of_servers.new_settings().items():
        monkeypatch.setenv(f"{_PREFIX}{name}", value)
