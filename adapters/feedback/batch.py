"""One transaction of the feedback database: selections and reports, with all that must be atomic with them.

Rows are locked in the same order by everybody (entries by number, counters by lesson, idempotency records by digest),
so that concurrent batches rarely meet in a deadlock; where they do, the database repeats the transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
from sqlalchemy import Connection

from adapters.feedback.counting import add_to_counters
from adapters.feedback.reports import Reports
from adapters.feedback.rows import entry_row
from adapters.feedback.statements import INSERT_ENTRIES
from adapters.sql.requests import Requests
from adapters.sql.tables import feedback_requests
from application.feedback.ports import RecordSelection, Reported, ReportOutcome
from application.shared.ports import IdempotencyRecord
from domain.errors import KeyReused, MemoryGridError
from domain.feedback.entry import FeedbackEntry
from domain.feedback.metrics import counted

Command = RecordSelection | ReportOutcome
Result = bytes | Reported | None

REQUESTS = Requests(feedback_requests)


def carry_out(
    connection: Connection, commands: Sequence[Command], new_id: Callable[[], str]
) -> list[Result | MemoryGridError]:
    """Each command's result, or the error that concerns it alone. Equal keys within the batch have one effect, too."""
    replays = _Replays(connection, commands)
    fresh = [commands[at] for at in replays.fresh]
    selections = [one.entry for one in fresh if isinstance(one, RecordSelection)]
    if selections:
        INSERT_ENTRIES.run_many(connection, [tuple(entry_row(entry).values()) for entry in selections])
    reports = Reports(connection, [one for one in fresh if isinstance(one, ReportOutcome)])
    add_to_counters(connection, [*((entry, counted(entry)) for entry in selections), *reports.changes])
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
        kept = REQUESTS.look_up(connection, [request for _, request in keyed])
        self._expired = kept.expired
        leaders: dict[tuple[str, str], int] = {}
        for (at, request), answer in zip(keyed, kept.answers, strict=True):
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
        REQUESTS.store(self._connection, list(records.values()), self._expired)
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


def _replayed(command: Command, answer: bytes | KeyReused) -> Result | KeyReused:
    if isinstance(answer, KeyReused) or isinstance(command, RecordSelection):
        return answer
    return Reported(entry=msgspec.json.decode(answer, type=FeedbackEntry))
