"""Misses on SQLAlchemy."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from sqlalchemy import Connection, delete, select

from adapters.sql.database import Database
from adapters.sql.dialects import upserting
from adapters.sql.statements import Prepared
from adapters.sql.tables import misses as table
from application.feedback.ports import Miss, MissStore

_ADD = Prepared(lambda dialect: upserting(dialect, table, ("problem_type",), ("count",)), Miss.__struct_fields__)


class SqlMissStore(MissStore):
    def __init__(self, *, database: Database) -> None:
        self._database = database

    async def add(self, misses: Sequence[Miss]) -> None:
        if not misses:
            return
        rows = [msgspec.structs.astuple(one) for one in sorted(misses, key=lambda one: one.problem_type)]
        await self._database.write(lambda connection: _ADD.run_many(connection, rows))

    async def most_frequent(self, limit: int) -> Sequence[Miss]:
        statement = select(table).order_by(table.c.count.desc(), table.c.problem_type).limit(limit)
        rows = await self._database.read(lambda connection: connection.execute(statement).mappings().all())
        return [Miss(problem_type=row["problem_type"], count=row["count"], last_at=row["last_at"]) for row in rows]

    async def keep(self, most: int) -> None:
        last_kept = select(table.c.last_at).order_by(table.c.last_at.desc()).offset(most - 1).limit(1)

        def work(connection: Connection) -> None:
            oldest = connection.execute(last_kept).scalar()
            if oldest is not None:
                connection.execute(delete(table).where(table.c.last_at < oldest))

        await self._database.write(work)
