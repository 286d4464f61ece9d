"""The bytes that a process writes and its flushes, against what it is known to do."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.bench import durability
from tests.bench.durability import Durability, calls_of

WRITES = """
import os, sys
with open("written", "wb", buffering=0) as file:
    print("ready", flush=True)
    for _ in sys.stdin:
        for _ in range(3):
            file.write(bytes(8192))
            os.fdatasync(file.fileno())
        os.fsync(file.fileno())
        print("done", flush=True)
"""
TABLE = """\
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 99.00    0.000790         112         7           fdatasync
  1.00    0.000010          10         1         1 fsync
------ ----------- ----------- --------- --------- ----------------
100.00    0.000800         100         8         1 total
"""

Writer = Callable[[], Durability]


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[Writer]:
    """A process that writes 24,576 bytes at a time, in three pieces, and flushes four times."""
    with subprocess.Popen(
        [sys.executable, "-c", WRITES], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tmp_path, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        asked, answers = process.stdin, process.stdout

        def write() -> int:
            for _ in range(5):
                asked.write("\n")
                asked.flush()
                assert answers.readline() == "done\n"
            return 5

        yield lambda: durability.durability(process.pid, write)
        asked.close()


def test_bytes_are_those_of_the_kernels_account_a_time(writer: Writer) -> None:
    found = writer()

    assert found.times == 5
    assert 24_576 <= found.bytes_written <= 24_576 + 4_096
    assert found.account in {"write_bytes", "wchar"}


def test_flushes_are_counted_by_system_call_or_the_reason_is_told(writer: Writer) -> None:
    found = writer()

    if found.not_counted is None:
        assert found.flushes == {"fdatasync": 3.0, "fsync": 1.0}
    else:
        assert found.flushes is None
        assert "strace" in found.not_counted


def test_without_strace_flushes_are_absent_and_the_bytes_are_there(
    writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")

    found = writer()

    assert (found.flushes, found.not_counted) == (None, "strace is not here")
    assert found.bytes_written >= 24_576


def test_where_strace_may_not_attach_its_own_words_are_the_reason(
    writer: Writer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    refused = tmp_path / "strace"
    refused.write_text("#!/bin/sh\necho 'strace: attach: ptrace: Operation not permitted' >&2\nexit 1\n")
    refused.chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")

    found = writer()

    assert found.flushes is None
    assert found.not_counted == "strace says 'strace: attach: ptrace: Operation not permitted'"


def test_the_calls_of_straces_table_are_read_with_and_without_errors() -> None:
    assert calls_of(TABLE) == {"fdatasync": 7, "fsync": 1}
    assert calls_of("") == {}
