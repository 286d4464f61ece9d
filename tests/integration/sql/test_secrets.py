"""No error of a database, however it is chained, and no log line shows the address or its password."""

from __future__ import annotations

import logging
import traceback

import pytest
from sqlalchemy.engine import make_url

from adapters.feedback.sql_feedback_store import SqlFeedbackStore
from adapters.sql.database import Database
from adapters.sql.dialects import parse_dsn
from adapters.sql.schema import FEEDBACK_DATABASE
from domain.errors import InvalidConfiguration, MemoryGridError, StoreUnavailable
from tests.fakes.clock import CountingIds
from tests.fakes.examples import entry, select

PASSWORD = "tr0ub4dor-and-3"


def shown(error: BaseException) -> str:
    """All that a log would show of it."""
    return "".join(traceback.format_exception(error)) + repr(error)


async def failure(dsn: str) -> MemoryGridError:
    database = Database(dsn, FEEDBACK_DATABASE, deadline_s=2)
    with pytest.raises(MemoryGridError) as caught:
        await SqlFeedbackStore(database=database, new_id=CountingIds()).record(select(entry()))
    await database.aclose()
    return caught.value


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql+asyncpg://user:{PASSWORD}@127.0.0.1:1/name",
        f"mysql+asyncmy://user:{PASSWORD}@127.0.0.1:1/name",
        f"postgresql+asyncpg://user:{PASSWORD}@nowhere.invalid/name",
        f"mysql+aiomysql://user:{PASSWORD}@nowhere.invalid/name",
        f"sqlite+aiosqlite:////nowhere/{PASSWORD}/feedback.db",
    ],
)
async def test_a_database_that_is_not_there_shows_no_password(address: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    error = await failure(address)
    assert isinstance(error, StoreUnavailable)
    assert PASSWORD not in shown(error) + caplog.text


@pytest.mark.parametrize("wrong", ["password", "user", "database", "option"])
async def test_a_server_that_refuses_shows_no_password(
    server_dsn: str, wrong: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    right = make_url(server_dsn)
    url = {
        "password": right.set(password=PASSWORD),
        "user": right.set(username="nobody", password=PASSWORD),
        "database": right.set(database="nowhere"),
        "option": right.update_query_dict({"nonsense": PASSWORD}),
    }[wrong]
    error = await failure(url.render_as_string(hide_password=False))
    reasons = {
        "password": "refuses the login",
        "user": "refuses the login",
        "database": "no such database",
        "option": "an option that its driver does not take.*nonsense",
    }
    with pytest.raises(MemoryGridError, match=reasons[wrong]):
        raise error
    assert isinstance(error, InvalidConfiguration if wrong == "option" else StoreUnavailable)
    text = shown(error) + caplog.text
    assert PASSWORD not in text
    assert right.password is not None
    assert right.password not in text


@pytest.mark.parametrize(
    "dsn",
    [
        PASSWORD,
        f"{PASSWORD}:{PASSWORD}",
        f"postgresql://user:{PASSWORD}@host:{PASSWORD}/name",
        f"postgresql+asyncpg://user:pa@ss:{PASSWORD}/name",
        f"oracle://user:{PASSWORD}@host/name",
        f"sqlite+aiosqlite:///file:{PASSWORD}?mode=ro&uri=true",
    ],
)
def test_an_address_that_cannot_be_read_is_told_without_showing_it(dsn: str) -> None:
    with pytest.raises(InvalidConfiguration, match="expected sqlite") as caught:
        parse_dsn(dsn)
    assert PASSWORD not in shown(caught.value)


async def test_a_bad_row_shows_no_callers_data(dsn: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    database = Database(dsn, FEEDBACK_DATABASE)
    store = SqlFeedbackStore(database=database, new_id=CountingIds())
    secret = entry(selection_context={"customer": PASSWORD})
    await store.record(select(secret))
    with pytest.raises(Exception, match=r"(?i)unique|duplicate") as caught:
        await store.record(select(secret))
    assert PASSWORD not in shown(caught.value) + caplog.text
    await database.aclose()
