"""Steps of migrations that may be taken twice.

MySQL and its kind commit each of them by itself, so that a migration that was interrupted has done some already; run
again, it does the others.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.sql.schema import SchemaItem

from adapters.sql.dialects import NUMBERED, OPTIONS


def create_table(name: str, *items: SchemaItem, numbered: bool = False, **options: object) -> None:
    """Creates the table, unless it is there. `numbered`: its own numbers tell which row is the latest."""
    op.create_table(name, *items, if_not_exists=True, **(NUMBERED if numbered else OPTIONS), **options)


def create_index(name: str, table: str, columns: list[str], *, unique: bool = False) -> None:
    """Creates the index, unless it is there."""
    if name not in {index["name"] for index in sa.inspect(op.get_bind()).get_indexes(table)}:
        op.create_index(name, table, columns, unique=unique)


def insert_first_row(table: sa.TableClause, row: dict[str, object]) -> None:
    """Inserts the only row of a table, unless it has one."""
    bind = op.get_bind()
    if bind.execute(sa.select(table).limit(1)).first() is None:
        bind.execute(sa.insert(table), [row])
