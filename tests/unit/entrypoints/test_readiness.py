"""What readiness tells of derived data, and of the rules file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from adapters.embedders.last_failure import LastFailure
from domain.errors import EmbedderUnavailable
from entrypoints.container import IncorporatorContainer
from entrypoints.readiness import LearnerReadiness
from entrypoints.settings import Settings
from tests.fakes.system import Learner
from tests.fakes.unsteady import UnsteadyEmbedder


async def problems(learner: Learner) -> dict[str, tuple[bool, bool]]:
    """Of each check, whether all is well, and whether it is vital."""
    checks = await LearnerReadiness(store=learner.store, catalog=learner.catalog)()
    return {check.name: (check.problem is None, check.vital) for check in checks}


async def test_where_all_is_well_every_check_says_so() -> None:
    learner = Learner()
    await learner.promoted()
    assert await problems(learner) == {
        "object_store": (True, True),
        "embedder": (True, False),
        "vectors": (True, False),
        "lessons_folder": (True, False),
    }


async def test_an_index_that_became_another_embedders_is_a_vital_problem() -> None:
    learner = Learner()
    await learner.promoted()
    other = Learner(store=learner.store, vectors=learner.vectors, embedder=UnsteadyEmbedder("another-v2"))
    await other.catalog.reindex()
    await learner.promoted()
    assert (await problems(learner))["embedder"] == (False, True)


class HonestEmbedder(UnsteadyEmbedder):
    """Tells how its last call ended."""

    def __init__(self) -> None:
        super().__init__()
        self._last = LastFailure()

    def problem(self) -> str | None:
        return self._last.detail

    async def embed(self, texts: Sequence[str]) -> Sequence[bytes]:
        with self._last.noted():
            return await super().embed(texts)


async def test_an_embedder_that_fails_is_told_without_taking_text_matches_away_until_it_is_back() -> None:
    embedder = HonestEmbedder()
    learner = Learner(embedder=embedder)
    await learner.promoted()
    embedder.away = True
    with pytest.raises(EmbedderUnavailable):
        await embedder.embed(["a question"])
    assert (await problems(learner))["embedder"] == (False, False)
    await learner.catalog.reconcile()
    assert (await problems(learner))["embedder"] == (False, False)
    embedder.away = False
    await learner.catalog.reconcile()
    assert (await problems(learner))["embedder"] == (True, False)


async def test_a_store_that_takes_no_writes_is_a_vital_problem() -> None:
    learner = Learner()
    await learner.promoted()
    learner.store.fails = {"check_writes"}
    assert (await problems(learner))["object_store"] == (False, True)


def test_a_rules_file_that_is_set_and_missing_is_a_problem_and_the_default_one_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert IncorporatorContainer(settings=Settings()).rules().problem() is None
    for given in (Settings(dsl_match_rules_path="nope.json"), Settings(dsl_match_rules_path=str(tmp_path / "no.json"))):
        problem = IncorporatorContainer(settings=given).rules().problem()
        assert f"no rules file at {given.dsl_match_rules_path} (MG_DSL_MATCH_RULES_PATH)" in (problem or "")
