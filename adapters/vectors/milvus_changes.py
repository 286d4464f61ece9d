"""What changes the vector index in Milvus. The order of the steps is what keeps several processes from harm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final

import anyio
import msgspec

from adapters.vectors.made_for import MadeFor
from adapters.vectors.milvus_collection import (
    INDEX,
    PREFIX,
    REVISION,
    Row,
    collection_name,
    embedder_of,
    index_row,
    indices_of,
    lesson_rows,
    of_bin,
    of_kind,
    of_lessons,
    removal_row,
    revision_row,
    schema_of,
)
from adapters.vectors.milvus_connection import NO_COLLECTION, UNREACHABLE, MilvusConnection
from application.learner.ports import StoredVectors
from domain.errors import VectorsUnavailable

_FIELDS: Final = ["id", "lesson_id", "revision"]
_OF_THE_STATE: Final = f"{of_kind(INDEX)} or {of_kind(REVISION)}"
_TRIES: Final = 10
_PAUSE_S: Final = 0.2


class State(msgspec.Struct, frozen=True):
    """What the index says of itself. `epoch` differs after each reset."""

    made_for: MadeFor
    revision: int
    epoch: str


async def opened(connection: MilvusConnection, made_for: MadeFor) -> State:
    """The state of the index for these vectors, created where there is none. Raises `EmbedderMismatch`."""
    own = collection_name(made_for)
    others = await _collections(connection)
    if own not in others:
        for other in others:
            await _check_empty(connection, other, made_for)
        return await _begun(connection, made_for)
    return await _state(connection, made_for) or await _begun(connection, made_for)


async def emptied(connection: MilvusConnection, made_for: MadeFor) -> State:
    """Whatever there was is gone."""
    for name in await _collections(connection):
        try:
            await connection.ask("drop_collection", name)
        except Exception:
            if await connection.ask("has_collection", name):
                raise
    return await _begun(connection, made_for)


async def check(connection: MilvusConnection, made_for: MadeFor) -> None:
    """That the index does not hold another embedder's vectors now. Raises `EmbedderMismatch`."""
    for name in await _collections(connection):
        if name != collection_name(made_for):
            await _check_empty(connection, name, made_for)


async def write(
    connection: MilvusConnection, expected: State, changes: Mapping[str, StoredVectors | None], revision: int
) -> None:
    """Writes these lessons' versions (None: their removal) as of `revision`, and deletes all others but later ones.

    Whoever writes looks again afterwards, for earlier versions and for later ones: of two that write side by side at
    least the one that looks last sees both, and deletes the earlier. Raises `EmbedderMismatch` or `VectorsUnavailable`
    where the index is no longer the expected one.
    """
    name = collection_name(expected.made_for)
    rows = await _rows_of_expected(connection, expected, of_lessons(changes))
    known = _revisions(rows)
    fresh = [lesson_id for lesson_id in changes if max(known.get(lesson_id, {0})) <= revision]
    if not fresh:
        return
    rows = [row for lesson_id in fresh for row in _version(lesson_id, changes[lesson_id], revision, expected)]
    await connection.call("upsert", name, data=rows)
    known = _revisions(await _query(connection, name, of_lessons(fresh), _FIELDS))
    earlier = [lesson_id for lesson_id in fresh if min(known.get(lesson_id, {revision})) < revision]
    later = [lesson_id for lesson_id in fresh if max(known.get(lesson_id, {revision})) > revision]
    if earlier:
        await connection.call("delete", name, filter=f"{of_lessons(earlier)} and revision < {revision}")
    if later:
        await connection.call("delete", name, filter=f"{of_lessons(later)} and revision == {revision}")


async def move_revision(connection: MilvusConnection, expected: State, revision: int) -> None:
    """The index reflects this revision, if not a later one."""
    name, epoch = collection_name(expected.made_for), expected.epoch
    await _rows_of_expected(connection, expected)
    await connection.call("upsert", name, data=[revision_row(epoch, revision, expected.made_for.dimension)])
    earlier = f"{of_kind(REVISION)} and lesson_id == '{epoch}' and revision < {revision}"
    await connection.call("delete", name, filter=earlier)


