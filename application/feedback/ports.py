"""What feedback needs from the outside: its own database, the outbox in it, and the targets of escalations."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

import msgspec

from application.shared.ports import IdempotencyRecord
from domain.feedback.entry import FeedbackEntry, OutcomeReport, ResultFlag
from domain.feedback.escalation import Escalation, EscalationPolicy, Path, State
from domain.feedback.metrics import Counters


class RecordSelection(msgspec.Struct, frozen=True, kw_only=True):
    """The command that stores one selection: the entry, its counters and, if there is one, the idempotency record."""

    entry: FeedbackEntry
    request: IdempotencyRecord | None = None


class ReportOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The command that stores one report, with the escalations that `policy` finds due (None: none is stored).

    The rows for `owner`'s in-process targets start leased to it until `leased_until`.
    """

    report: OutcomeReport
    at: datetime
    policy: EscalationPolicy | None
    owner: str
    leased_until: datetime
    request: IdempotencyRecord | None = None


class Reported(msgspec.Struct, frozen=True, kw_only=True):
    """The entry after the report, and the escalations written with it. A replay has none."""

    entry: FeedbackEntry
    escalations: Sequence[Escalation] = ()


class EntryFilter(msgspec.Struct, frozen=True, kw_only=True):
    lesson_skill_id: str | None = None
    session_id: str | None = None
    result_flag: ResultFlag | None = None


class EntryPage(msgspec.Struct, frozen=True, kw_only=True):
    """Newest first. `next_cursor` is opaque and None on the last page."""

    entries: Sequence[FeedbackEntry]
    next_cursor: str | None


class FeedbackStore(Protocol):
    """The feedback database. One command is one transaction; every method raises `StoreUnavailable`."""

    @abstractmethod
    async def record(self, command: RecordSelection) -> bytes | None:
        """None once the selection is durable; else the answer kept under the same key (nothing was stored then).

        Raises `KeyReused`, `AnswerErased`, `RequestInProgress`, `Overloaded`.
        """

    @abstractmethod
    async def report(self, command: ReportOutcome) -> Reported:
        """Stores the report. Raises `NoSelection`, `KeyReused`, `RequestInProgress`, `Overloaded`."""

    @abstractmethod
    async def answered(self, request: IdempotencyRecord) -> bytes | None:
        """The answer kept under this scope and key, if it is younger than 24 h. Raises `KeyReused`, `AnswerErased`."""

    @abstractmethod
    async def get(self, entry_id: str) -> FeedbackEntry:
        """Raises `UnknownEntry`."""

    @abstractmethod
    async def page(self, where: EntryFilter, limit: int, cursor: str | None) -> EntryPage:
        """Newest first, in O(limit) at any depth. Raises `InvalidInput` for a cursor that is none of ours."""

    @abstractmethod
    async def counters(self, lesson_id: str | None = None) -> Mapping[str, Counters]:
        """Each lesson's counters over all its review rounds, pruned entries included."""

    @abstractmethod
    async def round_counters(self, lesson_id: str, review_round: int) -> Counters:
        """One lesson's counters of one review round; zeros where there are none."""

    @abstractmethod
    async def prune(self, before: datetime, limit: int) -> int:
        """Deletes up to `limit` entries last updated before `before`; how many. Counters stay."""

    @abstractmethod
    async def forget_requests(self, before: datetime) -> None:
        """Deletes the idempotency records written before `before`."""


class KeptAnswers(Protocol):
    """The answers that are kept for requests which are repeated under their key."""

    @abstractmethod
    async def erase_mentions(self, text: str) -> None:
        """Erases the answers that hold this text, as it stands in their JSON. A replay then raises `AnswerErased`.

        Takes time in proportion to the answers kept, in portions that nobody waits long for. Raises `StoreUnavailable`.
        """


class Miss(msgspec.Struct, frozen=True, kw_only=True):
    """How often a problem type found no match, and when last."""

    problem_type: str
    count: int
    last_at: datetime


