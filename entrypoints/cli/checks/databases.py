"""The state of the two databases' schemas, and bringing them up to date. Looking changes and creates nothing."""

from __future__ import annotations

from enum import Enum

import msgspec

from adapters.sql.database import Database
from adapters.sql.dialects import parse_dsn
from adapters.sql.schema import FEEDBACK_DATABASE, OBJECT_STORE, Schema
from domain.errors import StoreUnavailable
from entrypoints.cli.places import Store, check_place, is_missing
from entrypoints.settings import Settings


class State(str, Enum):
    """`newer`: of a program newer than this one. `unusable`: it takes no writes, or has a table of somebody else's."""

    UP_TO_DATE = "up_to_date"
    MISSING = "missing"
    OLDER = "older"
    NEWER = "newer"
    UNUSABLE = "unusable"
    UNREACHABLE = "unreachable"


class DatabaseState(msgspec.Struct, frozen=True, kw_only=True):
    """`address` is shown without its password; `revision` None: it has none of our tables yet."""

    name: str
    address: str
    state: State
    revision: str | None
    needed: str
    problem: str | None = None


class _Checked:
    """One of the two."""

    def __init__(self, name: str, dsn: str, schema: Schema, store: Store) -> None:
        self._name = name
        self._store = store
        self._address = parse_dsn(dsn).render_as_string(hide_password=True)
        self._schema = schema
        self._database = Database(dsn, schema)

    async def look(self) -> DatabaseState:
        if is_missing(self._database):
            return self._is(State.MISSING)
        try:
            return await self._look()
        except StoreUnavailable as error:
            return self._is(State.UNREACHABLE, problem=error.detail)
        finally:
            await self._database.aclose()

    async def upgrade(self) -> None:
        check_place(self._database, self._store)
        try:
            await self._database.upgrade()
        finally:
            await self._database.aclose()

    async def _look(self) -> DatabaseState:
        found = await self._database.check()
        if found.in_the_way is not None:
            return self._is(State.UNUSABLE, problem=found.in_the_way)
        if found.current is None:
            return self._is(State.MISSING)
        if not found.is_up_to_date:
            return self._is(State.OLDER if found.is_known else State.NEWER, found.current)
        try:
            await self._database.check_writes()
        except StoreUnavailable as error:
            return self._is(State.UNUSABLE, found.current, problem=error.detail)
        return self._is(State.UP_TO_DATE, found.current)

    def _is(self, state: State, revision: str | None = None, problem: str | None = None) -> DatabaseState:
        return DatabaseState(
            name=self._name,
            address=self._address,
            state=state,
            revision=revision,
            needed=self._schema.head,
            problem=problem,
        )


class Databases:
    """Both databases, by the settings."""

    def __init__(self, settings: Settings) -> None:
        self._all = (
            _Checked("object_store", settings.lessons_dsn, OBJECT_STORE, Store.LESSONS),
            _Checked("feedback_database", settings.feedback_dsn, FEEDBACK_DATABASE, Store.FEEDBACK),
        )

    async def look(self) -> list[DatabaseState]:
        """The state of each."""
        return [await one.look() for one in self._all]

    async def upgrade(self) -> list[DatabaseState]:
        """Runs the migrations that are missing; the states afterwards.

        Raises `StoreUnavailable`, `Failure` for a place where none can be, and `InvalidConfiguration` for a database
        that is newer than this program.
        """
        for one in self._all:
            await one.upgrade()
        return await self.look()
