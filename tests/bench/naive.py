"""The naive variant: nothing cached, a LIKE scan for the match, one ORM transaction for each request.

The same databases, tables and pragmas as the service's, so that the way of working is what differs. `BENCH_LESSONS`,
`BENCH_FEEDBACK` and `BENCH_RULES` name the files.
"""

from __future__ import annotations

import asyncio
import os
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import uuid_utils
from litestar import Litestar, get, post
from litestar.exceptions import NotFoundException
from sqlalchemy import event, or_, select
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import registry

from adapters.lessons.rows import copy_of
from adapters.lessons.statements import COPY_COLUMNS
from adapters.sql.tables import feedback_entries, lesson_counters, promoted_lessons
from domain.feedback.entry import FeedbackEntry, OutcomeReport, ResultFlag
from domain.incorporator.match import MatcherName, matched
from domain.incorporator.outcome import ApplierOutcome, Source, dsl_instruction
from domain.incorporator.query import QueryInput
from domain.incorporator.rules import parse_rules
from tests.bench.seeds import dsn


class Entry:
    """A row of `feedback_entries`."""

    def __init__(self, **values: object) -> None:
        self.__dict__.update(values)


class Count:
    """A row of `lesson_counters`."""


_mapped = registry()
_mapped.map_imperatively(Entry, feedback_entries)
_mapped.map_imperatively(Count, lesson_counters)

_RULES = parse_rules(Path(os.environ["BENCH_RULES"]).read_bytes(), "rules")


def _sessions(file: Path, begin: str) -> async_sessionmaker[AsyncSession]:
    """Sessions with the pragmas of the service."""
    engine = create_async_engine(dsn(file), connect_args={"isolation_level": None, "timeout": 5.0})
    event.listen(engine.sync_engine, "connect", _set_up)
    event.listen(engine.sync_engine, "begin", lambda connection: connection.exec_driver_sql(begin))
    return async_sessionmaker(engine)


def _set_up(connection: Any, _record: object) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.close()


_lessons = _sessions(Path(os.environ["BENCH_LESSONS"]), "BEGIN")
_feedback = _sessions(Path(os.environ["BENCH_FEEDBACK"]), "BEGIN IMMEDIATE")
_one_writer = asyncio.Lock()


@get("/health")
async def health() -> dict[str, str]:
    return {"status": "ok"}


@post("/incorporator/invoke", status_code=200)
async def invoke(data: QueryInput) -> ApplierOutcome:
    rule = _RULES.of(data.problem_type)[0]
    columns = promoted_lessons.c
    pattern = f"%{rule.lookup}%"
    statement = select(*COPY_COLUMNS).where(
        columns.bin == rule.target_bin.value, or_(columns.title.like(pattern), columns.body.like(pattern))
    )
    async with _lessons() as session:
        found = (await session.execute(statement.limit(1))).first()
    if found is None:
        raise NotFoundException
    copy = copy_of(found)
    outcome = ApplierOutcome(
        id=str(uuid_utils.uuid4()),
        source=Source.DSL,
        action="repair_service",
        instruction=dsl_instruction(copy, data),
        recommended_action_payload={"dsl_payload": copy.dsl_payload},
        match_result=matched(copy, MatcherName.DSL, 1.0),
        created_at=datetime.now(timezone.utc),
    )
    async with _one_writer, _feedback() as session, session.begin():
        session.add(Entry(**_values(data, outcome)))
        count: Any = await session.get(Count, (copy.id, copy.review_round))
        count.usage_count += 1
        count.pending += 1
    return outcome


@post("/incorporator/outcome", status_code=200)
async def outcome(data: OutcomeReport) -> FeedbackEntry:
    columns = feedback_entries.c
    latest = (
        select(Entry)
        .where(columns.session_id == data.session_id, columns.problem_solving_step_ref == data.problem_solving_step_ref)
        .order_by(columns.seq.desc())
        .limit(1)
    )
    async with _one_writer, _feedback() as session, session.begin():
        found: Any = (await session.execute(latest)).scalar_one()
        count: Any = await session.get(Count, (found.lesson_skill_id, found.review_round))
        found.result_flag, found.usage_count = data.result_flag.value, found.usage_count + 1
        found.updated_at = datetime.now(timezone.utc)
        count.usage_count += 1
        return FeedbackEntry(**{name: getattr(found, name) for name in FeedbackEntry.__struct_fields__})


def _values(query: QueryInput, outcome: ApplierOutcome) -> dict[str, object]:
    copy = outcome.match_result.raw_payload
    return {
        "id": str(uuid_utils.uuid4()),
        "problem_solving_step_ref": query.problem_solving_step_ref,
        "session_id": query.session_id,
        "lesson_skill_id": copy.id,
        "matched_entity_type": outcome.match_result.matched_entity_type.value,
        "selection_query": {"session_id": query.session_id, "problem_type": query.problem_type},
        "selection_context": query.current_task_context,
        "result_flag": ResultFlag.PENDING.value,
        "usage_count": 1,
        "transaction_log_ref": outcome.id,
        "timestamp": outcome.created_at,
        "updated_at": outcome.created_at,
        "review_round": copy.review_round,
        "matcher_used": "dsl",
    }


app = Litestar([health, invoke, outcome], openapi_config=None, logging_config=None)
