"""One transaction of the feedback database: selections and reports, with all that must be atomic with them.

Rows are locked in the same order by everybody (entries by number, counters by lesson, idempotency records by digest),
so that concurrent batches rarely meet in a deadlock; where they do, the database repeats the transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec
from sqlalchemy import Connection, bindparam, func, insert, select, tuple_, update

from adapters.feedback.rows import counters_of, entry_of, entry_row, outbox_row
from adapters.sql.dialects import upsert
from adapters.sql.requests import Requests
from adapters.sql.tables import escalations, feedback_entries, feedback_requests, lesson_counters
from application.feedback.ports import RecordSelection, Reported, ReportOutcome
from application.shared.ports import IdempotencyRecord
from domain.errors import KeyReused, MemoryGridError, NoSelection
from domain.feedback.entry import FeedbackEntry, OutcomeReport, reported
from domain.feedback.escalation import due_escalations
from domain.feedback.metrics import Counters, counted

Command = RecordSelection | ReportOutcome
Result = bytes | Reported | None

REQUESTS = Requests(feedback_requests)

_Round = tuple[str, int]
_ROUND = ("lesson_id", "review_round")
_entries = feedback_entries
_REPORTED = ("result_flag", "usage_count", "updated_at", "failure_class", "detail", "failures_seen")
_INSERT_ENTRIES = insert(_entries)
_UPDATE_ENTRIES = (
    update(_entries)
    .where(_entries.c.seq == bindparam("row"))
    .values({one: bindparam(f"new_{one}") for one in _REPORTED})
)
_NUMBERS_OF_OUTCOMES = select(_entries.c.seq, _entries.c.transaction_log_ref).where(
    _entries.c.transaction_log_ref.in_(bindparam("outcomes", expanding=True))
)
_NUMBERS_OF_STEPS = (
    select(func.max(_entries.c.seq), _entries.c.session_id, _entries.c.problem_solving_step_ref)
    .where(tuple_(_entries.c.session_id, _entries.c.problem_solving_step_ref).in_(bindparam("steps", expanding=True)))
    .group_by(_entries.c.session_id, _entries.c.problem_solving_step_ref)
)
_LOCK_ENTRIES = (
    select(_entries)
    .where(_entries.c.seq.in_(bindparam("rows", expanding=True)))
    .order_by(_entries.c.seq)
    .with_for_update()
)


def carry_out(
    connection: Connection, commands: Sequence[Command], new_id: Callable[[], str]
) -> list[Result | MemoryGridError]:
    """Each command's result, or the error that concerns it alone. Equal keys within the batch have one effect, too."""
    replays = _Replays(connection, commands)
    fresh = [commands[at] for at in replays.fresh]
    selections = [one for one in fresh if isinstance(one, RecordSelection)]
    if selections:
        connection.execute(_INSERT_ENTRIES, [entry_row(one.entry) for one in selections])
    reports = _Reports(connection, [one for one in fresh if isinstance(one, ReportOutcome)])
    _count(connection, [*((one.entry, counted(one.entry)) for one in selections), *reports.changes])
    outcomes = iter(reports.finish(new_id))
    results = [next(outcomes) if isinstance(one, ReportOutcome) else None for one in fresh]
    return replays.finish(results)


class _Replays:
    """Tells the commands that are new from those that came before, in another request or in this very batch."""

    def __init__(self, connection: Connection, commands: Sequence[Command]) -> None:
        self._connection = connection
        self._commands = commands
        self._results: dict[int, Result | MemoryGridError] = {}
        self._first: dict[int, int] = {}
        keyed = [(at, one.request) for at, one in enumerate(commands) if one.request is not None]
        kept = REQUESTS.answers(connection, [request for _, request in keyed])
        leaders: dict[tuple[str, str], int] = {}
        for (at, request), answer in zip(keyed, kept, strict=True):
            if answer is not None:
                self._results[at] = _replayed(commands[at], answer)
                continue
            leader = leaders.setdefault((request.scope, request.key), at)
            if leader != at:
                self._first[at] = leader
        self.fresh = [at for at in range(len(commands)) if at not in self._results and at not in self._first]

    def finish(self, fresh_results: Sequence[Result | MemoryGridError]) -> list[Result | MemoryGridError]:
        """All results in the commands' order; keeps the answers of the new ones that succeeded."""
        self._results.update(zip(self.fresh, fresh_results, strict=True))
        records: dict[int, IdempotencyRecord] = {}
        for at in self.fresh:
            request, result = self._commands[at].request, self._results[at]
            if request is not None and not isinstance(result, MemoryGridError):
                answer = msgspec.json.encode(result.entry) if isinstance(result, Reported) else request.answer
                records[at] = msgspec.structs.replace(request, answer=answer)
        REQUESTS.store(self._connection, list(records.values()))
        for at, leader in self._first.items():
            self._results[at] = self._as_leader(at, leader, records.get(leader))
        return [self._results[at] for at in range(len(self._commands))]

    def _as_leader(self, at: int, leader: int, record: IdempotencyRecord | None) -> Result | MemoryGridError:
        request = self._commands[at].request
        if record is None:
            return self._results[leader]
        if request is None or request.fingerprint != record.fingerprint:
            return KeyReused("this Idempotency-Key came at the same time with another body: use a new key")
        return _replayed(self._commands[at], record.answer)


