"""Every way in which the service says no.

    MemoryGridError
    ├── InvalidInput            the caller's data is not of the documented shape
    ├── NotFound
    │   ├── NoMatch             no promoted lesson applies to this problem
    │   ├── NoSelection         invoke was never called for this step and session
    │   ├── UnknownEntry        no feedback entry has this id
    │   ├── AnswerErased        what was answered under this idempotency key was erased with its lesson
    │   ├── UnknownLesson       no lesson has this id
    │   └── UnknownEscalation   no escalation has this id
    ├── Conflict
    │   ├── StaleVersion        the lesson has moved on since the caller read it
    │   ├── DecisionNotAllowed  the transition table does not allow this decision
    │   └── RequestInProgress   the same idempotency key is being worked on; try again
    ├── KeyReused               the idempotency key came before with another body
    ├── Unavailable             something outside does not answer; it may come back
    │   ├── StoreUnavailable    a database
    │   ├── VectorsUnavailable  the vector index
    │   ├── EmbedderUnavailable the embedder
    │   ├── LlmUnavailable      the language model: no key, a timeout or an API error
    │   └── DeliveryFailed      an escalation's target did not take the delivery
    ├── Overloaded              a queue is full; try again later
    ├── EmbedderMismatch        the stored vectors came from another embedder
    └── InvalidConfiguration    the settings or the rules file; names each offender

Each class has a stable `code`, which the entrypoints map to a status and clients may rely on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import msgspec


class FieldError(msgspec.Struct, frozen=True):
    """One thing wrong in the caller's data: where (a JSON path or a parameter's name) and what."""

    path: str
    message: str


class MemoryGridError(Exception):
    """The root. `detail` is one sentence for the person who reads the answer: what, where, what to do."""

    code: ClassVar[str] = "error"

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class InvalidInput(MemoryGridError):
    code = "invalid-input"

    def __init__(self, detail: str, errors: Sequence[FieldError] = ()) -> None:
        super().__init__(detail)
        self.errors = tuple(errors)


class NotFound(MemoryGridError):
    code = "not-found"


class NoMatch(NotFound):
    code = "no-match"


class NoSelection(NotFound):
    code = "no-selection"


class UnknownEntry(NotFound):
    code = "unknown-entry"


class UnknownLesson(NotFound):
    code = "unknown-lesson"


class AnswerErased(NotFound):
    """What was answered under an idempotency key was erased with its lesson."""

    code = "answer-erased"


class UnknownEscalation(NotFound):
    code = "unknown-escalation"


class Conflict(MemoryGridError):
    code = "conflict"


class StaleVersion(Conflict):
    code = "stale-version"


class DecisionNotAllowed(Conflict):
    code = "decision-not-allowed"


class RequestInProgress(Conflict):
    code = "request-in-progress"


class KeyReused(MemoryGridError):
    code = "idempotency-key-reused"


class Unavailable(MemoryGridError):
    code = "unavailable"


class StoreUnavailable(Unavailable):
    code = "store-unavailable"


class VectorsUnavailable(Unavailable):
    code = "vectors-unavailable"


class EmbedderUnavailable(Unavailable):
    code = "embedder-unavailable"


class LlmUnavailable(Unavailable):
    code = "llm-unavailable"


class DeliveryFailed(Unavailable):
    code = "delivery-failed"


class Overloaded(MemoryGridError):
    code = "overloaded"


class EmbedderMismatch(MemoryGridError):
    code = "embedder-mismatch"


class InvalidConfiguration(MemoryGridError):
    code = "invalid-configuration"
