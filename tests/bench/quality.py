"""How well alerts find their runbooks, and how well questions from other fields are refused.

    python -m tests.bench.quality --data DIR --out tests/bench/results/quality.json

DIR holds `lessons.jsonl` (`key`, `title`, `body`) and the alerts (`query`, `gold`). Everything that ranks is the
service's own: the embedders, the vector and text index, the sections, the fusion and the text query of an invoke.
Nothing is fitted to the texts.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import anyio
import numpy as np

from adapters.embedders.hashing_embedder import HashingEmbedder
from adapters.embedders.onnx_embedder import OnnxEmbedder
from adapters.lessons.memory_text_index import MemoryTextIndex
from adapters.vectors.memory_vector_index import MemoryVectorIndex
from application.incorporator.llm_matcher import CANDIDATES
from application.learner.embed import embedded_query
from application.learner.ports import LessonText, StoredVectors
from application.shared.ports import Embedder
from domain.incorporator.query import QueryInput, text_query
from domain.learner.lesson import Bin
from domain.learner.ranking import RERANKED, clamped, fused
from domain.learner.sections import texts_to_embed
from tests.bench import results

EMBEDDERS: dict[str, Callable[[], Embedder]] = {"hashing": HashingEmbedder, "onnx": OnnxEmbedder}
OFF_TOPIC = Path(__file__).parent / "data" / "off_topic.jsonl"


class Lesson(NamedTuple):
    key: str
    title: str
    body: str


class Alert(NamedTuple):
    query: str
    gold: str


class Ranking(NamedTuple):
    """Lesson keys, best first, and the largest similarity among those that the model would be offered."""

    keys: Sequence[str]
    similarity: float


def as_it_is(text: str) -> str:
    return text


def as_invoked(text: str, problem_type: str = "alert", key: str = "alert") -> str:
    """The text query that the service builds from an invoke with this text in its task context."""
    query = QueryInput(
        session_id="s", problem_solving_step_ref="p", problem_type=problem_type, current_task_context={key: text}
    )
    return text_query(query)


def as_labelled(text: str) -> str:
    """The same with labels beside the text, most of which are about the system and not about this alert."""
    labels = {"source": "prometheus", "severity": "warning", "job": "kube-state-metrics", "namespace": "payments"}
    query = QueryInput(
        session_id="s",
        problem_solving_step_ref="p",
        problem_type="kubernetes_alert",
        current_task_context={"message": text, "labels": labels},
    )
    return text_query(query)


FORMS: dict[str, Callable[[str], str]] = {
    "raw": as_it_is,
    "invoke: alert, alert": as_invoked,
    "invoke: incident, operation": lambda text: as_invoked(text, "incident", "operation"),
    "invoke: kubernetes_alert, description": lambda text: as_invoked(text, "kubernetes_alert", "description"),
    "invoke: problem, message": lambda text: as_invoked(text, "problem", "message"),
    "invoke: kubernetes_alert, message and labels": as_labelled,
}


class Library:
    """The lessons in the indices, as one vector each or as the service has them: one a section."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._whole = MemoryVectorIndex()
        self._sections = MemoryVectorIndex()
        self._texts = MemoryTextIndex()

    async def fill(self, lessons: Sequence[Lesson]) -> None:
        whole = [await self._stored(one.key, [f"{one.title}\n{one.body}"]) for one in lessons]
        parts = [await self._stored(one.key, texts_to_embed(one.title, one.body)) for one in lessons]
        for index, vectors in ((self._whole, whole), (self._sections, parts)):
            await index.prepare(self._embedder.name, self._embedder.dimension)
            await index.apply(vectors, [], 1)
        texts = [LessonText(lesson_id=one.key, bin=Bin.SKILLS, title=one.title, body=one.body) for one in lessons]
        await self._texts.apply(texts, [])

    async def whole_text(self, text: str) -> Ranking:
        return await self._nearest(self._whole, text, 1_000)

    async def best_section(self, text: str) -> Ranking:
        return await self._nearest(self._sections, text, 1_000)

    async def hybrid(self, text: str) -> Ranking:
        query = await embedded_query(self._embedder, text)
        cosines = {hit.lesson_id: hit.similarity for hit in await self._sections.nearest(query, RERANKED)}
        order = fused(cosines, await self._texts.lexical(text, list(cosines)))
        return Ranking(order, max(clamped(cosines[one]) for one in order[:CANDIDATES]))

    async def _nearest(self, index: MemoryVectorIndex, text: str, limit: int) -> Ranking:
        query = await embedded_query(self._embedder, text)
        hits = await index.nearest(query, limit)
        return Ranking([hit.lesson_id for hit in hits], clamped(hits[0].similarity))

    async def _stored(self, key: str, texts: Sequence[str]) -> StoredVectors:
        return StoredVectors(
            lesson_id=key,
            bin=Bin.SKILLS,
            embedder=self._embedder.name,
            dimension=self._embedder.dimension,
            count=len(texts),
            data=b"".join(await self._embedder.embed(texts)),
        )


