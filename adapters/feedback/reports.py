"""The reports of one transaction: which entries they are about, what becomes of those, and what is due then."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec
from sqlalchemy import Connection, insert

from adapters.feedback.counting import counters, round_of
from adapters.feedback.rows import entry_of, outbox_row, reported_values
from adapters.feedback.statements import ENTRIES, NUMBERS_OF_OUTCOMES, NUMBERS_OF_STEPS, UPDATE_ENTRIES
from adapters.sql.tables import escalations
from application.feedback.ports import Reported, ReportOutcome
from domain.errors import NoSelection
from domain.feedback.entry import FeedbackEntry, OutcomeReport, no_selection, reported
from domain.feedback.escalation import due_escalations
from domain.feedback.metrics import Counters, counted


class _Change(NamedTuple):
    """What one report makes of the entry with this number, and adds to the counters of its lesson and round."""

    number: int
    after: FeedbackEntry
    added: Counters


class Reports:
    """Made at once, then `changes` are to be counted, then `finish` tells the results."""

    def __init__(self, connection: Connection, commands: Sequence[ReportOutcome]) -> None:
        self._connection = connection
        self._commands = commands
        self._changes: dict[int, _Change] = {}
        numbers = _numbers(connection, commands)
        rows = ENTRIES.fetch(connection, [(number,) for number in sorted(set(numbers.values()))])
        entries = {row[0]: entry_of(row[1:]) for row in rows}
        for at, command in enumerate(commands):
            before = entries.get(numbers.get(at, -1))
            if before is not None and _is_about(before, command.report):
                after = reported(before, command.report, at=command.at)
                entries[numbers[at]] = after
                self._changes[at] = _Change(numbers[at], after, counted(after) - counted(before))

    @property
    def changes(self) -> Iterable[tuple[FeedbackEntry, Counters]]:
        """What each report adds to the counters of its lesson and round."""
        return ((change.after, change.added) for change in self._changes.values())

    def finish(self, new_id: Callable[[], str]) -> list[Reported | NoSelection]:
        """Once the counters are moved: the count that each report saw, and the escalations that are due.

        The counters hold what all reports together added, so that the last one saw them as they are, and each one
        before it what is left without those after it.
        """
        totals = counters(self._connection, (round_of(change.after) for change in self._changes.values()))
        results: dict[int, Reported] = {}
        final: dict[int, FeedbackEntry] = {}
        for at, change in reversed(self._changes.items()):
            total = totals[round_of(change.after)]
            seen = msgspec.structs.replace(change.after, failures_seen=total.lesson_failures)
            totals[round_of(seen)] = total - change.added
            results[at] = _result(self._commands[at], seen, total, new_id)
            final.setdefault(change.number, seen)
        self._store(final)
        self._put_in_outbox(results)
        return [results.get(at) or no_selection(command.report) for at, command in enumerate(self._commands)]

    def _store(self, entries: Mapping[int, FeedbackEntry]) -> None:
        rows = [(number, *reported_values(entries[number])) for number in sorted(entries)]
        if rows:
            UPDATE_ENTRIES.run_many(self._connection, rows)

    def _put_in_outbox(self, results: Mapping[int, Reported]) -> None:
        rows = []
        for at in sorted(results):
            command = self._commands[at]
            for one in results[at].escalations:
                leased = command.policy is not None and one.path in command.policy.in_process
                rows.append(outbox_row(one, command.owner, command.leased_until if leased else None))
        if rows:
            self._connection.execute(insert(escalations), rows)


def _numbers(connection: Connection, commands: Sequence[ReportOutcome]) -> dict[int, int]:
    """For each report the number of the entry that it means, where there is one."""
    steps = {_step(command.report) for command in commands if not command.report.outcome_id}
    outcomes = {command.report.outcome_id for command in commands if command.report.outcome_id}
    by_step = {(row[1], row[2]): row[0] for row in NUMBERS_OF_STEPS.fetch(connection, sorted(steps))}
    exact = {row[1]: row[0] for row in NUMBERS_OF_OUTCOMES.fetch(connection, [(one,) for one in sorted(outcomes)])}
    numbers = {
        at: exact.get(command.report.outcome_id) if command.report.outcome_id else by_step.get(_step(command.report))
        for at, command in enumerate(commands)
    }
    return {at: number for at, number in numbers.items() if number is not None}


def _step(report: OutcomeReport) -> tuple[str, str]:
    return report.session_id, report.problem_solving_step_ref


def _is_about(entry: FeedbackEntry, report: OutcomeReport) -> bool:
    return (entry.session_id, entry.problem_solving_step_ref) == _step(report)


def _result(command: ReportOutcome, entry: FeedbackEntry, total: Counters, new_id: Callable[[], str]) -> Reported:
    if command.policy is None:
        return Reported(entry=entry)
    due = due_escalations(entry, total, command.policy, at=command.at, new_id=new_id)
    return Reported(entry=entry, escalations=due)