async def settle(connection: MilvusConnection, expected: State) -> None:
    """After many rows at once: searches and changes are faster when they are no longer only in the server's memory."""
    with suppress(Exception):  # it is the server's own affair, and real ones do not let everybody do it often
        await connection.ask("flush", collection_name(expected.made_for))


async def _begun(connection: MilvusConnection, made_for: MadeFor) -> State:
    """A new epoch. Where several processes begin one side by side, those that are in the way try again shortly."""
    for _ in range(_TRIES):
        try:
            return await _begin(connection, made_for)
        except Exception as error:
            if getattr(error, "code", UNREACHABLE) == UNREACHABLE:
                raise
        await anyio.sleep(_PAUSE_S)
    return await _begin(connection, made_for)


async def _begin(connection: MilvusConnection, made_for: MadeFor) -> State:
    name = collection_name(made_for)
    if not await connection.ask("has_collection", name):
        schema, indices = schema_of(connection.plain, made_for), indices_of(connection.plain)
        await connection.ask(
            "create_collection", name, schema=schema, index_params=indices, consistency_level="Session"
        )
    await connection.call("upsert", name, data=[index_row(made_for)])
    state = await _state(connection, made_for)
    if state is None:
        raise _emptied_meanwhile()
    return state


async def _collections(connection: MilvusConnection) -> list[str]:
    return [name for name in await connection.ask("list_collections") if name.startswith(PREFIX)]


async def _check_empty(connection: MilvusConnection, name: str, made_for: MadeFor) -> None:
    """Raises `EmbedderMismatch` where the collection, which is another embedder's, has vectors."""
    begun = await _query(connection, name, of_kind(INDEX), [*_FIELDS, "embedding"])
    if begun and await _query(connection, name, of_bin(None), _FIELDS, limit=1):
        MadeFor(embedder_of(begun[0]), len(begun[0]["embedding"])).check(made_for)


async def _rows_of_expected(connection: MilvusConnection, expected: State, others: str = "") -> list[Row]:
    """The rows that tell the state, and those of the condition `others`. Raises where the index is another by now."""
    condition = f"{others} or {_OF_THE_STATE}" if others else _OF_THE_STATE
    try:
        rows = await _query(connection, collection_name(expected.made_for), condition, [*_FIELDS, "bin"])
    except Exception as error:
        if getattr(error, "code", None) != NO_COLLECTION:
            raise
        await check(connection, expected.made_for)
        raise _emptied_meanwhile() from error
    state = _state_of(rows, expected.made_for)
    if state is None or state.epoch != expected.epoch:
        raise _emptied_meanwhile()
    return rows


def _emptied_meanwhile() -> VectorsUnavailable:
    return VectorsUnavailable("The vector index has been emptied in the meantime and will be filled again.")


async def _state(connection: MilvusConnection, made_for: MadeFor) -> State | None:
    rows = await _query(connection, collection_name(made_for), _OF_THE_STATE, [*_FIELDS, "bin"])
    return _state_of(rows, made_for)


def _state_of(rows: Sequence[Row], made_for: MadeFor) -> State | None:
    """Of several epochs that began side by side the one with the least name is the present one."""
    epochs = [row["lesson_id"] for row in rows if row["bin"] == INDEX]
    if not epochs:
        return None
    epoch = min(epochs)
    return State(made_for, max(row["revision"] for row in rows if row["lesson_id"] == epoch), epoch)


def _revisions(rows: Sequence[Row]) -> dict[str, set[int]]:
    """Which versions of each lesson there are."""
    found: dict[str, set[int]] = {}
    for row in rows:
        found.setdefault(row["lesson_id"], set()).add(row["revision"])
    return found


async def _query(
    connection: MilvusConnection, name: str, condition: str, fields: Sequence[str], **arguments: object
) -> list[Row]:
    """Rows as of now, whoever wrote them."""
    rows = await connection.call(
        "query", name, filter=condition, output_fields=list(fields), consistency_level="Strong", **arguments
    )
    return list(rows)


def _version(lesson_id: str, stored: StoredVectors | None, revision: int, expected: State) -> list[Row]:
    if stored is None:
        return [removal_row(lesson_id, revision, expected.made_for.dimension)]
    return lesson_rows(stored, revision)
