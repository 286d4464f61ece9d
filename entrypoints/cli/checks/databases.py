"""The state of the two databases' schemas, and bringing them up to date. Looking changes and creates nothing."""

from __future__ import annotations

from enum import Enum
from pathlib import Path

import msgspec
from sqlalchemy.engine import URL

from adapters.sql.database import Database
from adapters.sql.dialects import parse_dsn
from adapters.sql.schema import FEEDBACK_DATABASE, OBJECT_STORE, Schema
from domain.errors import StoreUnavailable
from entrypoints.settings import Settings


class SchemaState(str, Enum):
    UP_TO_DATE = "up_to_date"
    MISSING = "missing"
    OTHER_VERSION = "other_version"
    UNREACHABLE = "unreachable"


class DatabaseState(msgspec.Struct, frozen=True, kw_only=True):
    """`address` is shown without its password; `revision` None: it has none of our tables yet."""

    name: str
    address: str
    state: SchemaState
    revision: str | None
    needed: str
    problem: str | None = None


class Databases:
    """Both databases, by the settings."""

    def __init__(self, settings: Settings) -> None:
        self._all = (
            ("object_store", settings.lessons_dsn, OBJECT_STORE),
            ("feedback_database", settings.feedback_dsn, FEEDBACK_DATABASE),
        )

    async def look(self) -> list[DatabaseState]:
        """The state of each."""
        return [await _state(name, dsn, schema) for name, dsn, schema in self._all]

    async def upgrade(self) -> list[DatabaseState]:
        """Runs the migrations that are missing; the states afterwards. One that is away is left as it is."""
        for name, dsn, schema in self._all:
            if (await _state(name, dsn, schema)).state in (SchemaState.MISSING, SchemaState.OTHER_VERSION):
                database = Database(dsn, schema)
                try:
                    await database.upgrade()
                finally:
                    await database.aclose()
        return await self.look()


async def _state(name: str, dsn: str, schema: Schema) -> DatabaseState:
    url, database = parse_dsn(dsn), Database(dsn, schema)
    revision, problem = None, None
    if _is_there(url):
        try:
            revision = (await database.check()).current
        except StoreUnavailable as error:
            problem = error.detail
        finally:
            await database.aclose()
    return DatabaseState(
        name=name,
        address=url.render_as_string(hide_password=True),
        state=_judged(revision, problem, schema),
        revision=revision,
        needed=schema.head,
        problem=problem,
    )


def _is_there(url: URL) -> bool:
    """False for a SQLite file that connecting would create."""
    return url.get_backend_name() != "sqlite" or Path(url.database or "").exists()


def _judged(revision: str | None, problem: str | None, schema: Schema) -> SchemaState:
    if problem is not None:
        return SchemaState.UNREACHABLE
    if revision is None:
        return SchemaState.MISSING
    return SchemaState.UP_TO_DATE if revision == schema.head else SchemaState.OTHER_VERSION
