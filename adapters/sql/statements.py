"""Statements of the hot path: worked out once for each engine, and rows handed to the driver as they are.

SQLAlchemy's own work for one row costs as much as SQLite's insert of it, and its work for one statement as ten rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, Dialect, Select
from sqlalchemy.sql.dml import Delete, Insert, Update
from sqlalchemy.types import TypeEngine

from adapters.sql.dialects import Row, fetch, run_many

_Conversions = Sequence[tuple[int, Callable[[Any], Any]]]


class _Compiled(NamedTuple):
    """A statement in one driver's spelling: its own constants, the order in which it takes our values and those, and
    which values have to be converted.
    """

    text: str
    constants: Row
    arrange: Callable[[Row], Row]
    encode: _Conversions
    decode: _Conversions

    def parameters(self, values: Row) -> Row:
        """Our values as the driver takes them."""
        converted = _converted(values, self.encode)
        return self.arrange((*converted, *self.constants) if self.constants else converted)


class Prepared:
    """A statement whose values come as rows, in the order of `names`; `build` makes it for an engine's dialect."""

    def __init__(
        self, build: Callable[[Dialect], Insert | Update | Delete | Select[Any]], names: Sequence[str]
    ) -> None:
        self._build = build
        self._names = list(names)
        self._compiled: WeakKeyDictionary[Dialect, _Compiled] = WeakKeyDictionary()

    def run_many(self, connection: Connection, rows: Sequence[Row]) -> None:
        """Runs it once for each row."""
        compiled = self._for(connection.dialect)
        run_many(connection, compiled.text, [compiled.parameters(row) for row in rows])

    def run(self, connection: Connection, values: Row = ()) -> None:
        """Runs it once."""
        self.run_many(connection, [values])

    def fetch(self, connection: Connection, values: Row = ()) -> Sequence[Row]:
        """The rows that it finds, in the order of its columns."""
        compiled = self._for(connection.dialect)
        found = fetch(connection, compiled.text, compiled.parameters(values))
        return [_converted(row, compiled.decode) for row in found] if compiled.decode else found

    def _for(self, dialect: Dialect) -> _Compiled:
        known = self._compiled.get(dialect)
        if known is None:
            known = self._compiled[dialect] = self._compile(dialect)
        return known

    def _compile(self, dialect: Dialect) -> _Compiled:
        statement = self._build(dialect)
        keys = None if isinstance(statement, Select) else self._names
        compiled: Any = statement.compile(dialect=dialect, column_keys=keys)
        constants = [name for name in compiled.positiontup if name not in self._names]
        names = [*self._names, *constants]
        types = [compiled.binds[name].type for name in self._names]
        columns = [column.type for column in statement.selected_columns] if isinstance(statement, Select) else []
        return _Compiled(
            text=compiled.string,
            constants=[compiled.params[name] for name in constants],
            arrange=_arranging([names.index(name) for name in compiled.positiontup]),
            encode=_conversions(types, lambda one: one.dialect_impl(dialect).bind_processor(dialect)),
            decode=_conversions(columns, lambda one: one.dialect_impl(dialect).result_processor(dialect, None)),
        )


class Lookup:
    """A query for many keys at once. `build` makes it for so many keys, whose values are bound to `key_name`s.

    Their number is rounded up, by asking for the last one again, so that a server sees few different texts.
    """

    def __init__(self, build: Callable[[int], Select[Any]], width: int = 1) -> None:
        self._width = width
        self._by_size = {size: Prepared(partial(_sized, build, size), _names(size, width)) for size in _SIZES}

    def fetch(self, connection: Connection, keys: Sequence[Row]) -> Iterator[Row]:
        """The rows of these keys, each of which is a row of `width` values; all that repeat a key come again."""
        for start in range(0, len(keys), _SIZES[-1]):
            some = list(keys[start : start + _SIZES[-1]])
            size = next(size for size in _SIZES if size >= len(some))
            padded = some + [some[-1]] * (size - len(some))
            yield from self._by_size[size].fetch(connection, [value for key in padded for value in key])


_SIZES = (1, 4, 16, 64, 128)


def _sized(build: Callable[[int], Select[Any]], size: int, _dialect: Dialect) -> Select[Any]:
    return build(size)


def key_name(number: int, part: int = 0) -> str:
    """The name of the parameter for one part of a `Lookup`'s key."""
    return f"key_{number}_{part}"


def _names(size: int, width: int) -> list[str]:
    return [key_name(number, part) for number in range(size) for part in range(width)]


def _arranging(order: list[int]) -> Callable[[Row], Row]:
    if order == list(range(len(order))):
        return lambda row: row
    if len(order) == 1:
        return lambda row: (row[order[0]],)
    return itemgetter(*order)


def _conversions(types: Sequence[TypeEngine[Any]], of: Callable[[TypeEngine[Any]], Any]) -> _Conversions:
    found = ((at, of(one)) for at, one in enumerate(types))
    return [(at, conversion) for at, conversion in found if conversion is not None]


def _converted(row: Row, conversions: _Conversions) -> Row:
    if not conversions:
        return row
    values = list(row)
    for at, convert in conversions:
        values[at] = convert(values[at])
    return values
