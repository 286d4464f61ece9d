"""What every embedder keeps to: the port's contract over the fake and the real adapters.

Another adapter joins by a line in `EMBEDDERS`.
"""

from __future__ import annotations

import math
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import cache
from typing import NamedTuple

import anyio
import anyio.lowlevel
import pytest

from adapters.embedders.hashing_embedder import HashingEmbedder
from adapters.embedders.http_embedder import HttpEmbedder
from adapters.embedders.onnx_embedder import OnnxEmbedder
from application.shared.ports import Embedder
from tests.contract.parameters import over
from tests.fakes.embeddings_stand_in import EmbeddingsStandIn
from tests.fakes.fake_embedder import FakeEmbedder
from tests.integration.embedders.extra import require_onnx


class Case(NamedTuple):
    """An embedder under test, and what it promises beyond the port."""

    open: Callable[[pytest.FixtureRequest], AbstractAsyncContextManager[Embedder]]
    works_off_the_loop: bool = True


@asynccontextmanager
async def _fake(_: pytest.FixtureRequest) -> AsyncIterator[Embedder]:
    yield FakeEmbedder()


@asynccontextmanager
async def _hashing(_: pytest.FixtureRequest) -> AsyncIterator[Embedder]:
    yield HashingEmbedder()


@asynccontextmanager
async def _http(_: pytest.FixtureRequest) -> AsyncIterator[Embedder]:
    with EmbeddingsStandIn() as stand_in:
        embedder = HttpEmbedder(url=stand_in.url, model="word-counts")
        await embedder.open()
        yield embedder
        await embedder.aclose()


@cache
def _packaged_model() -> OnnxEmbedder:
    return OnnxEmbedder()


@asynccontextmanager
async def _onnx(_: pytest.FixtureRequest) -> AsyncIterator[Embedder]:
    require_onnx()
    yield _packaged_model()


EMBEDDERS = {
    "fake": Case(_fake, works_off_the_loop=False),
    "hashing": Case(_hashing),
    "http": Case(_http),
    "onnx": Case(_onnx),
}

ODD_TEXTS = [
    "",
    " \n\t",
    "\0",
    "!?…",
    "a",
    "the of and",
    "ÄÖÜ ß ﬁ Ｆｕｌｌ",
    "重试上传失败的文件",
    "повторить загрузку",
    "أعد المحاولة",
    "फिर से कोशिश करें",
    "🚀🔥",
    "CamelCase_and-snake/path.py:12",
    "x" * 5_000,
    "word " * 5_000,
]


@pytest.fixture(params=over(EMBEDDERS))
async def embedder(request: pytest.FixtureRequest) -> AsyncIterator[Embedder]:
    async with EMBEDDERS[request.param].open(request) as opened:
        yield opened


def numbers(embedder: Embedder, vector: bytes) -> tuple[float, ...]:
    return struct.unpack(f"<{embedder.dimension}f", vector)


def cosine(embedder: Embedder, left: bytes, right: bytes) -> float:
    return sum(one * other for one, other in zip(numbers(embedder, left), numbers(embedder, right), strict=True))


async def test_it_says_what_it_is(embedder: Embedder) -> None:
    assert embedder.name
    assert embedder.dimension > 0
    assert 0.0 <= embedder.relevance_floor < 1.0


async def test_no_texts_give_no_vectors(embedder: Embedder) -> None:
    assert list(await embedder.embed([])) == []


@pytest.mark.parametrize("text", ODD_TEXTS)
async def test_a_vector_is_of_length_one_or_zero(embedder: Embedder, text: str) -> None:
    (vector,) = await embedder.embed([text])
    values = numbers(embedder, vector)
    assert all(map(math.isfinite, values))
    length = math.sqrt(sum(value * value for value in values))
    assert length == pytest.approx(1.0, abs=1e-4) or length == 0.0


async def test_vectors_come_in_the_order_of_the_texts(embedder: Embedder) -> None:
    texts = [f"retry upload number {number} of the report" for number in range(50)]
    together = await embedder.embed(texts)
    for text, vector in zip(texts, together, strict=True):
        (alone,) = await embedder.embed([text])
        assert cosine(embedder, alone, vector) == pytest.approx(1.0, abs=1e-4)


async def test_the_same_text_gives_the_same_bytes(embedder: Embedder) -> None:
    text = "Retry uploads with exponential backoff. 重试 🚀"
    assert list(await embedder.embed([text])) == list(await embedder.embed([text]))


async def test_what_is_about_the_same_is_more_similar(embedder: Embedder) -> None:
    query, near, far = await embedder.embed(
        ["the upload failed, retry the upload", "retry an upload that failed", "bake bread with sourdough at home"]
    )
    assert cosine(embedder, query, near) > cosine(embedder, query, far)


async def test_a_mean_is_of_length_one_and_goes_by_weight(embedder: Embedder) -> None:
    one, other = await embedder.embed(["retry the upload", "renew the certificate"])
    sums = [3 * a + 4 * b for a, b in zip(numbers(embedder, one), numbers(embedder, other), strict=True)]
    length = math.sqrt(sum(value * value for value in sums))
    expected = [value / length for value in sums]
    assert numbers(embedder, embedder.mean([one, other], [3, 4])) == pytest.approx(expected, abs=1e-6)


async def test_a_vector_without_features_leaves_the_mean_to_the_others(embedder: Embedder) -> None:
    (one,) = await embedder.embed(["retry the upload"])
    nothing = bytes(4 * embedder.dimension)
    assert numbers(embedder, embedder.mean([nothing, one], [5, 1])) == pytest.approx(numbers(embedder, one), abs=1e-6)
    assert embedder.mean([nothing, nothing], [5, 1]) == nothing


async def test_callers_side_by_side_get_their_own(embedder: Embedder) -> None:
    texts = [f"lesson {number} " + "about uploads and retries " * (number % 7) for number in range(24)]
    expected = [list(await embedder.embed([text])) for text in texts]
    answers: dict[int, list[bytes]] = {}

    async def ask(number: int) -> None:
        answers[number] = list(await embedder.embed([texts[number]]))

    async with anyio.create_task_group() as tasks:
        for number in range(len(texts)):
            tasks.start_soon(ask, number)
    assert [answers[number] for number in range(len(texts))] == expected


@pytest.mark.parametrize("case", over(name for name, case in EMBEDDERS.items() if case.works_off_the_loop))
async def test_a_long_batch_leaves_the_event_loop_free(request: pytest.FixtureRequest, case: str) -> None:
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await anyio.lowlevel.checkpoint()
            ticks += 1

    async with EMBEDDERS[case].open(request) as embedder, anyio.create_task_group() as tasks:
        tasks.start_soon(tick)
        await embedder.embed(["Retry uploads with exponential backoff. " * 50] * 40)
        tasks.cancel_scope.cancel()
    assert ticks > 1
