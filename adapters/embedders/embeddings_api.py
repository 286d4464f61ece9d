"""The wire format of `/v1/embeddings`, and what its refusals mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

import httpx
import msgspec
import numpy as np
from anyio import to_thread
from numpy.typing import NDArray

from adapters.api_calls import ApiError
from adapters.retry_policy import retry_after_s

_HINTS: Final = {
    401: " Check MG_EMBEDDER_API_KEY.",
    403: " Check what MG_EMBEDDER_API_KEY is allowed to do.",
    404: " Check MG_EMBEDDER_URL and MG_EMBEDDER_MODEL.",
}
_CONNECT_S: Final = 2.0
_LONGEST_MESSAGE: Final = 300


class _Embedding(msgspec.Struct):
    index: int
    embedding: list[float]


class _Embeddings(msgspec.Struct):
    data: list[_Embedding]


class EmbeddingsApi:
    """Sends single requests. Has no retries and no time limit but that of connecting: those are the caller's."""

    def __init__(self, *, url: str, model: str, api_key: str) -> None:
        self._url = _endpoint(url)
        self._host = urlsplit(url).hostname or ""
        self._model = model
        self._key = api_key
        headers = {"content-type": "application/json"} | ({"authorization": f"Bearer {api_key}"} if api_key else {})
        self._client = httpx.AsyncClient(headers=headers, timeout=httpx.Timeout(None, connect=_CONNECT_S))

    async def embeddings(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """float64[len(texts), dimension] as the model gives it. Raises `ApiError`."""
        body = msgspec.json.encode({"model": self._model, "input": texts, "encoding_format": "float"})
        try:
            response = await self._client.post(self._url, content=body)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            reason = type(error).__name__
            raise ApiError(f"The embedder at {self._host} is out of reach ({reason}).", retryable=True) from error
        if response.status_code != httpx.codes.OK:
            raise self._refusal(response)
        return await to_thread.run_sync(self._matrix, response.content, len(texts))

    async def aclose(self) -> None:
        await self._client.aclose()

    def _refusal(self, response: httpx.Response) -> ApiError:
        status = response.status_code
        said = _message(response.content) or response.reason_phrase
        said = " ".join((said.replace(self._key, "[key]") if self._key else said).split())[:_LONGEST_MESSAGE]
        hint = _HINTS.get(status, "")
        return ApiError(
            f"The embedder at {self._host} answered {status}: {said}.{hint}",
            retryable=status in {408, 409, 429} or status >= httpx.codes.INTERNAL_SERVER_ERROR,
            outage=status not in {400, 413, 422},
            retry_after_s=retry_after_s(response.headers),
        )

    def _matrix(self, content: bytes, number: int) -> NDArray[np.float64]:
        try:
            data = sorted(msgspec.json.decode(content, type=_Embeddings).data, key=lambda one: one.index)
            matrix = np.array([one.embedding for one in data], np.float64)
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            raise self._nonsense() from error
        if [one.index for one in data] != list(range(number)) or matrix.ndim != 2 or not matrix.shape[1]:
            raise self._nonsense()
        return matrix

    def _nonsense(self) -> ApiError:
        return ApiError(
            f"The embedder at {self._host} sent something else than one vector a text. Check MG_EMBEDDER_URL."
        )


def _endpoint(url: str) -> str:
    base = url.rstrip("/")
    if base.endswith("/embeddings"):
        return base
    return f"{base}/embeddings" if base.endswith("/v1") else f"{base}/v1/embeddings"


def _message(content: bytes) -> str:
    """What an error says, in the API's form; otherwise nothing."""
    try:
        error = msgspec.json.decode(content)["error"]
        said = error["message"] if isinstance(error, dict) else error
    except (msgspec.DecodeError, KeyError, TypeError, RecursionError):
        return ""
    return said if isinstance(said, str) else ""
