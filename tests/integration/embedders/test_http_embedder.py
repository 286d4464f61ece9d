"""The embedder over HTTP against a local server: what it sends, what it makes of answers, how it fails and recovers."""

from __future__ import annotations

import asyncio
import logging
import math
import struct
import time
import traceback
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import anyio
import pytest

from adapters.embedders.calibration import PAIRS
from adapters.embedders.http_embedder import HttpEmbedder
from adapters.retry_policy import RetryPolicy
from domain.errors import EmbedderUnavailable, InvalidConfiguration
from tests.fakes.anthropic_stand_in import FOR_EVER, Answer, error
from tests.fakes.embeddings_stand_in import DIMENSION, EmbeddingsStandIn, counting, embeddings

KEY = "sk-kept-to-ourselves"


@pytest.fixture(autouse=True)
def _no_certificates(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-in speaks plain HTTP; reading the system's certificates takes each client 50 ms."""
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.setenv("SSL_CERT_DIR", str(Path(__file__).parent))


@pytest.fixture
def api() -> Iterator[EmbeddingsStandIn]:
    stand_in = EmbeddingsStandIn()
    with stand_in:
        yield stand_in


@pytest.fixture
async def embedder(api: EmbeddingsStandIn) -> AsyncIterator[HttpEmbedder]:
    opened = made(api)
    yield opened
    await opened.aclose()


def made(api: EmbeddingsStandIn, *, attempts: int = 3, timeout_s: float = 5.0, path: str = "") -> HttpEmbedder:
    retries = RetryPolicy(attempts=attempts, base_s=0.01)
    return HttpEmbedder(url=api.url + path, model="a-model", api_key=KEY, retries=retries, timeout_s=timeout_s)


def length(vector: bytes) -> float:
    return math.sqrt(sum(value * value for (value,) in struct.iter_unpack("<f", vector)))


async def refusal(embedder: HttpEmbedder, text: str = "a text") -> EmbedderUnavailable:
    with pytest.raises(EmbedderUnavailable) as refused:
        await embedder.embed([text])
    return refused.value


@pytest.mark.parametrize("path", ["", "/", "/v1", "/v1/", "/v1/embeddings"])
async def test_it_asks_the_documented_endpoint(api: EmbeddingsStandIn, path: str) -> None:
    embedder = made(api, path=path)
    await embedder.embed(["a text"])
    (request,) = api.requests
    assert request.path == "/v1/embeddings"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body == {"model": "a-model", "input": ["a text"], "encoding_format": "float"}
    await embedder.aclose()


async def test_without_a_key_none_is_sent(api: EmbeddingsStandIn) -> None:
    embedder = HttpEmbedder(url=api.url, model="a-model")
    await embedder.embed(["a text"])
    assert "authorization" not in api.requests[0].headers
    await embedder.aclose()


async def test_it_learns_dimension_and_floor_when_it_is_opened(api: EmbeddingsStandIn, embedder: HttpEmbedder) -> None:
    with pytest.raises(EmbedderUnavailable, match="not been reached yet"):
        _ = embedder.dimension
    assert embedder.name == "http:a-model"
    for _ in range(2):
        await embedder.open()
    assert embedder.dimension == DIMENSION
    assert 0 < embedder.relevance_floor < 1
    assert [len(texts) for texts in api.texts()] == [2 * len(PAIRS)]


async def test_many_texts_go_in_batches_and_come_back_in_order(api: EmbeddingsStandIn, embedder: HttpEmbedder) -> None:
    api.will(counting(backwards=True))
    texts = [f"text number {number}" for number in range(80)]
    together = await embedder.embed(texts)
    assert [len(sent) for sent in api.texts()] == [32, 32, 16]
    assert list(await embedder.embed(texts[70:71])) == [together[70]]
    assert all(length(vector) == pytest.approx(1.0, abs=1e-6) for vector in together)


async def test_blank_texts_are_not_sent_and_long_ones_cut(api: EmbeddingsStandIn, embedder: HttpEmbedder) -> None:
    await embedder.open()
    first, blank, last = await embedder.embed(["a", " \n", "word " * 5_000])
    assert blank == bytes(4 * DIMENSION)
    assert length(first) == length(last) == pytest.approx(1.0, abs=1e-6)
    assert [len(text) for text in api.texts()[-1]] == [1, 8_000]


async def test_a_blank_text_alone_is_a_vector_too(embedder: HttpEmbedder) -> None:
    assert await embedder.embed([""]) == [bytes(4 * DIMENSION)]


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503])
async def test_what_may_pass_is_tried_again(api: EmbeddingsStandIn, embedder: HttpEmbedder, status: int) -> None:
    api.will(error(status), None, counting())
    assert len(await embedder.embed(["a text"])) == 1
    assert len(api.requests) == 3


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
async def test_what_will_not_pass_is_not_tried_again(
    api: EmbeddingsStandIn, embedder: HttpEmbedder, status: int
) -> None:
    api.will(error(status, "it is so"))
    refused = await refusal(embedder)
    assert f"127.0.0.1 answered {status}: it is so." in refused.detail
    assert len(api.requests) == 1


