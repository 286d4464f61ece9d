"""The outbox on SQLAlchemy, which also tells whether the feedback database takes writes."""

from __future__ import annotations

from adapters.feedback.sql_outbox import SqlOutbox


class CheckedOutbox(SqlOutbox):
    async def check_writes(self) -> None:
        await self._database.check_writes()
