"""The service with each vector store and embedder, chosen by settings alone."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from application.learner.catalog import Catalog
from domain.errors import EmbedderMismatch, InvalidConfiguration, VectorsUnavailable
from domain.learner.lesson import Bin, LessonDraft
from entrypoints.container import IncorporatorContainer
from entrypoints.library import Dependencies, build_dependencies
from entrypoints.settings import EmbedderKind, Settings, VectorBackend
from tests.fakes.embeddings_stand_in import EmbeddingsStandIn
from tests.integration.embedders.extra import require_onnx
from tests.integration.vectors.stores import KINDS, Kind
from tests.servers.fixtures import require
from tests.servers.process import ServerProcess

Configure = Callable[..., Settings]


@pytest.fixture
def configured(tmp_path: Path) -> Configure:
    def configure(**settings: object) -> Settings:
        places = {
            "lessons_dsn": f"sqlite+aiosqlite:///{tmp_path}/lessons.db",
            "feedback_dsn": f"sqlite+aiosqlite:///{tmp_path}/feedback.db",
            "lessons_root": str(tmp_path / "lessons"),
            "dsl_match_rules_path": str(tmp_path / "no_rules.json"),
        }
        return Settings(**(places | settings))  # type: ignore[arg-type]

    return configure


def backend_of(kind: Kind) -> VectorBackend:
    return VectorBackend(next(name for name, one in KINDS.items() if one is kind))


async def promoted(deps: Dependencies, title: str, bin: Bin = Bin.SKILLS) -> str:
    review = deps.learner_deps.review_service
    (lesson,) = await review.inject(LessonDraft(bin=bin, title=title, body=f"How to: {title}.", source="test"))
    await review.approve(lesson.id)
    return lesson.id


async def titles(deps: Dependencies, query: str) -> list[str]:
    return [hit.title for hit in await deps.learner_deps.skills_store.search(query)]


async def caught_up(catalog: Catalog) -> None:
    """Reconciles, as the service does all the time, until nothing is behind any more."""
    with anyio.fail_after(5):
        await catalog.reconcile()
        while catalog.problems:
            await anyio.sleep(0.1)
            await catalog.reconcile()


async def test_two_services_share_what_one_has_promoted(
    kind: Kind, server: ServerProcess, address: str, configured: Configure
) -> None:
    assert server.pid
    settings = configured(vector_backend=backend_of(kind), vector_dsn=address)
    async with build_dependencies(settings) as one, build_dependencies(settings) as other:
        lesson_id = await promoted(one, "Retry uploads with backoff")
        await promoted(one, "Bake bread with sourdough")
        assert (await titles(other, "the upload fails, retry it"))[0] == "Retry uploads with backoff"
        await other.learner_deps.review_service.disable(lesson_id)
        assert "Retry uploads with backoff" not in await titles(one, "the upload fails, retry it")


async def test_a_store_that_is_away_leaves_text_matches_and_comes_back(kind: Kind, configured: Configure) -> None:
    require(kind.server)
    with kind.server() as server:
        settings = configured(vector_backend=backend_of(kind), vector_dsn=kind.address(server, "vectors"))
        async with build_dependencies(settings) as deps:
            await promoted(deps, "Retry uploads with backoff")
            catalog = deps.container.learner.catalog()
            server.stop()
            await promoted(deps, "Retry downloads too")
            assert await titles(deps, "retry downloads") == ["Retry downloads too"]
            assert "vectors" in catalog.problems
            with pytest.raises(VectorsUnavailable):
                await deps.container.learner.search().most_similar("retry", 10)
            server.start()
            await caught_up(catalog)
            assert len(await titles(deps, "retrying an upload or a download")) == 2


async def test_another_embedder_is_refused_until_the_index_is_rebuilt(
    kind: Kind, server: ServerProcess, address: str, configured: Configure
) -> None:
    assert server.pid
    shared = {"vector_backend": backend_of(kind), "vector_dsn": address}
    async with build_dependencies(configured(**shared)) as deps:
        await promoted(deps, "Retry uploads with backoff")
    with EmbeddingsStandIn() as api:
        settings = configured(**shared, embedder=EmbedderKind.HTTP, embedder_url=api.url, embedder_model="words")
        async with build_dependencies(settings) as deps:
            with pytest.raises(EmbedderMismatch) as refused:
                await titles(deps, "retry")
            for part in ("hashing-v1", "http:words", "memorygrid reindex"):
                assert part in refused.value.detail
            assert await deps.container.learner.catalog().reindex() == 1
            assert await titles(deps, "uploads") == ["Retry uploads with backoff"]


async def test_a_sentence_model_is_chosen_by_a_setting(configured: Configure) -> None:
    require_onnx()
    async with build_dependencies(configured(embedder=EmbedderKind.ONNX)) as deps:
        await promoted(deps, "Retry uploads with exponential backoff")
        await promoted(deps, "Bake bread with sourdough")
        assert (await titles(deps, "sending the file keeps failing, should I try once more?"))[0].startswith("Retry")
        assert deps.learner_deps.embedder.name == "onnx:all-MiniLM-L6-v2-int8"


@pytest.mark.parametrize("backend", [VectorBackend.PGVECTOR, VectorBackend.MILVUS])
@pytest.mark.parametrize("dsn", ["", "mysql://me:kept@host/x", "nonsense"])
def test_a_wrong_address_stops_the_start(configured: Configure, backend: VectorBackend, dsn: str) -> None:
    with pytest.raises(InvalidConfiguration) as refused:
        configured(vector_backend=backend, vector_dsn=dsn)
    assert f"MG_VECTOR_DSN: needed with MG_VECTOR_BACKEND={backend.value}: " in refused.value.detail
    assert "expected" in refused.value.detail
    assert "kept" not in refused.value.detail


def test_a_missing_package_stops_the_start(configured: Configure, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adapters.vectors.milvus_connection.find_spec", lambda _: None)
    with pytest.raises(InvalidConfiguration, match=r"needs the extra \[milvus\]"):
        configured(vector_backend=VectorBackend.MILVUS, vector_dsn="http://127.0.0.1:19530")


def test_the_embedders_floor_is_read_when_it_is_needed(configured: Configure) -> None:
    settings = configured(embedder=EmbedderKind.HTTP, embedder_url="http://127.0.0.1:1", embedder_model="words")
    floors = IncorporatorContainer(settings=settings).floors()
    assert set(floors.values()) == {0.0}


def test_what_is_not_configured_is_not_imported() -> None:
    code = (
        "import sys\n"
        "import memorygrid_incorporator.main\n"
        "unused = {'asyncpg', 'pymilvus', 'grpc', 'onnxruntime', 'tokenizers', 'adapters.embedders.http_embedder',\n"
        "          'alembic', 'httpx', 'pydantic.main', 'sqlalchemy.dialects.mysql',\n"
        "          'sqlalchemy.dialects.postgresql', 'sqlalchemy.ext.asyncio'}\n"
        "assert not unused & set(sys.modules), unused & set(sys.modules)\n"
    )
    root = Path(__file__).parents[3]
    subprocess.run([sys.executable, "-c", code], check=True, cwd=root)