async def test_a_short_retry_after_is_waited_for_and_a_long_one_is_not(api: EmbeddingsStandIn) -> None:
    embedder = made(api, timeout_s=1.0)
    api.will(error(429, retry_after_ms="200"), counting())
    started = time.monotonic()
    await embedder.embed(["a text"])
    assert time.monotonic() - started > 0.2
    api.will(error(429, retry_after="3600"))
    started = time.monotonic()
    await refusal(embedder)
    assert time.monotonic() - started < 0.5
    await embedder.aclose()


@pytest.mark.parametrize("answer", [Answer(delay_s=FOR_EVER), Answer(body=b"x" * 100, drip_s=0.1)])
async def test_the_time_limit_is_kept(api: EmbeddingsStandIn, answer: Answer) -> None:
    embedder = made(api, timeout_s=0.3)
    api.will(answer)
    started = time.monotonic()
    assert "0.3 s" in (await refusal(embedder)).detail
    assert time.monotonic() - started < 1
    await embedder.aclose()


async def test_a_dead_embedder_costs_milliseconds_and_is_asked_again_later(
    api: EmbeddingsStandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adapters.embedders.http_embedder._OPEN_S", 0.2)
    embedder = made(api, attempts=1)
    api.will(error(500))
    for _ in range(3):
        await refusal(embedder)
    asked = len(api.requests)
    started = time.monotonic()
    assert "3 times in a row" in (await refusal(embedder)).detail
    assert time.monotonic() - started < 0.05
    assert len(api.requests) == asked
    api.will(counting())
    await anyio.sleep(0.25)
    assert len(await embedder.embed(["a text"])) == 1
    await embedder.aclose()


async def test_how_the_last_call_ended_is_its_problem(api: EmbeddingsStandIn) -> None:
    embedder = made(api, attempts=1)
    assert embedder.problem() is None
    api.will(error(500))
    refused = await refusal(embedder)
    assert embedder.problem() == refused.detail
    for _ in range(3):
        await refusal(embedder)
    assert embedder.problem() == refused.detail
    await embedder.aclose()


async def test_a_problem_is_over_with_the_next_call_that_succeeds(
    api: EmbeddingsStandIn, embedder: HttpEmbedder
) -> None:
    await embedder.embed(["a text"])
    api.will(counting(DIMENSION + 1))
    refused = await refusal(embedder)
    assert embedder.problem() == refused.detail
    api.will(counting())
    await embedder.embed(["a text"])
    assert embedder.problem() is None


@pytest.mark.parametrize(
    "answer",
    [
        Answer(body=b"<html>"),
        Answer(body=b"{}"),
        Answer(body=b'{"data": []}'),
        Answer(body=b'{"data": [{"index": 0, "embedding": []}]}'),
        Answer(body=b'{"data": [{"index": 1, "embedding": [1.0]}]}'),
        Answer(body=b'{"data": [{"index": 0, "embedding": [NaN]}]}'),
        Answer(body=b'{"data": [{"index": 0, "embedding": "AAAA"}]}'),
        Answer(body=b"[" * 100_000),
        embeddings([[1.0, 0.0], [1.0]]),
        embeddings([[1.0], [1.0]]),
    ],
)
async def test_nonsense_is_no_vector(api: EmbeddingsStandIn, embedder: HttpEmbedder, answer: Answer) -> None:
    api.will(answer)
    assert "something else than one vector a text" in (await refusal(embedder)).detail


async def test_numbers_beyond_all_bounds_are_no_vector(api: EmbeddingsStandIn, embedder: HttpEmbedder) -> None:
    api.will(embeddings([[1e308, 1e308]]))
    assert "not finite" in (await refusal(embedder)).detail


async def test_another_dimension_than_before_is_refused(api: EmbeddingsStandIn, embedder: HttpEmbedder) -> None:
    await embedder.embed(["a text"])
    api.will(counting(DIMENSION + 1))
    refused = await refusal(embedder)
    assert f"{DIMENSION + 1} dimensions instead of {DIMENSION}" in refused.detail


@pytest.mark.parametrize("status", [400, 401, 500])
async def test_the_key_shows_nowhere(
    api: EmbeddingsStandIn, embedder: HttpEmbedder, caplog: pytest.LogCaptureFixture, status: int
) -> None:
    caplog.set_level(logging.DEBUG)
    api.will(error(status, f"wrong key {KEY}"))
    for _ in range(4):
        refused = await refusal(embedder)
    told = "".join(traceback.format_exception(refused)) + caplog.text + repr(embedder)
    assert KEY not in told


@pytest.mark.parametrize("key", ["sk-\n", "sk kept", "schlüssel"])
def test_a_key_that_cannot_be_one_is_refused_unseen(key: str) -> None:
    with pytest.raises(InvalidConfiguration) as refused:
        HttpEmbedder(url="http://127.0.0.1:1", model="m", api_key=key)
    assert "MG_EMBEDDER_API_KEY" in refused.value.detail
    assert key not in refused.value.detail


def test_each_event_loop_has_its_own_connections(api: EmbeddingsStandIn) -> None:
    embedder = made(api)
    first = asyncio.run(embedder.embed(["a text"]))
    assert first == asyncio.run(embedder.embed(["a text"]))
