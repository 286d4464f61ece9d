"""Idempotency records in a database, for both of them: looked up and stored inside the effect's own transaction."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import NamedTuple

from sqlalchemy import Connection, Select, Subquery, Table, bindparam, delete, insert, select, update

from adapters.sql.database import Database
from adapters.sql.dialects import holds
from adapters.sql.statements import Lookup, Prepared, key_name
from application.shared.ports import IdempotencyRecord
from domain.errors import AnswerErased, KeyReused, MemoryGridError

_KEPT = timedelta(hours=24)
_AT_ONCE = 1000
#: In the place of an answer that was erased.
_ERASED = ""
_COLUMNS = ("digest", "fingerprint", "at", "answer")


def _digest(request: IdempotencyRecord) -> str:
    return hashlib.sha256(f"{request.scope}\0{request.key}".encode()).hexdigest()


class Kept(NamedTuple):
    """For each request the answer kept under its key, None, or the error that its body is another one or its answer
    erased; and the digests of records that are older than 24 h and in the way of new ones.
    """

    answers: list[bytes | MemoryGridError | None]
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
        old = select(digest).where(at < before).limit(_AT_ONCE)
        while True:
            found = await database.read(lambda connection: connection.execute(old).scalars().all())
            if found:
                gone = delete(self._table).where(digest.in_(found), at < before)
                await database.write(lambda connection, gone=gone: connection.execute(gone))  # type: ignore[misc]
            if len(found) < _AT_ONCE:
                return

    def blank_mentions(self, connection: Connection, text: str) -> None:
        """Erases the answers that mention `text`, inside the caller's transaction. Their keys stay taken."""
        mentions = holds(connection, self._table.c.answer, text)
        connection.execute(update(self._table).where(mentions).values(answer=_ERASED))

    async def blank_mentions_in_portions(self, database: Database, text: str) -> None:
        """The same, a thousand records at a time, so that nobody waits for them all."""
        digest = self._table.c.digest
        records = select(digest, self._table.c.answer).order_by(digest).limit(_AT_ONCE)
        last = ""
        while True:
            portion = records.where(digest > last).subquery()
            rows = await database.read(partial(_mentioning, portion=portion, text=text))
            found = [one for one, mentions in rows if mentions]
            if found:
                blank = update(self._table).where(digest.in_(found)).values(answer=_ERASED)
                await database.write(lambda connection, blank=blank: connection.execute(blank))  # type: ignore[misc]
            if len(rows) < _AT_ONCE:
                return
            last = rows[-1][0]

    def _of_digests(self, count: int) -> Select[tuple[str, str, datetime, str]]:
        table = self._table
        keys = [bindparam(key_name(number), type_=table.c.digest.type) for number in range(count)]
        return select(*(table.c[name] for name in _COLUMNS)).where(table.c.digest.in_(keys))


def _mentioning(connection: Connection, *, portion: Subquery, text: str) -> Sequence[tuple[str, bool]]:
    """The digest of each record in order, and whether its answer mentions the text."""
    asked = select(portion.c.digest, holds(connection, portion.c.answer, text)).order_by(portion.c.digest)
    return [(digest, bool(mentions)) for digest, mentions in connection.execute(asked)]


def _answer(
    request: IdempotencyRecord, fingerprint: str = "", at: datetime | None = None, answer: str = ""
) -> bytes | MemoryGridError | None:
    if at is None or at <= request.at - _KEPT:
        return None
    if fingerprint != request.fingerprint:
        return KeyReused("this Idempotency-Key came before with another body: use a new key for a new request")
    if answer == _ERASED:
        return AnswerErased("what was answered under this Idempotency-Key was erased with its lesson")
    return answer.encode()
