"""Column types that mean the same on every engine.

They give their conversions as plain functions, one call a value and none where nothing is to be done, since every
selection and every report goes through them. MySQL's own types are imported where one of its servers is used: mostly
it is SQLite, and the import is slow.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

import msgspec
from sqlalchemy import BigInteger, DateTime, Dialect, Integer, LargeBinary, String, Text
from sqlalchemy.types import TypeDecorator, TypeEngine

Conversion = Callable[[Any], Any] | None

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class ExactText(TypeDecorator[str]):
    """Text that is compared exactly: case, accents and trailing spaces count.

    MySQL and TiDB keep it as VARBINARY of its UTF-8 bytes, since every collation there folds something.
    """

    impl = String
    cache_ok = True

    def __init__(self, length: int) -> None:
        super().__init__(length)
        self.length = length

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[str] | TypeEngine[bytes]:
        if dialect.name == "mysql":
            from sqlalchemy.dialects import mysql  # noqa: PLC0415 - see the module

            return dialect.type_descriptor(mysql.VARBINARY(4 * self.length))
        return dialect.type_descriptor(String(self.length))

    def bind_processor(self, dialect: Dialect) -> Conversion:
        return _to_bytes if dialect.name == "mysql" else None

    def result_processor(self, dialect: Dialect, coltype: object) -> Conversion:
        return _to_text if dialect.name == "mysql" else None


def _to_bytes(value: str | None) -> bytes | None:
    return None if value is None else value.encode()


def _to_text(value: bytes | None) -> str | None:
    return None if value is None else value.decode()


class Utc(TypeDecorator[datetime]):
    """An aware moment in UTC with microseconds; on SQLite a text that is ordered as the moments are."""

    impl = DateTime
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        match dialect.name:
            case "mysql":
                from sqlalchemy.dialects import mysql  # noqa: PLC0415 - see the module

                return dialect.type_descriptor(mysql.DATETIME(fsp=6))
            case "sqlite":
                return dialect.type_descriptor(String(32))
            case _:
                return dialect.type_descriptor(DateTime(timezone=True))

    def bind_processor(self, dialect: Dialect) -> Conversion:
        match dialect.name:
            case "mysql":
                return _to_naive
            case "sqlite":
                return _to_iso
            case _:
                return None

    def result_processor(self, dialect: Dialect, coltype: object) -> Conversion:
        match dialect.name:
            case "mysql":
                return _of_naive
            case "sqlite":
                return _of_iso
            case _:
                return _to_utc


def _to_utc(value: datetime | None) -> datetime | None:
    return None if value is None else value.astimezone(timezone.utc)


def _to_naive(value: datetime | None) -> datetime | None:
    return None if value is None else value.astimezone(timezone.utc).replace(tzinfo=None)


def _of_naive(value: datetime | None) -> datetime | None:
    return None if value is None else value.replace(tzinfo=timezone.utc)


def _to_iso(value: datetime | None) -> str | None:
    if value is None:
        return None
    moment = value if value.tzinfo is timezone.utc else value.astimezone(timezone.utc)
    return moment.isoformat(" ", "microseconds")


def _of_iso(value: str | None) -> datetime | None:
    return None if value is None else datetime.fromisoformat(value)


class Json(TypeDecorator[object]):
    """JSON of any size, kept as text exactly as msgspec writes it; SQL NULL is None."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[str]:
        return dialect.type_descriptor(_long_text(dialect))

    def bind_processor(self, dialect: Dialect) -> Conversion:
        return _to_json

    def result_processor(self, dialect: Dialect, coltype: object) -> Conversion:
        return _of_json


def _to_json(value: object) -> str | None:
    return None if value is None else _encode(value).decode()


def _of_json(value: str | None) -> object:
    return None if value is None else _decode(value)


class LongText(TypeDecorator[str]):
    """Text of any size, compared by its code points."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[str]:
        return dialect.type_descriptor(_long_text(dialect))


class Blob(TypeDecorator[bytes]):
    """Bytes of any size."""

    impl = LargeBinary
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[bytes]:
        if dialect.name != "mysql":
            return dialect.type_descriptor(LargeBinary())
        from sqlalchemy.dialects import mysql  # noqa: PLC0415 - see the module

        return dialect.type_descriptor(mysql.LONGBLOB())


def _long_text(dialect: Dialect) -> TypeEngine[str]:
    if dialect.name != "mysql":
        return Text()
    from sqlalchemy.dialects import mysql  # noqa: PLC0415 - see the module

    return mysql.LONGTEXT(charset="utf8mb4", collation="utf8mb4_bin")


#: The type of a database's own sequence: SQLite counts up only in an INTEGER primary key.
Sequence = BigInteger().with_variant(Integer, "sqlite")
