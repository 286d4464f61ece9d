"""The tables and statements of the vector index on PostgreSQL with pgvector.

One row in `memorygrid_vector_index` says whose vectors there are and which catalog revision they reflect. The vectors
themselves are in tables named after the embedder, one partition a bin, so that a search of one bin reads an HNSW index
of that bin alone and no filter can starve it. `…_lessons` keeps for each lesson the revision as of which it was last
written or removed: what is older than that must not overwrite it.
"""

from __future__ import annotations

from typing import Final

from adapters.vectors.made_for import MadeFor
from domain.learner.lesson import Bin

LOCK: Final = "SELECT pg_advisory_xact_lock(hashtext('memorygrid vector index'))"
EXTENSION: Final = "CREATE EXTENSION IF NOT EXISTS vector"
EXTENSION_VERSION: Final = "SELECT extversion FROM pg_extension WHERE extname = 'vector'"

CREATE_STATE: Final = """
CREATE TABLE IF NOT EXISTS memorygrid_vector_index (
    id smallint PRIMARY KEY CHECK (id = 1),
    embedder text NOT NULL,
    dimension integer NOT NULL,
    revision bigint NOT NULL,
    epoch uuid NOT NULL
)
"""
STATE_IS_THERE: Final = (
    "SELECT EXISTS (SELECT FROM pg_tables "
    "WHERE schemaname = ANY(current_schemas(false)) AND tablename = 'memorygrid_vector_index')"
)
"""Read from the catalog itself: `to_regclass` may remember from before the lock that there is no such table."""

READ_STATE: Final = "SELECT embedder, dimension, revision, epoch FROM memorygrid_vector_index"
LOCK_STATE: Final = f"{READ_STATE} FOR UPDATE"
FORGET_STATE: Final = "DELETE FROM memorygrid_vector_index"
PUT_STATE: Final = "INSERT INTO memorygrid_vector_index VALUES (1, $1, $2, 0, gen_random_uuid()) RETURNING epoch"
MOVE_REVISION: Final = "UPDATE memorygrid_vector_index SET revision = $1 WHERE revision < $1"

MAINTENANCE_KB: Final = "SELECT setting::bigint FROM pg_settings WHERE name = 'maintenance_work_mem'"
SET_MAINTENANCE_KB: Final = "SELECT set_config('maintenance_work_mem', $1::bigint || 'kB', true)"
WITHOUT_WORKERS: Final = "SET LOCAL max_parallel_maintenance_workers = 0"

SESSION: Final = {
    "application_name": "memorygrid",
    "hnsw.iterative_scan": "strict_order",
    "hnsw.ef_search": "200",
    "hnsw.max_scan_tuples": "2147483647",
    "hnsw.scan_mem_multiplier": "1000",
    "plan_cache_mode": "force_custom_plan",
    "jit": "off",
}
"""Searches go on until they have what was asked for; the planner sees how much that is and does not compile."""

_MOST_INDEXED: Final = 2_000
_MOST_INDEXED_AS_HALVES: Final = 4_000
_MOST_INLINE: Final = 1_900
_VECTOR: Final = "$1::float4[]::vector"
_PARTITIONS: Final = {Bin.SKILLS: "skills", Bin.KNOWLEDGE: "knowledge"}


class PgvectorTables:
    """The names and statements for one embedder's vectors. `$1` is the query vector in searches.

    The names are made of hexadecimal digits only, and everything else is a parameter.
    """

    def __init__(self, made_for: MadeFor) -> None:
        self._dimension = made_for.dimension
        self.vectors = vectors = f"memorygrid_vectors_{made_for.digest}"
        self._lessons = lessons = f"{vectors}_lessons"
        self.drop = f"DROP TABLE IF EXISTS {vectors}, {lessons}"
        self.has_any = f"SELECT EXISTS (SELECT FROM {vectors})"  # noqa: S608
        self.known = f"SELECT lesson_id, revision FROM {lessons} WHERE lesson_id = ANY($1)"  # noqa: S608
        self.delete = f"DELETE FROM {vectors} WHERE lesson_id = ANY($1)"  # noqa: S608
        self.remember = (
            f"INSERT INTO {lessons} SELECT unnest($1::text[]), $2 "
            "ON CONFLICT (lesson_id) DO UPDATE SET revision = excluded.revision"
        )
        self.most_in_a_bin = f"SELECT max(number) FROM (SELECT count(*) AS number FROM {vectors} GROUP BY bin) AS bins"  # noqa: S608
        self.similarities = (
            f"SELECT lesson_id, max({self._cosine}) FROM {vectors} "  # noqa: S608
            "WHERE lesson_id = ANY($2) GROUP BY lesson_id"
        )
        self.index_is_there = (
            "SELECT EXISTS (SELECT FROM pg_indexes "  # noqa: S608
            f"WHERE schemaname = ANY(current_schemas(false)) AND indexname = '{self._index}')"
        )

    @property
    def _cosine(self) -> str:
        """0 where either vector is zero, for which pgvector has no number."""
        return f"coalesce(nullif(1 - (embedding <=> {_VECTOR}), 'NaN'), 0)"

    @property
    def _index(self) -> str:
        return f"{self.vectors}_hnsw"

    @property
    def create(self) -> list[str]:
        """The tables, empty and without an index for searches."""
        vectors = self.vectors
        columns = (
            'lesson_id text COLLATE "C", part integer, bin text, '
            f"embedding vector({self._dimension}) NOT NULL, PRIMARY KEY (lesson_id, part, bin)"
        )
        statements = [
            f"CREATE TABLE {vectors} ({columns}) PARTITION BY LIST (bin)",
            f'CREATE TABLE {self._lessons} (lesson_id text COLLATE "C" PRIMARY KEY, revision bigint NOT NULL)',
        ]
        if self._dimension <= _MOST_INLINE:
            statements.append(f"ALTER TABLE {vectors} ALTER embedding SET STORAGE PLAIN")
        for bin, name in _PARTITIONS.items():
            statements.append(f"CREATE TABLE {vectors}_{name} PARTITION OF {vectors} FOR VALUES IN ('{bin.value}')")
        return statements

    @property
    def create_index(self) -> str | None:
        """None where vectors are too long to be indexed: then every search reads all of them."""
        if self._dimension <= _MOST_INDEXED:
            key = "embedding vector_cosine_ops"
        elif self._dimension <= _MOST_INDEXED_AS_HALVES:
            key = f"(embedding::halfvec({self._dimension})) halfvec_cosine_ops"
        else:
            return None
        return f"CREATE INDEX {self._index} ON {self.vectors} USING hnsw ({key})"

    def nearest(self, bin: Bin | None) -> str:
        """The `$2` nearest vectors with their cosines, best first, equal ones by lesson id."""
        source = self.vectors if bin is None else f"{self.vectors}_{_PARTITIONS[bin]}"
        distance = f"embedding <=> {_VECTOR}"
        if _MOST_INDEXED < self._dimension <= _MOST_INDEXED_AS_HALVES:
            halves = f"halfvec({self._dimension})"
            distance = f"embedding::{halves} <=> {_VECTOR}::{halves}"
        return (
            f"SELECT lesson_id, {self._cosine} AS cosine FROM {source} "  # noqa: S608
            f"ORDER BY {distance}, lesson_id LIMIT $2"
        )

    def first(self, bin: Bin | None) -> str:
        """The first `$1` lessons by id."""
        source = self.vectors if bin is None else f"{self.vectors}_{_PARTITIONS[bin]}"
        return f"SELECT DISTINCT lesson_id FROM {source} ORDER BY lesson_id LIMIT $1"  # noqa: S608
