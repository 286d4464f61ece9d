"""All that is open is closed, whatever fails at the start or while closing."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import anyio
import pytest
from dependency_injector import providers
from litestar.testing import TestClient

from application.learner.ports import CatalogWatch
from domain.errors import StoreUnavailable
from domain.feedback import escalation
from entrypoints.apps import close_incorporator, close_learner, incorporator_app, learner_app
from entrypoints.container import IncorporatorContainer, LearnerContainer
from entrypoints.settings import Settings
from tests.fakes.examples import escalation as example
from tests.fakes.fake_embedder import FakeEmbedder
from tests.fakes.fake_target import ScriptedTarget
from tests.fakes.fake_text_index import FakeTextIndex
from tests.fakes.fake_vector_index import FakeVectorIndex
from tests.fakes.fake_watch import FakeWatch
from tests.fakes.scripted_llm import ScriptedLlm


class Part:
    """Notes that it was closed, and fails at it where it should. As a database it was never used."""

    is_open = False

    def __init__(self, name: str, closed: list[str], *, fails: bool = False) -> None:
        self._name = name
        self._closed = closed
        self._fails = fails

    async def aclose(self) -> None:
        self._closed.append(self._name)
        if self._fails:
            raise OSError(self._name)


class NotedWatch(CatalogWatch):
    def __init__(self, closed: list[str]) -> None:
        self._closed = closed

    def look(self) -> int:
        return 0

    def close(self) -> None:
        self._closed.append("watch")


class LostCatalog:
    async def refresh(self) -> None:
        raise StoreUnavailable("the object store is away")

    reconcile = refresh

    def promotion(self, lesson_id: str) -> None:
        """It knows of no lesson."""


LEARNER_PARTS = ["database", "embedder", "vectors", "watch"]


def replace(learner: LearnerContainer, names: Iterable[str], closed: list[str], *, fail: bool = False) -> None:
    for name in names:
        part = NotedWatch(closed) if name == "watch" else Part(name, closed, fails=fail)
        getattr(learner, name).override(providers.Object(part))


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (tmp_path / "rules.json").write_text('{"rules": []}')
    return Settings(
        feedback_dsn=f"sqlite+aiosqlite:///{tmp_path / 'feedback.db'}",
        lessons_dsn=f"sqlite+aiosqlite:///{tmp_path / 'lessons.db'}",
        lessons_root=str(tmp_path / "lessons"),
        dsl_match_rules_path=str(tmp_path / "rules.json"),
    )


@pytest.mark.parametrize("fail", [False, True])
async def test_every_part_of_the_learner_is_closed_whatever_becomes_of_the_others(
    settings: Settings, fail: bool
) -> None:
    learner, closed = LearnerContainer(settings=settings), list[str]()
    replace(learner, LEARNER_PARTS, closed, fail=fail)
    with suppress(OSError):
        await close_learner(learner)
    assert sorted(closed) == LEARNER_PARTS


@pytest.mark.parametrize("fail", [False, True])
async def test_every_part_of_the_incorporator_is_closed_whatever_becomes_of_the_others(
    settings: Settings, fail: bool
) -> None:
    container, closed = IncorporatorContainer(settings=settings), list[str]()
    replace(container.learner, LEARNER_PARTS, closed, fail=fail)
    for name in ("database", "llm"):
        getattr(container, name).override(providers.Object(Part(f"own {name}", closed, fails=fail)))
    targets = {number: Part(f"target {number}", closed, fails=fail) for number in (1, 2)}
    container.targets.override(providers.Object(targets))
    with suppress(OSError):
        await close_incorporator(container)
    assert sorted(closed) == sorted([*LEARNER_PARTS, "own database", "own llm", "target 1", "target 2"])


async def test_a_process_that_ends_gives_back_what_it_has_not_delivered(settings: Settings) -> None:
    container, now = IncorporatorContainer(settings=settings), datetime.now(timezone.utc)
    until = now + timedelta(seconds=15)
    row = example(created_at=now, next_attempt_at=now)
    assert await container.outbox().put([row], container.owner(), until)
    assert not await container.outbox().claim(row.path, "the next process", now, until, 1)
    await close_incorporator(container)
    next_process = IncorporatorContainer(settings=settings)
    assert list(await next_process.outbox().claim(row.path, next_process.owner(), now, until, 1)) == [row]
    await close_incorporator(next_process)


def test_a_feedback_database_that_nothing_used_is_not_made_by_closing_it(settings: Settings, tmp_path: Path) -> None:
    anyio.run(close_incorporator, IncorporatorContainer(settings=settings))
    assert not (tmp_path / "feedback.db").exists()


async def started(app: Any) -> str:
    """How the app answers the server that starts it."""
    answers: list[str] = []

    async def receive() -> dict[str, str]:
        return {"type": "lifespan.startup"}

    async def send(message: Any) -> None:
        answers.append(message["type"])

    with suppress(Exception):  # in a group, which Python 3.10 does not have
        await app({"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}, "app": app}, receive, send)
    return answers[0]


async def test_a_learners_start_that_fails_leaves_nothing_open(settings: Settings) -> None:
    learner, closed = LearnerContainer(settings=settings), list[str]()
    replace(learner, LEARNER_PARTS[1:], closed)
    learner.catalog.override(providers.Object(LostCatalog()))
    assert await started(learner_app(learner)) == "lifespan.startup.failed"
    assert sorted(closed) == LEARNER_PARTS[1:]


async def test_an_incorporators_start_that_fails_leaves_nothing_open(settings: Settings) -> None:
    container, closed = IncorporatorContainer(settings=settings), list[str]()
    replace(container.learner, LEARNER_PARTS[1:], closed)
    container.learner.catalog.override(providers.Object(LostCatalog()))
    assert await started(incorporator_app(container)) == "lifespan.startup.failed"
    assert sorted(closed) == LEARNER_PARTS[1:]


def test_adapters_that_have_what_their_port_asks_for_and_no_more_serve_and_are_closed(settings: Settings) -> None:
    container = IncorporatorContainer(settings=settings)
    learner = container.learner
    learner.embedder.override(providers.Object(FakeEmbedder()))
    learner.vectors.override(providers.Object(FakeVectorIndex()))
    learner.texts.override(providers.Object(FakeTextIndex()))
    learner.watch.override(providers.Object(FakeWatch()))
    container.llm.override(providers.Object(ScriptedLlm("{}")))
    container.targets.override(providers.Object({escalation.Path.HUMAN: ScriptedTarget("delivered")}))
    with TestClient(incorporator_app(container)) as client:
        assert client.get("/health").json() == {"status": "ok"}
