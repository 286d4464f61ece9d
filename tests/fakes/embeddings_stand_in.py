"""A local stand-in of `/v1/embeddings`: a real HTTP server that answers as it is told, well or badly."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Sequence

from tests.fakes.anthropic_stand_in import Answer, AnthropicStandIn, Behaviour, Request

DIMENSION = 48


def embeddings(vectors: Sequence[Sequence[float]], *, backwards: bool = False) -> Answer:
    """A well-formed answer with these vectors; `backwards`: the last one first."""
    data = [{"object": "embedding", "index": index, "embedding": vector} for index, vector in enumerate(vectors)]
    body = {"object": "list", "data": data[::-1] if backwards else data, "model": "m", "usage": {"total_tokens": 1}}
    return Answer(body=json.dumps(body).encode(), headers={"content-type": "application/json"})


def word_counts(text: str, dimension: int = DIMENSION) -> list[float]:
    """How often the words of each of `dimension` groups occur."""
    counts = [0.0] * dimension
    for word in re.findall(r"\w+|\S", text.casefold()):
        counts[zlib.crc32(word.encode()) % dimension] += 1.0
    return counts


def counting(dimension: int = DIMENSION, *, backwards: bool = False) -> Behaviour:
    """Answers with the word counts of the texts that were sent, which are not of length 1."""

    def behave(request: Request) -> Answer:
        return embeddings([word_counts(text, dimension) for text in request.body["input"]], backwards=backwards)

    return behave


class EmbeddingsStandIn(AnthropicStandIn):
    """Counts words unless it is told otherwise."""

    def __init__(self) -> None:
        super().__init__()
        self.will(counting())

    def texts(self) -> list[list[str]]:
        """What each request asked for."""
        return [request.body["input"] for request in self.requests]