async def quality(
    search: Callable[[str], Awaitable[Ranking]], alerts: Iterable[Alert], form: Callable[[str], str]
) -> dict[str, float]:
    """The share of alerts whose runbook comes first, and among the first five; the mean reciprocal rank."""
    ranks = []
    for alert in alerts:
        keys = (await search(form(alert.query))).keys
        ranks.append(keys.index(alert.gold) + 1 if alert.gold in keys else 10_000)
    return {
        "top_1": share(rank == 1 for rank in ranks),
        "top_5": share(rank <= 5 for rank in ranks),
        "mrr": round(statistics.fmean(1 / rank for rank in ranks), 3),
    }


async def refusal(
    library: Library, floor: float, alerts: Iterable[Alert], questions: Iterable[str], form: Callable[[str], str]
) -> dict[str, float]:
    """What happens without a language model: the first hit that is not below the floor is the match."""
    kept = [(await library.hybrid(form(alert.query))).similarity for alert in alerts]
    refused = [(await library.hybrid(form(question))).similarity for question in questions]
    return {
        "alerts_kept": share(similarity >= floor for similarity in kept),
        "off_topic_refused": share(similarity < floor for similarity in refused),
        "alerts_10th_percentile": round(float(np.percentile(kept, 10)), 3),
        "off_topic_95th_percentile": round(float(np.percentile(refused, 95)), 3),
    }


async def measured(
    embedder: Embedder, lessons: Sequence[Lesson], alerts: Sequence[Alert], questions: Sequence[str]
) -> dict[str, object]:
    library = Library(embedder)
    started = time.perf_counter()
    await library.fill(lessons)
    filled = time.perf_counter() - started
    stages = {"whole text": library.whole_text, "best section": library.best_section, "hybrid": library.hybrid}
    started = time.perf_counter()
    for alert in alerts:
        await embedder.embed([alert.query])
    embedded = time.perf_counter() - started
    return {
        "name": embedder.name,
        "relevance_floor": embedder.relevance_floor,
        "seconds_to_index": round(filled, 2),
        "ms_to_embed_a_query": round(1_000 * embedded / len(alerts), 3),
        "quality": {
            form: {stage: await quality(search, alerts, FORMS[form]) for stage, search in stages.items()}
            for form in FORMS
        },
        "refusal": {
            form: await refusal(library, embedder.relevance_floor, alerts, questions, FORMS[form]) for form in FORMS
        },
    }


def summary(figures: object, name: str = "") -> Iterator[tuple[str, object]]:
    """The innermost groups of figures, each with the path to it."""
    if not isinstance(figures, dict) or not any(isinstance(value, dict) for value in figures.values()):
        yield name, figures
        return
    for key, value in figures.items():
        yield from summary(value, f"{name} / {key}" if name else str(key))


def share(outcomes: Iterable[bool]) -> float:
    return round(statistics.fmean(outcomes), 3)


def rows(path: Path) -> list[Mapping[str, str]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


async def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="the directory with lessons.jsonl and the alerts")
    parser.add_argument("--queries", default="queries-dev.jsonl", help="the alerts' file in that directory")
    parser.add_argument("--out", type=Path, required=True, help="where to write the figures, as JSON")
    parser.add_argument("--embedder", action="append", choices=sorted(EMBEDDERS), help="default: all")
    given = parser.parse_args()
    lessons = [Lesson(row["key"], row["title"], row["body"]) for row in rows(given.data / "lessons.jsonl")]
    alerts = [Alert(row["query"], row["gold"]) for row in rows(given.data / given.queries)]
    questions = [row["query"] for row in rows(OFF_TOPIC)]
    figures: dict[str, dict[str, object]] = {}
    for name in given.embedder or EMBEDDERS:
        figures[name] = await measured(EMBEDDERS[name](), lessons, alerts, questions)
        print(name, *(f"{key}: {value}" for key, value in summary(figures[name])), sep="\n  ")
    about = {
        "commit": results.commit(),
        "lessons": len(lessons),
        "alerts": len(alerts),
        "off_topic_questions": len(questions),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "embedders": figures,
    }
    given.out.write_text(json.dumps(about, indent=2, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    anyio.run(main)
