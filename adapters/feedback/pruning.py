"""Deleting many rows in small portions, so that others wait for one portion at most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from sqlalchemy import Column, ColumnElement, delete

from adapters.sql.database import Database

_K = TypeVar("_K")

#: Rows deleted in one transaction.
_AT_ONCE = 500


async def delete_portions(database: Database, key: Column[_K], keys: Sequence[_K], old: ColumnElement[bool]) -> int:
    """Deletes the rows with these keys that are still `old` by then; how many."""
    gone = 0
    for start in range(0, len(keys), _AT_ONCE):
        statement = delete(key.table).where(key.in_(keys[start : start + _AT_ONCE]), old)
        gone += await database.write(lambda db, statement=statement: db.execute(statement).rowcount)  # type: ignore[misc]
    return gone
