"""Idempotency records in a database, for both of them: looked up and stored inside the effect's own transaction."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import Connection, Table, delete, insert, select

from application.shared.ports import IdempotencyRecord
from domain.errors import KeyReused

_KEPT = timedelta(hours=24)


def _digest(request: IdempotencyRecord) -> str:
    return hashlib.sha256(f"{request.scope}\0{request.key}".encode()).hexdigest()


class Requests:
    """The records of one table. Every method works inside the caller's transaction."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def answers(self, connection: Connection, requests: Sequence[IdempotencyRecord]) -> list[bytes | KeyReused | None]:
        """For each request the answer kept under its key, None, or the error that its body is another one."""
        if not requests:
            return []
        table = self._table
        digests = [_digest(request) for request in requests]
        found = connection.execute(
            select(table.c.digest, table.c.fingerprint, table.c.at, table.c.answer).where(table.c.digest.in_(digests))
        )
        kept = {row.digest: (row.fingerprint, row.at, row.answer) for row in found}
        return [_answer(request, kept.get(digest)) for request, digest in zip(requests, digests, strict=True)]

    def store(self, connection: Connection, requests: Sequence[IdempotencyRecord]) -> None:
        """Keeps the records, in place of expired ones. Raises SQLAlchemy's `IntegrityError` if somebody was faster."""
        if not requests:
            return
        table, oldest = self._table, min(request.at for request in requests) - _KEPT
        rows = sorted(
            (
                {"digest": _digest(one), "fingerprint": one.fingerprint, "at": one.at, "answer": one.answer.decode()}
                for one in requests
            ),
            key=lambda row: str(row["digest"]),
        )
        connection.execute(
            delete(table).where(table.c.digest.in_([row["digest"] for row in rows]), table.c.at <= oldest)
        )
        connection.execute(insert(table), rows)

    def forget_older(self, connection: Connection, before: datetime) -> None:
        """Deletes the records written before `before`."""
        connection.execute(delete(self._table).where(self._table.c.at < before))

    def forget_mentions(self, connection: Connection, text: str) -> None:
        """Deletes the records whose answer mentions `text`."""
        connection.execute(delete(self._table).where(self._table.c.answer.contains(text, autoescape=True)))


def _answer(request: IdempotencyRecord, kept: tuple[str, datetime, str] | None) -> bytes | KeyReused | None:
    if kept is None or kept[1] <= request.at - _KEPT:
        return None
    if kept[0] != request.fingerprint:
        return KeyReused("this Idempotency-Key came before with another body: use a new key for a new request")
    return kept[2].encode()
