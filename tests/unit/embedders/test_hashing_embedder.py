from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import anyio
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.embedders.hashing_embedder import HashingEmbedder

SAMPLE = [
    "Retry uploads with exponential backoff",
    "KubePodCrashLooping: pod payments/checkout is in waiting state",
    "повторить загрузку, 重试上传失败的文件 🚀",
    "word " * 1_000 + "upload " * 77,
]


async def cosine(one: str, other: str) -> float:
    left, right = (np.frombuffer(vector, "<f4") for vector in await HashingEmbedder().embed([one, other]))
    return float(left @ right)


async def digest() -> str:
    return hashlib.sha256(b"".join(await HashingEmbedder().embed(SAMPLE))).hexdigest()


async def test_vectors_never_change_under_one_name() -> None:
    assert HashingEmbedder().name == "hashing-v1"
    assert await digest() == "7741517b9b62836449860f3b19e67eab827efb251bff606ccb256cc03fe6b7ec"


def test_another_process_gives_the_same_bytes() -> None:
    code = "import anyio, tests.unit.embedders.test_hashing_embedder as test; print(anyio.run(test.digest))"
    for seed in ("1", "2"):
        told = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert told.stdout.strip() == anyio.run(digest)


@pytest.mark.parametrize(
    ("query", "near", "far"),
    [
        ("the upload failed", "uploading fails", "the download succeeded"),
        ("CrashLoopBackOff", "crash loop back off", "image pull back off"),
        ("kubernetes", "kubernetis", "prometheus"),
        ("повторить загрузку", "повторная загрузка", "остановить сервер"),
        ("上传失败", "文件上传失败", "文件下载成功"),
        ("storage is degraded", "degraded storage", "degraded service"),
    ],
)
async def test_related_texts_are_more_similar(query: str, near: str, far: str) -> None:
    assert await cosine(query, near) > await cosine(query, far) + 0.05


async def test_the_order_of_words_counts() -> None:
    assert await cosine("node memory", "node memory") > await cosine("node memory", "memory node")


async def test_texts_without_anything_in_common_are_near_orthogonal() -> None:
    assert abs(await cosine("retry uploads with backoff", "flamingos eat shrimp")) < 0.15


@pytest.mark.parametrize("text", ["", " ", "\0", "?!…"])
async def test_a_text_without_words_is_all_zeros(text: str) -> None:
    (vector,) = await HashingEmbedder().embed([text])
    assert vector == bytes(4 * 1_024)


@given(st.text(max_size=200))
async def test_any_text_has_a_vector_of_length_one_or_zero(text: str) -> None:
    (vector,) = await HashingEmbedder().embed([text])
    length = float(np.linalg.norm(np.frombuffer(vector, "<f4").astype(np.float64)))
    assert length == 0.0 or length == pytest.approx(1.0, abs=1e-6)