class MissStore(Protocol):
    @abstractmethod
    async def add(self, misses: Sequence[Miss]) -> None:
        """Adds each count to what is stored for its problem type."""

    @abstractmethod
    async def most_frequent(self, limit: int) -> Sequence[Miss]:
        """Most frequent first."""

    @abstractmethod
    async def keep(self, most: int) -> None:
        """Forgets all but the `most` problem types that were met last."""


class EscalationFilter(msgspec.Struct, frozen=True, kw_only=True):
    lesson_skill_id: str | None = None
    state: State | None = None


class EscalationPage(msgspec.Struct, frozen=True, kw_only=True):
    """Newest first. `next_cursor` is opaque and None on the last page."""

    escalations: Sequence[Escalation]
    next_cursor: str | None


class Outbox(Protocol):
    """Escalations on their way. Several processes share it; a row belongs to the one whose lease on it runs."""

    @abstractmethod
    async def put(self, escalations: Sequence[Escalation], owner: str, leased_until: datetime) -> Sequence[Escalation]:
        """Stores those that are new by entry, report number and path, leased to `owner`; answers the new ones."""

    @abstractmethod
    async def claim(self, path: Path, owner: str, now: datetime, until: datetime, limit: int) -> Sequence[Escalation]:
        """Takes up to `limit` pending rows of a path that are due and that nobody holds, oldest first.

        A time more than `LONGEST_WAIT_S` ahead is of a clock that was put back since: it counts as reached.
        """

    @abstractmethod
    async def settle(self, escalation: Escalation, owner: str) -> bool:
        """Stores a delivery's result (state, attempts, error, times) and ends the lease.

        False where that result does not count: the lease has passed to somebody else, or the row was to be retried
        meanwhile and was not delivered by this attempt. Then it ends the lease, and the retry is due at once.
        """

    @abstractmethod
    async def release(self, owner: str) -> None:
        """Ends all leases of an owner that stops, so that nobody waits for their end. Results of its do not count."""

    @abstractmethod
    async def get(self, escalation_id: str) -> Escalation:
        """Raises `UnknownEscalation`."""

    @abstractmethod
    async def page(self, where: EscalationFilter, limit: int, cursor: str | None) -> EscalationPage:
        """Newest first. Raises `InvalidInput` for a cursor that is none of ours."""

    @abstractmethod
    async def retry(self, escalation_id: str, now: datetime) -> Escalation:
        """Makes a failed or waiting row due at once, with its attempts anew. Raises `UnknownEscalation`.

        Where an attempt is under way the row is due when that or its lease ends, and its failure does not count: a
        retry makes no two attempts side by side. A delivered or superseded row raises `Conflict`.
        """

    @abstractmethod
    async def prune(self, before: datetime, limit: int) -> int:
        """Deletes up to `limit` rows that were settled for good (delivered, superseded, failed) before `before`.

        How many. An entry's rows may go once the entry is gone: with them goes the memory of what was due for it.
        """

    @abstractmethod
    async def oldest_pending(self) -> datetime | None:
        """When the oldest row that is still pending was written."""

    async def check_writes(self) -> None:
        """Raises `StoreUnavailable` where nothing can be stored until somebody mends it; one that is busy passes."""
        return  # for those that cannot tell


class EscalationTarget(Protocol):
    """Where one path's escalations go: the Learner in this process, or an external service."""

    @property
    @abstractmethod
    def name(self) -> str:
        """As people see it: `learner_in_process`, `disable_via_learner`, or a service's address without any secret."""

    @property
    @abstractmethod
    def in_process(self) -> bool:
        """True where the request itself carries the effect out, at the cost of a database transaction."""

    @abstractmethod
    async def deliver(self, escalation: Escalation) -> State:
        """`DELIVERED`, or `SUPERSEDED` where a person has decided in the meantime. One effect an id, however often.

        Raises `DeliveryFailed` with what to show as `last_error`.
        """

    async def aclose(self) -> None:
        """Closes what is held open, if anything."""
        return
