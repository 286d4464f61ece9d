"""How the comparison's figures are shown."""

from __future__ import annotations

from typing import Any

import pytest

from tests.bench.peer_tables import peers

ONE = {"median": 1.0, "least": 1.0, "most": 1.0}
SEVERAL = {"median": 3.44, "least": 2.96, "most": 1_204.2}


def figure(p50_ms: float, ratio: dict[str, float]) -> dict[str, Any]:
    return {"p50_ms": p50_ms, "ratio": ratio}


def found(**peer: Any) -> dict[str, Any]:
    """The figures of ours, and of a peer with `peer` in the place of its own."""
    ours = {
        "name": "memorygrid",
        "figures": {"lessons": figure(0.5, ONE), "add_lesson": figure(1.5, ONE), "promotion": figure(7.25, ONE)},
        "recall": {"lessons": 1.0},
        "durability": {},
        "asked": None,
        "among": None,
        "problem": None,
    }
    searched = {"vectors": figure(2.5, SEVERAL), "lessons": figure(2.75, SEVERAL)}
    theirs = {"name": "chromadb 1.5.9", "figures": searched, "recall": {"vectors": 0.98765, "lessons": 0.9}}
    part = {"name": "COMMIT", "p50_ms": 0.75, "of_whole": {"median": 0.5, "least": 0.456, "most": 0.6}}
    return {
        "top": 10,
        "found": [ours, {**ours, **theirs, **peer}],
        "parts": [part],
        "row_bytes": 12_288,
        "bare_transaction": part,
        "bare_flush": part,
    }


def rows(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()]


def test_a_ratio_is_shown_with_the_smallest_and_the_largest_of_a_round_and_recall_beside_each_search() -> None:
    times = peers(found()).split("\n\n")[0]

    head, _, ours, theirs = rows(times)
    assert head[1:7] == ["10 vectors ms", "× ours", "recall@10", "10 lessons ms", "× ours", "recall@10"]
    assert ours == ["memorygrid", "", "", "", "0.5", "1", "1.000", "", "", "1.5", "1", "7.25"]
    assert theirs[1:7] == ["2.5", "3.4 (3.0–1,204.2)", "0.988", "2.75", "3.4 (3.0–1,204.2)", "0.900"]
    assert len(head) == len(theirs) == len(ours)


def test_a_peer_with_a_problem_has_it_in_the_place_of_its_figures() -> None:
    times = peers(found(figures={}, recall={}, problem="not installed: make bench-peers")).split("\n\n")[0]

    head, *_, theirs = rows(times)
    assert theirs[:3] == ["chromadb 1.5.9", "not installed: make bench-peers", ""]
    assert len(theirs) == len(head)


@pytest.mark.parametrize(
    ("counted", "shown"),
    [
        pytest.param({"flushes": {"fsync": 8.0, "fdatasync": 0.5}}, "8 fsync, 0.5 fdatasync", id="some"),
        pytest.param({"flushes": {}}, "none", id="none"),
        pytest.param(
            {"flushes": None, "not_counted": "strace is not here"}, "not counted: strace is not here", id="not counted"
        ),
    ],
)
def test_what_an_addition_makes_durable_is_shown_or_why_it_is_not_counted(counted: dict[str, Any], shown: str) -> None:
    durability = {"add_vector": {"bytes_written": 12_753_400, "account": "write_bytes", **counted}}

    table = peers(found(durability=durability)).split("\n\n")[1]

    assert rows(table)[-1] == ["chromadb 1.5.9", "a vector", "12,753", "write_bytes", shown]


def test_how_many_vectors_a_peer_was_asked_for_is_told() -> None:
    assert "chromadb 1.5.9: its 10 nearest vectors are of 9.03 lessons on average" in peers(found(asked=20, among=9.03))
    assert "nearest vectors are of" not in peers(found())


def test_the_parts_of_our_addition_are_shares_of_the_whole() -> None:
    parts = rows(peers(found()).split("\n\n")[-1])

    assert parts[2:4] == [["COMMIT", "0.75", "0.50 (0.46–0.60)"], ["**the whole addition**", "1.5", "1"]]
    assert parts[4][0] == "a transaction of bare SQLite with one row of 12,288 bytes"