class _Reports:
    """The reports of a batch: which entries they are about, what becomes of those, and what is due then."""

    def __init__(self, connection: Connection, commands: Sequence[ReportOutcome]) -> None:
        self._connection = connection
        self._commands = commands
        self._numbers = _numbers(connection, commands)
        self._entries: dict[int, FeedbackEntry] = {}
        if self._numbers:
            rows = connection.execute(_LOCK_ENTRIES, {"rows": sorted(set(self._numbers.values()))}).mappings()
            self._entries = {row["seq"]: entry_of(row) for row in rows}
        self._after: dict[int, tuple[int, FeedbackEntry, Counters]] = {}
        for at, command in enumerate(commands):
            number = self._numbers.get(at)
            if number is not None and _is_about(self._entries[number], command):
                before = self._entries[number]
                after = reported(before, command.report, at=command.at)
                self._entries[number] = after
                self._after[at] = (number, after, counted(after) - counted(before))

    @property
    def changes(self) -> Iterable[tuple[FeedbackEntry, Counters]]:
        """What each report adds to the counters of its lesson and round."""
        return ((after, change) for _, after, change in self._after.values())

    def finish(self, new_id: Callable[[], str]) -> list[Reported | NoSelection]:
        """Once the counters are moved: the count that each report saw, and the escalations that are due."""
        totals = _totals(self._connection, {_round(after) for _, after, _ in self._after.values()})
        results: dict[int, Reported] = {}
        final: dict[int, FeedbackEntry] = {}
        for at, (number, after, change) in reversed(self._after.items()):
            total = totals[_round(after)]
            seen = msgspec.structs.replace(after, failures_seen=total.lesson_failures)
            totals[_round(after)] = total - change
            results[at] = self._result(self._commands[at], seen, total, new_id)
            final.setdefault(number, seen)
        self._store(final)
        self._put_in_outbox(results)
        return [results.get(at) or _no_selection(command) for at, command in enumerate(self._commands)]

    @staticmethod
    def _result(
        command: ReportOutcome, entry: FeedbackEntry, counters: Counters, new_id: Callable[[], str]
    ) -> Reported:
        if command.policy is None:
            return Reported(entry=entry)
        due = due_escalations(entry, counters, command.policy, at=command.at, new_id=new_id)
        return Reported(entry=entry, escalations=due)

    def _store(self, entries: Mapping[int, FeedbackEntry]) -> None:
        rows = [(number, entry_row(entries[number])) for number in sorted(entries)]
        if rows:
            self._connection.execute(
                _UPDATE_ENTRIES,
                [{"row": number, **{f"new_{name}": row[name] for name in _REPORTED}} for number, row in rows],
            )

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
    reports = [command.report for command in commands]
    steps = {_step(report) for report in reports if not report.outcome_id}
    outcomes = {report.outcome_id for report in reports if report.outcome_id}
    latest: dict[tuple[str, str], int] = {}
    exact: dict[str | None, int] = {}
    if steps:
        found = connection.execute(_NUMBERS_OF_STEPS, {"steps": sorted(steps)})
        latest = {(session_id, step): number for number, session_id, step in found}
    if outcomes:
        rows = connection.execute(_NUMBERS_OF_OUTCOMES, {"outcomes": sorted(outcomes)})
        exact = {outcome_id: number for number, outcome_id in rows}
    numbers = {
        at: exact.get(report.outcome_id) if report.outcome_id else latest.get(_step(report))
        for at, report in enumerate(reports)
    }
    return {at: number for at, number in numbers.items() if number is not None}


def _step(report: OutcomeReport) -> tuple[str, str]:
    return report.session_id, report.problem_solving_step_ref


def _is_about(entry: FeedbackEntry, command: ReportOutcome) -> bool:
    return (entry.session_id, entry.problem_solving_step_ref) == _step(command.report)


def _no_selection(command: ReportOutcome) -> NoSelection:
    report = command.report
    which = f" with outcome_id {report.outcome_id!r}" if report.outcome_id else ""
    return NoSelection(
        f"no selection{which} was recorded for step {report.problem_solving_step_ref!r} of session "
        f"{report.session_id!r}: POST /incorporator/invoke comes first"
    )


def _replayed(command: Command, answer: bytes | KeyReused) -> Result | KeyReused:
    if isinstance(answer, KeyReused) or isinstance(command, RecordSelection):
        return answer
    return Reported(entry=msgspec.json.decode(answer, type=FeedbackEntry))


def _round(entry: FeedbackEntry) -> _Round:
    return entry.lesson_skill_id, entry.review_round


def _count(connection: Connection, changes: Iterable[tuple[FeedbackEntry, Counters]]) -> None:
    """Adds the changes to the counters' rows, in the order of the lessons' ids."""
    sums: dict[_Round, Counters] = {}
    for entry, change in changes:
        sums[_round(entry)] = sums.get(_round(entry), Counters()) + change
    if sums:
        rows = [
            {
                "lesson_id": lesson_id,
                "review_round": review_round,
                **msgspec.structs.asdict(sums[lesson_id, review_round]),
            }
            for lesson_id, review_round in sorted(sums)
        ]
        upsert(connection, lesson_counters, _ROUND, rows, added=Counters.__struct_fields__)


def _totals(connection: Connection, rounds: Iterable[_Round]) -> dict[_Round, Counters]:
    """The counters as this transaction has just written them; it holds their rows' locks until it commits."""
    wanted = sorted(rounds)
    if not wanted:
        return {}
    table = lesson_counters
    rows = connection.execute(select(table).where(tuple_(table.c.lesson_id, table.c.review_round).in_(wanted)))
    return {(row["lesson_id"], row["review_round"]): counters_of(row) for row in rows.mappings()}
