"""Any OpenAI-compatible `/v1/embeddings`: hosted, or a model server of one's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import anyio
import numpy as np
from anyio import to_thread
from numpy.typing import NDArray

from adapters.api_calls import HEADER_SAFE, ApiCalls
from adapters.circuit_breaker import CircuitBreaker
from adapters.embedders.calibration import measured_floor, texts_to_calibrate_with
from adapters.embedders.embeddings_api import EmbeddingsApi
from adapters.embedders.last_failure import LastFailure
from adapters.embedders.numpy_means import NumpyMeans
from adapters.embedders.unit_vectors import unit_vectors
from adapters.per_event_loop import PerEventLoop
from adapters.retry_policy import RetryPolicy
from domain.errors import EmbedderUnavailable, InvalidConfiguration

_WHAT: Final = "The embedder"
_TIMEOUT_S: Final = 10.0
_THRESHOLD: Final = 3
_OPEN_S: Final = 2.0
_AT_ONCE: Final = 32
"""Texts in a request: more than that some servers refuse."""

_LONGEST_TEXT: Final = 8_000
"""Characters, about 2,000 tokens: what is longer is cut off, since servers refuse what exceeds their window."""


class HttpEmbedder(NumpyMeans):
    """Knows its dimension and its relevance floor once it has been reached: `open` sees to that.

    Each request has 10 s, retries included. A blank text is a vector of zeros and is not sent. May be used in several
    event loops. HTTP proxies are taken from the environment.
    """

    def __init__(
        self,
        *,
        url: str,
        model: str,
        api_key: str = "",
        retries: RetryPolicy | None = None,
        timeout_s: float = _TIMEOUT_S,
    ) -> None:
        """`url` is the service's base, with or without `/v1` or `/v1/embeddings`. Raises `InvalidConfiguration`."""
        if HEADER_SAFE.fullmatch(api_key) is None:
            raise InvalidConfiguration("MG_EMBEDDER_API_KEY has characters that no key has")
        self._model = model
        self._timeout_s = timeout_s
        circuit = CircuitBreaker(_WHAT, EmbedderUnavailable, threshold=_THRESHOLD, open_s=_OPEN_S)
        retries = retries or RetryPolicy(base_s=0.2)
        self._calls = ApiCalls(_WHAT, EmbedderUnavailable, retries=retries, circuit=circuit)
        self._clients = PerEventLoop(lambda: EmbeddingsApi(url=url, model=model, api_key=api_key))
        self._dimension: int | None = None
        self._floor: float | None = None
        self._opening = anyio.Lock()
        self._last = LastFailure()

    @property
    def name(self) -> str:
        return f"http:{self._model}"

    @property
    def dimension(self) -> int:
        if self._dimension is None:
            raise EmbedderUnavailable(
                f"{_WHAT} has not been reached yet, its dimension is not known: try again shortly."
            )
        return self._dimension

    @property
    def relevance_floor(self) -> float:
        """Measured when the model is first reached: see `calibration`. 0 until then."""
        return self._floor or 0.0

    def problem(self) -> str | None:
        return self._last.detail

    async def open(self) -> None:
        if self._floor is not None:
            return
        async with self._opening:
            if self._floor is None:
                self._floor = measured_floor(await self._embed(texts_to_calibrate_with()))

    async def embed(self, texts: Sequence[str]) -> Sequence[bytes]:
        sent = [text[:_LONGEST_TEXT] for text in texts if text.strip()]
        if len(sent) < len(texts):
            await self.open()
        vectors: list[bytes] = []
        for start in range(0, len(sent), _AT_ONCE):
            vectors += await self._embed(sent[start : start + _AT_ONCE])
        found = iter(vectors)
        return [next(found) if text.strip() else bytes(4 * self.dimension) for text in texts]

    async def aclose(self) -> None:
        """Closes the running event loop's connections; other loops close theirs when they end."""
        await self._clients.aclose()

    async def _embed(self, texts: Sequence[str]) -> list[bytes]:
        """One request's vectors, by the deadline, unless the circuit is open."""

        async def attempt() -> NDArray[np.float64]:
            return await (await self._clients.current()).embeddings(texts)

        if (refused := self._calls.problem()) is not None:
            raise EmbedderUnavailable(refused)
        with self._last.noted():
            deadline = anyio.current_time() + self._timeout_s
            matrix = await self._calls(attempt, deadline=deadline, timeout_s=self._timeout_s)
            self._check(matrix)
            return await to_thread.run_sync(unit_vectors, matrix, _WHAT)

    def _check(self, matrix: NDArray[np.float64]) -> None:
        """The first answer tells the dimension; another one later on would make vectors that cannot be compared."""
        dimension = matrix.shape[1]
        if self._dimension not in (None, dimension):
            raise EmbedderUnavailable(
                f"{_WHAT} ({self._model}) now answers with {dimension} dimensions instead of {self._dimension}: "
                "check MG_EMBEDDER_MODEL and what serves it"
            )
        self._dimension = dimension
