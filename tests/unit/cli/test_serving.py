"""A service that cannot listen where it is to says so in one sentence, before anything else is begun."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from entrypoints.cli.listening import check_free
from tests.unit.cli.conftest import Cli

PROJECT = Path(__file__).parents[3]


@pytest.fixture
def taken() -> Iterator[int]:
    """A port of 127.0.0.1 that something listens on."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(1)
        yield listening.getsockname()[1]


@pytest.mark.parametrize("command", [["serve"], ["serve", "learner"], ["demo", "--serve"]])
def test_a_port_that_is_taken_is_named_with_what_to_do_and_nothing_is_begun(
    bare_home: Path, taken: int, command: list[str]
) -> None:
    said = Cli()(*command, "--port", str(taken), code=2)
    assert said.stdout == ""
    assert " ".join(said.stderr.split()).endswith(
        f"port {taken} of 127.0.0.1 is taken: end what listens there, or choose another port with --port"
    )
    assert list(bare_home.iterdir()) == []


def test_in_a_checkout_make_is_told_of_too(bare_home: Path, taken: int) -> None:
    (bare_home / "Makefile").touch()
    said = Cli()("demo", "--serve", "--port", str(taken), code=2).stderr
    assert "make run PORT=…, or --port" in " ".join(said.split())


@pytest.mark.parametrize("host", ["no..host", "x" * 64])
def test_a_host_that_can_be_none_ends_with_2(bare_home: Path, host: str) -> None:
    said = " ".join(Cli()("serve", "--host", host, "--port", "0", code=2).stderr.split())
    assert "nothing can listen on port 0 of" in said
    assert "correct the address" in said


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="this machine has no IPv6")
def test_every_address_of_ipv6_is_free_where_only_ipv4_has_the_port(taken: int) -> None:
    check_free("::", taken, otherwise="--port")
    check_free("", 0, otherwise="--port")


@pytest.mark.parametrize("host", ["192.0.2.1", "no-such-host.invalid"])
def test_an_address_that_is_not_of_this_machine_ends_with_2(
    bare_home: Path, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    def unknown(*_: object, **__: object) -> NoReturn:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    said = " ".join(Cli()("serve", "--host", host, "--port", "0", code=2).stderr.split())
    assert f"nothing can listen on port 0 of {host}" in said
    assert "correct the address" in said


def test_make_run_takes_the_port_that_it_is_given() -> None:
    done = subprocess.run(
        ["make", "--dry-run", "run", "PORT=8002"], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    assert "-m entrypoints.demo --serve --port 8002" in done.stdout


def test_the_demo_as_a_program_ends_with_2_and_without_a_traceback(tmp_path: Path, taken: int) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "entrypoints.demo", "--serve", "--port", str(taken)],
        cwd=tmp_path,
        env={"PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert f"port {taken}" in done.stderr
    assert "Traceback" not in done.stderr
