"""What the Learner needs from the outside.

The object store is the one that decides. The vector index, the text index and the lessons folder are derived from it,
carry the catalog revision that they reflect, and are brought up to date again by `Catalog`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

import msgspec

from application.shared.ports import IdempotencyRecord
from domain.learner.lesson import Bin, Lesson, PromotedLesson, Status
from domain.learner.log import LogEntry, QueuedLesson


class LessonFilter(msgspec.Struct, frozen=True, kw_only=True):
    """All given conditions hold. `text` is contained in title or body (case-folded)."""

    status: Status | None = None
    bin: Bin | None = None
    tag: str | None = None
    text: str | None = None


class LessonPage(msgspec.Struct, frozen=True, kw_only=True):
    """Newest first. `next_cursor` is opaque and None on the last page."""

    lessons: Sequence[Lesson]
    next_cursor: str | None


class LogPage(msgspec.Struct, frozen=True, kw_only=True):
    """Oldest first. `next_cursor` is as above."""

    entries: Sequence[LogEntry]
    next_cursor: str | None


class QueuePage(msgspec.Struct, frozen=True, kw_only=True):
    """Lessons that await review, longest waiting first, each with the reason. `next_cursor` is as above."""

    waiting: Sequence[tuple[Lesson, QueuedLesson]]
    next_cursor: str | None


class StoredVectors(msgspec.Struct, frozen=True, kw_only=True):
    """A lesson's embeddings: `count` vectors of the embedder's dimension, little-endian float32, one after the other.

    The first is the title's; each further one is the title's with one section of the body.
    """

    lesson_id: str
    bin: Bin
    embedder: str
    dimension: int
    count: int
    data: bytes


class LessonChange(msgspec.Struct, frozen=True, kw_only=True):
    """One stored change of a lesson, in one transaction: the row, its log entries and what becomes of its copy.

    `expected` is the row as it was read (None: it is new); another one in the store means that somebody was faster.
    """

    lesson: Lesson
    expected: Lesson | None
    log: Sequence[LogEntry]
    promote: PromotedLesson | None = None
    vectors: StoredVectors | None = None
    deletes_copy: bool = False
    escalation_id: str | None = None


class CatalogItem(msgspec.Struct, frozen=True, kw_only=True):
    """A promoted copy with its vectors (None: not embedded with this embedder yet), as derived data needs it."""

    copy: PromotedLesson
    vectors: StoredVectors | None


class CatalogDelta(msgspec.Struct, frozen=True, kw_only=True):
    """What changed between two catalog revisions: copies that are new or other, and ids whose copy is gone."""

    revision: int
    promoted: Sequence[CatalogItem]
    removed: Sequence[str]
    complete: bool = True


class LessonStore(Protocol):
    """The object store: lessons, logs, promoted copies, embeddings and the catalog revision.

    Every method raises `StoreUnavailable` where the database does not answer.
    """

    @abstractmethod
    async def get(self, lesson_id: str) -> Lesson:
        """Raises `UnknownLesson`."""

    @abstractmethod
    async def page(self, where: LessonFilter, limit: int, cursor: str | None) -> LessonPage:
        """Newest first. Raises `InvalidInput` for a cursor that this method has not given out."""

    @abstractmethod
    async def log_page(self, lesson_id: str, limit: int = 1_000, cursor: str | None = None) -> LogPage:
        """Up to `limit` entries, oldest first. Raises `UnknownLesson`, and `InvalidInput` as `page` does."""

    async def log(self, lesson_id: str) -> Sequence[LogEntry]:
        """All of them, oldest first, read page by page. Raises `UnknownLesson`."""
        page = await self.log_page(lesson_id)
        entries = list(page.entries)
        while page.next_cursor is not None:
            page = await self.log_page(lesson_id, cursor=page.next_cursor)
            entries += page.entries
        return entries

    @abstractmethod
    async def queue(self, limit: int = 1_000, cursor: str | None = None) -> QueuePage:
        """Up to `limit` lessons that await review. Raises `InvalidInput` as `page` does."""

    @abstractmethod
    async def add(self, changes: Sequence[LessonChange], request: IdempotencyRecord | None = None) -> bytes | None:
        """Stores new lessons, all or none, and with them the idempotency record.

        None: stored. Else the answer that was given before under the same key; then nothing was stored.
        Raises `KeyReused` when the key came before with another body.
        """

    @abstractmethod
    async def answered(self, request: IdempotencyRecord) -> bytes | None:
        """The answer kept under this scope and key, if it is younger than 24 h. Raises `KeyReused`, `AnswerErased`."""

    @abstractmethod
    async def forget_requests(self, before: datetime) -> None:
        """Deletes the idempotency records written before `before`."""

    @abstractmethod
    async def change(self, change: LessonChange) -> bool:
        """Stores a decision or an escalation's effect in one transaction, moving the catalog revision as needed.

        False, with nothing changed: the row is no longer as `expected`, so read again and decide anew.
        """

    @abstractmethod
    async def escalation_applied(self, escalation_id: str) -> bool:
        """Whether a change with this escalation id has been stored before (its effect must not come twice)."""

    @abstractmethod
    async def erase(self, lesson_id: str, entry: LogEntry) -> None:
        """Deletes lesson, copy, embeddings, the content of its log and the answers that show it.

        The keys of these answers stay taken: a replay raises `AnswerErased`. Raises `UnknownLesson`.
        """

    @abstractmethod
    async def copies(self, lesson_ids: Sequence[str]) -> dict[str, PromotedLesson]:
        """The promoted copies that exist of these lessons."""

    @abstractmethod
    async def revision(self) -> int:
        """The catalog revision: it moves with every change of a promoted copy, in that change's transaction."""

    async def check_writes(self) -> None:
        """Raises `StoreUnavailable` where nothing can be stored until somebody mends it; one that is busy passes."""
        return  # for those that cannot tell

    @abstractmethod
    async def changes_since(self, revision: int, embedder: str, limit: int) -> CatalogDelta:
        """Up to `limit` changes after `revision`, oldest first; `complete` is False while there are more.

        The delta's `revision` is the one reached by applying it. Below `revision` it is that of a store which was
        replaced, or restored from a backup: the delta is then empty.
        """

    @abstractmethod
    async def put_vectors(self, embedded: Sequence[CatalogItem]) -> None:
        """Stores embeddings of promoted copies (of an embedder that is new to them).

        Those of a copy that is no longer the lesson's present one are not stored.
        """

    @abstractmethod
    async def forget_vectors(self, keep: str) -> None:
        """Deletes the embeddings that do not come from the embedder named `keep`."""

    @abstractmethod
    async def embedders(self) -> Sequence[tuple[str, int]]:
        """Name and dimension of each embedder that stored vectors of promoted copies come from."""


