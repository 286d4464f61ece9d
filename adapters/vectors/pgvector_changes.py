"""What changes the vector index on PostgreSQL; every function works inside the caller's transaction."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, TypeAlias

import asyncpg
import msgspec

from adapters.vectors.made_for import MadeFor
from adapters.vectors.pgvector_rows import copy_rows
from adapters.vectors.pgvector_tables import (
    CREATE_STATE,
    EXTENSION,
    EXTENSION_VERSION,
    FORGET_STATE,
    LOCK,
    LOCK_STATE,
    MAINTENANCE_KB,
    MOVE_REVISION,
    PUT_STATE,
    READ_STATE,
    SET_MAINTENANCE_KB,
    STATE_IS_THERE,
    WITHOUT_WORKERS,
    PgvectorTables,
)
from application.learner.ports import StoredVectors
from domain.errors import VectorsUnavailable

Connection: TypeAlias = "asyncpg.Connection"

_OLDEST_EXTENSION: Final = (0, 8)
_GRAPH_BYTES: Final = 1_024
"""What HNSW keeps for a vector beside itself, at the most."""

_LEAST_KB: Final = 64 << 10
_MOST_KB: Final = 2 << 20


class State(msgspec.Struct, frozen=True):
    """What the index says of itself. `epoch` differs after each reset."""

    made_for: MadeFor
    revision: int
    epoch: object


async def opened(connection: Connection, made_for: MadeFor) -> State:
    """The state of the index for these vectors, created where there is none. Raises `EmbedderMismatch`."""
    state = await _state(connection)
    if state is None or state.made_for != made_for:
        await connection.execute(LOCK)
        state = await _state(connection)
    if state is not None and state.made_for != made_for:
        if await connection.fetchval(PgvectorTables(state.made_for).has_any):
            state.made_for.check(made_for)
        state = None
    return state or await emptied(connection, made_for)


async def emptied(connection: Connection, made_for: MadeFor) -> State:
    """Whatever there was is gone."""
    await connection.execute(LOCK)
    await connection.execute(EXTENSION)
    version = await connection.fetchval(EXTENSION_VERSION)
    if tuple(map(int, re.findall(r"\d+", version)[:2])) < _OLDEST_EXTENSION:
        raise VectorsUnavailable(
            f"pgvector {version} is too old, 0.8 is needed: install it and run ALTER EXTENSION vector UPDATE."
        )
    await connection.execute(CREATE_STATE)
    earlier = await _state(connection)
    for one in {made_for, earlier.made_for if earlier else made_for}:
        await connection.execute(PgvectorTables(one).drop)
    for statement in PgvectorTables(made_for).create:
        await connection.execute(statement)
    await connection.execute(FORGET_STATE)
    epoch = await connection.fetchval(PUT_STATE, made_for.embedder, made_for.dimension)
    return State(made_for, 0, epoch)


async def check(connection: Connection, made_for: MadeFor) -> None:
    """That the index still holds such vectors. Raises `EmbedderMismatch`."""
    state = await _state(connection)
    if state is not None:
        state.made_for.check(made_for)


async def write(
    connection: Connection, expected: State, changes: Mapping[str, StoredVectors | None], revision: int
) -> None:
    """Replaces these lessons' vectors (None: removes them) unless what is there is as of a later revision.

    Raises `EmbedderMismatch` or `VectorsUnavailable` where the index is no longer the expected one.
    """
    await _lock(connection, expected)
    tables = PgvectorTables(expected.made_for)
    known = dict(await connection.fetch(tables.known, list(changes)))
    fresh = [lesson_id for lesson_id in changes if known.get(lesson_id, 0) <= revision]
    replaced = [lesson_id for lesson_id in fresh if lesson_id in known]
    if replaced:
        await connection.execute(tables.delete, replaced)
    rows = copy_rows(stored for lesson_id in fresh if (stored := changes[lesson_id]) is not None)
    await connection.copy_to_table(tables.vectors, source=rows, format="binary")
    await connection.execute(tables.remember, fresh, revision)


async def move_revision(connection: Connection, expected: State, revision: int) -> None:
    """The index reflects this revision, if not a later one."""
    await _lock(connection, expected)
    await connection.execute(MOVE_REVISION, revision)


async def index(connection: Connection, expected: State) -> None:
    """Lets searches be fast, if they are not yet."""
    await _lock(connection, expected)
    tables = PgvectorTables(expected.made_for)
    if tables.create_index is None or await connection.fetchval(tables.index_is_there):
        return
    await _give_memory(connection, tables, expected.made_for.dimension)
    try:
        async with connection.transaction():
            await connection.execute(tables.create_index)
    except (asyncpg.DiskFullError, asyncpg.OutOfMemoryError):
        # Workers share memory that containers have little of (64 MB); one alone does without it.
        await connection.execute(WITHOUT_WORKERS)
        await connection.execute(tables.create_index)


async def _give_memory(connection: Connection, tables: PgvectorTables, dimension: int) -> None:
    """As much as the graph of the larger bin takes, within bounds: built on disk it takes many times as long."""
    vectors = await connection.fetchval(tables.most_in_a_bin) or 0
    wanted = min(vectors * (4 * dimension + _GRAPH_BYTES) // 1024 + _LEAST_KB, _MOST_KB)
    if wanted > await connection.fetchval(MAINTENANCE_KB):
        await connection.execute(SET_MAINTENANCE_KB, wanted)


async def _lock(connection: Connection, expected: State) -> None:
    """Keeps everybody else from changing the index until the transaction ends."""
    row = await connection.fetchrow(LOCK_STATE)
    if row is not None:
        MadeFor(row["embedder"], row["dimension"]).check(expected.made_for)
    if row is None or row["epoch"] != expected.epoch:
        raise VectorsUnavailable("The vector index has been emptied in the meantime and will be filled again.")


async def _state(connection: Connection) -> State | None:
    row = await connection.fetchrow(READ_STATE) if await connection.fetchval(STATE_IS_THERE) else None
    return row and State(MadeFor(row["embedder"], row["dimension"]), row["revision"], row["epoch"])
