"""Column types that mean the same on every engine."""

from __future__ import annotations

from datetime import datetime, timezone

import msgspec
from sqlalchemy import BigInteger, DateTime, Dialect, Integer, LargeBinary, String, Text
from sqlalchemy.dialects import mysql
from sqlalchemy.types import TypeDecorator, TypeEngine


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
            return dialect.type_descriptor(mysql.VARBINARY(4 * self.length))
        return dialect.type_descriptor(String(self.length))

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | bytes | None:
        return value.encode() if value is not None and dialect.name == "mysql" else value

    def process_result_value(self, value: str | bytes | None, dialect: Dialect) -> str | None:
        return value.decode() if isinstance(value, bytes) else value


class Utc(TypeDecorator[datetime]):
    """An aware moment in UTC with microseconds."""

    impl = DateTime
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[datetime]:
        if dialect.name == "mysql":
            return dialect.type_descriptor(mysql.DATETIME(fsp=6))
        return dialect.type_descriptor(DateTime(timezone=dialect.name == "postgresql"))

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None or dialect.name == "postgresql":
            return value
        return value.astimezone(timezone.utc).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.astimezone(timezone.utc) if value.tzinfo else value.replace(tzinfo=timezone.utc)


class Json(TypeDecorator[object]):
    """JSON of any size, kept as text exactly as msgspec writes it; SQL NULL is None."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[str]:
        return dialect.type_descriptor(_long_text(dialect))

    def process_bind_param(self, value: object, dialect: Dialect) -> str | None:
        return None if value is None else msgspec.json.encode(value).decode()

    def process_result_value(self, value: str | None, dialect: Dialect) -> object:
        return None if value is None else msgspec.json.decode(value)


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
        return dialect.type_descriptor(mysql.LONGBLOB() if dialect.name == "mysql" else LargeBinary())


def _long_text(dialect: Dialect) -> TypeEngine[str]:
    return mysql.LONGTEXT(charset="utf8mb4", collation="utf8mb4_bin") if dialect.name == "mysql" else Text()


#: The type of a database's own sequence: SQLite counts up only in an INTEGER primary key.
Sequence = BigInteger().with_variant(Integer, "sqlite")