class CatalogWatch(Protocol):
    """The cheap check of whether somebody may have moved the catalog revision."""

    @abstractmethod
    def look(self) -> int:
        """A number that differs from the last one where the revision should be read anew.

        Called on every invoke: microseconds, no waiting.
        """

    def close(self) -> None:
        """Closes what is held open, if anything."""
        return


class VectorHit(msgspec.Struct, frozen=True, kw_only=True):
    """A lesson and the cosine of its best section with the query, in [-1, 1]."""

    lesson_id: str
    similarity: float


class VectorIndex(Protocol):
    """The nearest lessons of a query vector. Every method raises `VectorsUnavailable` where the index is away."""

    async def reach(self) -> None:
        """Passes where the index can be reached. Makes nothing."""
        return  # for those that are in the process

    @abstractmethod
    async def prepare(self, embedder: str, dimension: int) -> int:
        """Opens the index for this embedder's vectors; the catalog revision that the index reflects (0: none).

        Raises `EmbedderMismatch` where it holds vectors of another embedder or dimension.
        """

    @abstractmethod
    async def nearest(self, query: bytes, limit: int, bin: Bin | None = None) -> Sequence[VectorHit]:
        """The `limit` most similar lessons, best first, each by its best vector; fewer only where there are no more.

        `query` is one float32 vector.
        """

    @abstractmethod
    async def similarities(self, query: bytes, lesson_ids: Sequence[str]) -> dict[str, float]:
        """The exact best cosine of each of these lessons that is in the index."""

    @abstractmethod
    async def apply(self, put: Sequence[StoredVectors], remove: Sequence[str], revision: int) -> None:
        """Replaces and removes whole lessons; afterwards the index reflects `revision`. Applying twice is harmless.

        While hundreds come at once an index may leave undone what makes searches fast, until a call brings fewer, or
        none at all.
        """

    @abstractmethod
    async def reset(self, embedder: str, dimension: int) -> None:
        """Empties the index for a rebuild with this embedder; it then reflects revision 0."""

    async def aclose(self) -> None:
        """Closes what is held open, if anything."""
        return


class LessonText(msgspec.Struct, frozen=True, kw_only=True):
    lesson_id: str
    bin: Bin
    title: str
    body: str


class TextHit(msgspec.Struct, frozen=True, kw_only=True):
    """A lesson whose title or body contains the query (both NFKC-normalised and case-folded)."""

    lesson_id: str
    in_title: bool


class TextIndex(Protocol):
    """Substrings and words of the promoted lessons; private to the process, filled from the object store."""

    @abstractmethod
    async def apply(self, put: Sequence[LessonText], remove: Sequence[str]) -> None:
        """Replaces and removes whole lessons."""

    @abstractmethod
    async def containing(self, query: str, bin: Bin | None = None) -> Sequence[TextHit]:
        """Every lesson that contains the query, in no particular order."""

    @abstractmethod
    async def lexical(self, query: str, lesson_ids: Sequence[str]) -> dict[str, float]:
        """The BM25 score (more is better, 0 for no common word) of each of these lessons for the query's words."""


class LessonFiles(Protocol):
    """The lessons folder in the open Agent Skills format: one `SKILL.md` a promoted lesson.

    Every method raises `StoreUnavailable` with the place and the reason where the folder cannot be used.
    """

    @abstractmethod
    async def revision(self) -> int:
        """The catalog revision that the folder reflects (0: none)."""

    @abstractmethod
    async def apply(self, put: Sequence[PromotedLesson], remove: Sequence[str], revision: int) -> None:
        """Writes, replaces and removes lessons' files, each atomically; afterwards the folder reflects `revision`.

        A lesson's earlier file under another name goes. Applying twice is harmless.
        """
