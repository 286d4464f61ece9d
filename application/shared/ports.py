"""The ports that every context needs: time, ids, the language model, the embedder."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

import msgspec


class Clock(Protocol):
    @abstractmethod
    def now(self) -> datetime:
        """The present moment, aware, in UTC, with microseconds."""


class IdFactory(Protocol):
    @abstractmethod
    def __call__(self) -> str:
        """A new id that nobody else has: a UUID in its canonical 36 characters, time-ordered (version 7)."""


class IdempotencyRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Who asked for what under which key, and what the first answer was.

    `scope` is caller and route, `fingerprint` a digest of the body, `answer` the encoded first answer. It is kept for
    24 h and stored in the effect's own transaction, so that of two equal requests only one has an effect.
    """

    scope: str
    key: str
    fingerprint: str
    at: datetime
    answer: bytes = b""


class LlmReply(msgspec.Struct, frozen=True, kw_only=True):
    """What the model answered: its text as it came, and the tokens that it cost."""

    text: str
    input_tokens: int
    output_tokens: int


class LlmPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """One question to the model.

    `system` holds the instructions, `user` the data (already delimited), `schema` the JSON schema that the reply
    should follow, and `max_tokens` the longest reply that is worth waiting for.
    """

    system: str
    user: str
    schema: dict[str, object]
    max_tokens: int = 1024


class Llm(Protocol):
    async def open(self) -> None:
        """Gets ready, so that the first question does not pay for it. Never fails: `ask` says what is wrong."""
        return  # for those that have nothing to do

    @abstractmethod
    async def ask(self, prompt: LlmPrompt, timeout_s: float) -> LlmReply:
        """The model's reply within `timeout_s` seconds, retries included.

        Raises `LlmUnavailable`: no key, a timeout, an API error after the retries, a refusal, or an open circuit.
        """

    @abstractmethod
    def problem(self) -> str | None:
        """Why the model cannot be asked just now (no key, circuit open), or None where it can."""

    async def aclose(self) -> None:
        """Closes what is held open, if anything."""
        return


class Embedder(Protocol):
    """Texts to unit vectors. The same text gives the same vector on every machine and run."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Which embedder and model made the vectors, e.g. `hashing-v1`. Vectors of two names never mix."""

    @property
    @abstractmethod
    def dimension(self) -> int:
        """The length of every vector. Raises `EmbedderUnavailable` where that is only known after `open`."""

    @property
    @abstractmethod
    def relevance_floor(self) -> float:
        """The measured cosine below which a best hit is most likely no answer to the query; may move with `open`."""

    async def open(self) -> None:
        """Gets ready, and learns what only the model itself tells. Cheap the second time. Raises `EmbedderUnavailable`.

        `embed` does not need it.
        """
        return  # for those that have nothing to do

    @abstractmethod
    async def embed(self, texts: Sequence[str]) -> Sequence[bytes]:
        """One vector a text, in order: `dimension` little-endian float32, L2-normalised (all zeros for no features).

        Computed in batches and off the event loop. Raises `EmbedderUnavailable`.
        """

    def problem(self) -> str | None:
        """Why its last call failed, or None where that succeeded, or none was made yet."""
        return None  # for those that cannot fail

    @abstractmethod
    def mean(self, vectors: Sequence[bytes], weights: Sequence[int]) -> bytes:
        """The weighted mean of vectors of this embedder (one at least), of length 1 again; zeros where it is 0."""

    async def aclose(self) -> None:
        """Closes what is held open, if anything."""
        return
