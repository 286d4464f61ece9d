"""A worker that takes turns: what it answers, and what becomes of one that does not."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.bench.participants import Participant, ParticipantFailed
from tests.bench.peer_protocol import Add, Added, Job, Ready

ANSWERS = """
import sys
from tests.bench.peer_protocol import Added, Link, Ready
link = Link()
print("what a library says")
link.send(Ready("a worker"))
while (request := link.receive()) is not None:
    link.send(Added(7))
print("the end")
"""
STUCK = """
import time
time.sleep(60)
"""
BROKEN = """
raise RuntimeError("no index here")
"""


def participant(folder: Path, program: str) -> Participant:
    return Participant([sys.executable, "-c", program], log=folder / "log")


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_each_request_has_one_answer_whatever_else_the_worker_prints(tmp_path: Path) -> None:
    with participant(tmp_path, ANSWERS) as worker:
        assert worker.answer(Ready, 20).name == "a worker"
        assert [worker.ask(Add(Job.ADD_LESSON), Added, 20).additions for _ in range(2)] == [7, 7]

    assert (tmp_path / "log").read_text() == "what a library says\nthe end\n"


def test_a_worker_that_is_stuck_is_ended_and_the_time_limit_named(tmp_path: Path) -> None:
    with participant(tmp_path, STUCK) as worker:
        with pytest.raises(ParticipantFailed, match=r"no answer within 0\.5 s"):
            worker.answer(Ready, 0.5)

        assert not is_alive(worker.pid)


def test_why_a_worker_ended_is_the_last_line_of_its_log(tmp_path: Path) -> None:
    with (
        participant(tmp_path, BROKEN) as worker,
        pytest.raises(ParticipantFailed, match="it ended: RuntimeError: no index here"),
    ):
        worker.answer(Ready, 20)


def test_a_worker_that_has_ended_cannot_be_asked(tmp_path: Path) -> None:
    with participant(tmp_path, ANSWERS) as worker:
        worker.answer(Ready, 20)
        os.kill(worker.pid, signal.SIGKILL)
        _wait_for_the_end(worker.pid)

        with pytest.raises(ParticipantFailed, match="ended"):
            worker.ask(Add(Job.ADD_LESSON), Added, 20)


def _wait_for_the_end(pid: int) -> None:
    until = time.monotonic() + 10
    while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z" and time.monotonic() < until:
        time.sleep(0.01)
