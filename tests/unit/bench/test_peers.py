"""Who has a turn when, with workers that are processes of their own."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.bench.participants import Participant, ParticipantFailed
from tests.bench.peers import Entrant, take_turns

WORKER = """
import sys
from tests.bench.peer_protocol import Added, Job, Link, Measured, Ready, Round
from tests.bench.timing import Times
name, fails_in = sys.argv[1], int(sys.argv[2])
link = Link()
turns = open("turns", "a", buffering=1)
turns.write(f"{name} is filled\\n")
link.send(Ready(f"{name} 1.0"))
while (request := link.receive()) is not None:
    if isinstance(request, Round):
        if request.number == fails_in:
            raise RuntimeError("the index is gone")
        turns.write(f"{name} {request.number}\\n")
        times = {job: Times(p50_ms=1.0, p99_ms=1.0, cpu_ms=1.0, times=1) for job in Job}
        link.send(Measured(times=times, recall={}))
    else:
        link.send(Added(1))
"""

Enter = Callable[..., Entrant]


@pytest.fixture
def enter(tmp_path: Path) -> Iterator[Enter]:
    """Starts a worker; `fails_in` is the round in which it ends."""
    with ExitStack() as stack:

        def entered(name: str, *, fails_in: int = -1, indispensable: bool = False) -> Entrant:
            command = [sys.executable, "-c", WORKER, name, str(fails_in)]
            worker = stack.enter_context(Participant(command, log=tmp_path / f"{name}.log"))
            return Entrant(name, worker, [], indispensable=indispensable)

        yield entered


def test_all_are_filled_and_then_each_has_its_turn_in_each_round(enter: Enter, tmp_path: Path) -> None:
    entrants = [enter(name) for name in "ABC"]

    take_turns(entrants, 2)

    turns = (tmp_path / "turns").read_text().splitlines()
    assert sorted(turns[:3]) == ["A is filled", "B is filled", "C is filled"]
    assert turns[3:] == ["A 0", "B 0", "C 0", "A 1", "B 1", "C 1"]
    assert [one.name for one in entrants] == ["A 1.0", "B 1.0", "C 1.0"]


def test_a_peer_that_fails_is_a_problem_and_the_others_go_on(enter: Enter) -> None:
    ours, peer, other = enter("ours", indispensable=True), enter("peer", fails_in=1), enter("other")

    take_turns([ours, peer, other], 3)

    assert [len(one.rounds) for one in (ours, peer, other)] == [3, 1, 3]
    assert peer.found(ours.rounds).problem == "round 2: it ended: RuntimeError: the index is gone"
    assert other.found(ours.rounds).problem is None


def test_without_our_own_part_there_is_nothing_to_compare_with(enter: Enter) -> None:
    with pytest.raises(ParticipantFailed, match="the index is gone"):
        take_turns([enter("ours", fails_in=0, indispensable=True)], 1)


def test_a_peer_that_is_not_installed_is_a_problem() -> None:
    entrant = Entrant("peer", None, [])

    take_turns([entrant], 1)

    assert entrant.found([]).problem == "not installed: make bench-peers"
