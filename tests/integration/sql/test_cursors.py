"""A cursor is good for the list that gave it out, and for no other."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from adapters.feedback.sql_feedback_store import SqlFeedbackStore
from adapters.feedback.sql_outbox import SqlOutbox
from adapters.lessons.sql_lesson_store import SqlLessonStore
from adapters.sql.database import Database
from adapters.sql.schema import FEEDBACK_DATABASE, OBJECT_STORE
from entrypoints.http.app import create_incorporator_app
from tests.fakes.clock import START, CountingIds
from tests.fakes.examples import entry, escalation, injected, lesson, select
from tests.unit.http.clients import client_of, options
from tests.unit.http.stubs import Stub, incorporator_services, learner_services

LISTS = ("/lessons", "/lessons/review/queue", "/feedback", "/escalations")


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    """Of a service whose four lists hold two items each."""
    lessons = Database(f"sqlite+aiosqlite:///{tmp_path}/lessons.db", OBJECT_STORE)
    feedback = Database(f"sqlite+aiosqlite:///{tmp_path}/feedback.db", FEEDBACK_DATABASE)
    store, entries, outbox = (
        SqlLessonStore(database=lessons),
        SqlFeedbackStore(database=feedback, new_id=CountingIds(9)),
        SqlOutbox(database=feedback),
    )
    new_id = CountingIds(1)
    for number in range(2):
        await store.add([injected(lesson(id=new_id()))])
        await entries.record(select(entry(id=new_id(), transaction_log_ref=new_id())))
        await outbox.put([escalation(id=new_id(), report_number=number)], "a worker", START + timedelta(minutes=1))
    stub = Stub()
    app = create_incorporator_app(
        replace(incorporator_services(stub), feedback=entries, outbox=outbox),
        replace(learner_services(stub), lessons=store),
        options(stub),
    )
    async with client_of(app) as client:
        yield client
    await lessons.aclose()
    await feedback.aclose()


@pytest.mark.parametrize("given_by", LISTS)
async def test_a_cursor_of_another_list_is_refused(client: httpx.AsyncClient, given_by: str) -> None:
    first = await client.get(given_by, params={"limit": 1})
    cursor = parse_qs(urlsplit(first.links["next"]["url"]).query)["cursor"][0]
    own = await client.get(given_by, params={"cursor": cursor})
    assert len(own.json()) == 1
    for other in (one for one in LISTS if one != given_by):
        answer = await client.get(other, params={"cursor": cursor})
        assert answer.status_code == 400, other
        assert answer.headers["content-type"] == "application/problem+json"
        assert [one["path"] for one in answer.json()["errors"]] == ["cursor"]
