"""Idempotency records in a database, for both of them: looked up and stored inside the effect's own transaction."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import Connection, Select, Table, bindparam, delete, insert, select

from adapters.sql.database import Database
from adapters.sql.statements import Lookup, Prepared, key_name
from application.shared.ports import IdempotencyRecord
from domain.errors import KeyReused

_KEPT = timedelta(hours=24)
_FORGOTTEN_AT_ONCE = 1000
_COLUMNS = ("digest", "fingerprint", "at", "answer")


def _digest(request: IdempotencyRecord) -> str:
    return hashlib.sha256(f"{request.scope}\0{request.key}".encode()).hexdigest()


class Kept(NamedTuple):
    """For each request the answer kept under its key, None, or the error that its body is another one; and the digests
    of records that are older than 24 h and in the way of new ones.
    """

    answers: list[bytes | KeyReused | None]
    expired: list[str]


class Requests:
    """The records of one table."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._insert = Prepared(lambda _: insert(table).inline(), _COLUMNS)
        self._found = Lookup(self._of_digests)

    def look_up(self, connection: Connection, requests: Sequence[IdempotencyRecord]) -> Kept:
        """What is kept for these requests."""
        digests = [_digest(request) for request in requests]
        found = {row[0]: row[1:] for row in self._found.fetch(connection, [(digest,) for digest in digests])}
        answers = [_answer(request, *found.get(digest, ())) for request, digest in zip(requests, digests, strict=True)]
        expired = [
            digest for digest, answer in zip(digests, answers, strict=True) if answer is None and digest in found
        ]
        return Kept(answers, expired)

    def store(self, connection: Connection, requests: Sequence[IdempotencyRecord], expired: Sequence[str]) -> None:
        """Keeps the records, in place of expired ones. Raises SQLAlchemy's `IntegrityError` if somebody was faster."""
        if expired:
            connection.execute(delete(self._table).where(self._table.c.digest.in_(expired)))
        rows = sorted((_digest(one), one.fingerprint, one.at, one.answer.decode()) for one in requests)
        if rows:
            self._insert.run_many(connection, rows)

    async def forget_older(self, database: Database, before: datetime) -> None:
        """Deletes the records written before `before`, in small portions, so that nobody waits for them all."""
        digest, at = self._table.c.digest, self._table.c.at
        old = select(digest).where(at < before).limit(_FORGOTTEN_AT_ONCE)
        while True:
            found = await database.read(lambda connection: connection.execute(old).scalars().all())
            if found:
                gone = delete(self._table).where(digest.in_(found), at < before)
                await database.write(lambda connection, gone=gone: connection.execute(gone))  # type: ignore[misc]
            if len(found) < _FORGOTTEN_AT_ONCE:
                return

    def forget_mentions(self, connection: Connection, text: str) -> None:
        """Deletes the records whose answer mentions `text`, inside the caller's transaction."""
        connection.execute(delete(self._table).where(self._table.c.answer.contains(text, autoescape=True)))

    def _of_digests(self, count: int) -> Select[tuple[str, str, datetime, str]]:
        table = self._table
        keys = [bindparam(key_name(number), type_=table.c.digest.type) for number in range(count)]
        return select(*(table.c[name] for name in _COLUMNS)).where(table.c.digest.in_(keys))


def _answer(
    request: IdempotencyRecord, fingerprint: str = "", at: datetime | None = None, answer: str = ""
) -> bytes | KeyReused | None:
    if at is None or at <= request.at - _KEPT:
        return None
    if fingerprint != request.fingerprint:
        return KeyReused("this Idempotency-Key came before with another body: use a new key for a new request")
    return answer.encode()
