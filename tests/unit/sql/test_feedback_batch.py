"""How much one transaction of the feedback database may be made to do."""

from __future__ import annotations

from collections import Counter
from functools import partial

from sqlalchemy import Connection

from adapters.feedback.batch import Answer, carry_out
from adapters.sql.database import Database
from adapters.sql.schema import FEEDBACK_DATABASE
from application.feedback.ports import ReportOutcome
from domain.errors import NoSelection, RequestInProgress
from tests.fakes.clock import CountingIds
from tests.fakes.examples import entry, outcome_of, request


def _carried_out(connection: Connection, commands: list[ReportOutcome]) -> tuple[list[Answer], int]:
    """The answers, and how many statements they took."""
    told: list[str] = []
    driver = connection.connection.driver_connection
    assert driver is not None
    driver.set_trace_callback(told.append)
    answers = carry_out(connection, commands, CountingIds(1))
    driver.set_trace_callback(None)
    return answers, len(told)


async def test_however_many_requests_of_one_key_fail_the_transaction_takes_a_handful_of_statements() -> None:
    unknown = entry(session_id="another session")
    database = Database("sqlite+aiosqlite:///:memory:", FEEDBACK_DATABASE)
    commands = [outcome_of(unknown, request=request(fingerprint=f"f{number}")) for number in range(128)]
    answers, statements = await database.write(partial(_carried_out, commands=commands))
    await database.aclose()
    assert Counter(map(type, answers)) == {NoSelection: 4, RequestInProgress: 124}
    assert statements <= 12
