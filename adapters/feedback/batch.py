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
from domain.errors import MemoryGridError, RequestInProgress
from domain.feedback.entry import FeedbackEntry
from domain.feedback.metrics import counted

Command = RecordSelection | ReportOutcome
Result = bytes | Reported | None
Answer = Result | MemoryGridError

REQUESTS = Requests(feedback_requests)
#: How many requests of one key may fail one after the other, before those behind them are asked to come again.
_TURNS = 4


def carry_out(connection: Connection, commands: Sequence[Command], new_id: Callable[[], str]) -> list[Answer]:
    """Each command's result, or the error that concerns it alone, as if they had come one after the other.

    Where many requests of one key fail, the later of them are not tried: they would hold up everybody else's.
    """
    answers: dict[int, Answer] = {}
    for _ in range(_TURNS):
        left = [at for at in range(len(commands)) if at not in answers]
        if not left:
            break
        found = _first_of_each_key(connection, [commands[at] for at in left], new_id)
        answers.update((left[at], answer) for at, answer in found.items())
    return [answers[at] if at in answers else _in_progress() for at in range(len(commands))]


def _first_of_each_key(
    connection: Connection, commands: Sequence[Command], new_id: Callable[[], str]
) -> dict[int, Answer]:
    """By place: the answers of those that came before, and of those that are new, but only of the first with its key.

    What became of that one, the next look-up of the key tells the others.
    """
    keyed = [(at, one.request) for at, one in enumerate(commands) if one.request is not None]
    kept = REQUESTS.look_up(connection, [request for _, request in keyed])
    answers: dict[int, Answer] = {}
    firsts: dict[tuple[str, str], int] = {}
    waiting: set[int] = set()
    for (at, request), answer in zip(keyed, kept.answers, strict=True):
        if answer is not None:
            answers[at] = _replayed(commands[at], answer)
        elif firsts.setdefault((request.scope, request.key), at) != at:
            waiting.add(at)
    fresh = [at for at in range(len(commands)) if at not in answers and at not in waiting]
    answers.update(zip(fresh, _carry_out(connection, [commands[at] for at in fresh], new_id), strict=True))
    records = (_record(commands[at], answers[at]) for at in fresh)
    REQUESTS.store(connection, [record for record in records if record is not None], kept.expired)
    return answers


def _carry_out(connection: Connection, commands: Sequence[Command], new_id: Callable[[], str]) -> list[Answer]:
    """The answers of commands that are new, each with another key if it has one."""
    selections = [one.entry for one in commands if isinstance(one, RecordSelection)]
    if selections:
        INSERT_ENTRIES.run_many(connection, [tuple(entry_row(entry).values()) for entry in selections])
    reports = Reports(connection, [one for one in commands if isinstance(one, ReportOutcome)])
    add_to_counters(connection, [*((entry, counted(entry)) for entry in selections), *reports.changes])
    outcomes = iter(reports.finish(new_id))
    return [next(outcomes) if isinstance(one, ReportOutcome) else None for one in commands]


def _in_progress() -> RequestInProgress:
    return RequestInProgress("several requests with this Idempotency-Key were sent at once: send one, and wait for it")


def _record(command: Command, answer: Answer) -> IdempotencyRecord | None:
    """What is kept under the command's key, if it has one and succeeded."""
    request = command.request
    if request is None or isinstance(answer, MemoryGridError):
        return None
    kept = msgspec.json.encode(answer.entry) if isinstance(answer, Reported) else request.answer
    return msgspec.structs.replace(request, answer=kept)


def _replayed(command: Command, answer: bytes | MemoryGridError) -> Result | MemoryGridError:
    if isinstance(answer, MemoryGridError) or isinstance(command, RecordSelection):
        return answer
    return Reported(entry=msgspec.json.decode(answer, type=FeedbackEntry))
