"""The one composition root: which adapter stands behind which port, and how the use cases are put together."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path as FilePath

from dependency_injector import containers, providers

from adapters.embedders.hashing_embedder import HashingEmbedder
from adapters.feedback.sql_feedback_store import SqlFeedbackStore
from adapters.feedback.sql_kept_answers import SqlKeptAnswers
from adapters.feedback.sql_miss_store import SqlMissStore
from adapters.feedback.sql_outbox import SqlOutbox
from adapters.lessons.memory_text_index import MemoryTextIndex
from adapters.lessons.skill_folder import SkillFolder
from adapters.lessons.sql_lesson_store import SqlLessonStore
from adapters.lessons.watch import PeriodicWatch, SqliteWatch
from adapters.llm.anthropic_llm import AnthropicLlm
from adapters.rules.file_rules import FileRules
from adapters.sql.database import Database
from adapters.sql.schema import FEEDBACK_DATABASE, OBJECT_STORE
from adapters.system.clock import SystemClock, TimeOrderedIds
from adapters.targets.learner_targets import LearnerHumanReview, LearnerRemediation
from adapters.targets.webhook_signer import WebhookSigner
from adapters.vectors.memory_vector_index import MemoryVectorIndex
from application.feedback.deliver import DeliverEscalation, Dispatcher
from application.feedback.escalate import Escalate
from application.feedback.misses import CountMisses
from application.feedback.ports import EscalationTarget
from application.feedback.queries import ReadMetrics
from application.feedback.report import Report, UpdateFeedback
from application.incorporator.apply import Apply
from application.incorporator.dsl_matcher import DslMatcher
from application.incorporator.erase import EraseLessonAndAnswers
from application.incorporator.explain import ExplainMatch
from application.incorporator.invoke import Invoke
from application.incorporator.llm_matcher import LlmMatcher
from application.incorporator.match import Match
from application.incorporator.record import RecordFeedback
from application.learner.catalog import Catalog
from application.learner.embed import EmbedLessons
from application.learner.escalations import EscalateLesson
from application.learner.inject import InjectLessons
from application.learner.ports import CatalogWatch, VectorIndex
from application.learner.review import EraseLesson, ReviewLesson
from application.learner.search import SearchLessons
from application.shared.ports import Embedder, Llm
from domain.feedback.escalation import EscalationPolicy, Path, flagged_lesson_body, remediation_event_body
from domain.incorporator.match import FallbackReason
from entrypoints.settings import EmbedderKind, HilMode, RemediationMode, Settings, VectorBackend


def _object_store(dsn: str) -> Database:
    """In a function, since the tables would be copied with each container if they were a provider's argument."""
    return Database(dsn, OBJECT_STORE)


def _feedback_database(dsn: str) -> Database:
    """As above."""
    return Database(dsn, FEEDBACK_DATABASE)


def _watch(settings: Settings, database: Database) -> CatalogWatch:
    file = database.file
    return SqliteWatch(file) if file is not None else PeriodicWatch(settings.catalog_refresh_s)


def _embedder(settings: Settings) -> Embedder:
    """Only what is used is imported: the others are of extras, and slow."""
    if settings.embedder is EmbedderKind.ONNX:
        from adapters.embedders.onnx_embedder import OnnxEmbedder  # noqa: PLC0415

        return OnnxEmbedder(settings.embedder_model)
    if settings.embedder is EmbedderKind.HTTP:
        from adapters.embedders.http_embedder import HttpEmbedder  # noqa: PLC0415

        return HttpEmbedder(url=settings.embedder_url, model=settings.embedder_model, api_key=settings.embedder_api_key)
    return HashingEmbedder()


def _vector_index(settings: Settings) -> VectorIndex:
    """Only what is used is imported, as above."""
    if settings.vector_backend is VectorBackend.PGVECTOR:
        from adapters.vectors.pgvector_index import PgvectorIndex  # noqa: PLC0415

        return PgvectorIndex(settings.vector_dsn)
    if settings.vector_backend is VectorBackend.MILVUS:
        from adapters.vectors.milvus_index import MilvusIndex  # noqa: PLC0415

        return MilvusIndex(settings.vector_dsn)
    return MemoryVectorIndex()


def _llm(settings: Settings) -> Llm:
    return AnthropicLlm(
        api_key=settings.anthropic_api_key or None,
        model=settings.llm_model,
        base_url=settings.anthropic_base_url or None,
    )


def _rules(settings: Settings) -> FileRules:
    rules = FileRules(FilePath(settings.dsl_match_rules_path), expected=settings.names_rules_file)
    rules.load()
    return rules


def _floors(settings: Settings, embedder: Embedder) -> Mapping[FallbackReason, float]:
    """How similar a hit must be where the model's choice cannot be used."""
    if settings.fallback_min_similarity is not None:
        return dict.fromkeys(FallbackReason, settings.fallback_min_similarity)
    return _EmbedderFloors(embedder)


class _EmbedderFloors(Mapping[FallbackReason, float]):
    """The documented ones, and the embedder's own, which some only know once they have been opened."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def __getitem__(self, reason: FallbackReason) -> float:
        return self._embedder.relevance_floor if reason is FallbackReason.LLM_UNAVAILABLE else 0.0

    def __iter__(self) -> Iterator[FallbackReason]:
        return iter(FallbackReason)

    def __len__(self) -> int:
        return len(FallbackReason)


def _targets(settings: Settings, escalate: EscalateLesson, clock: SystemClock) -> Mapping[Path, EscalationTarget]:
    human: EscalationTarget = LearnerHumanReview(escalate=escalate)
    auto: EscalationTarget = LearnerRemediation(escalate=escalate)
    if settings.hil_mode is HilMode.HTTP or settings.auto_remediation_mode is RemediationMode.HTTP:
        from adapters.targets.http_target import HttpTarget  # noqa: PLC0415 - as above

        signer = WebhookSigner(settings.webhook_secret) if settings.webhook_secret else None
        target = partial(HttpTarget, clock=clock, signer=signer)
        if settings.hil_mode is HilMode.HTTP:
            human = target(
                base_url=settings.hil_base_url,
                path="/hil/flagged-lessons",
                body=flagged_lesson_body,
                authorization=settings.hil_auth_header or None,
            )
        if settings.auto_remediation_mode is RemediationMode.HTTP:
            auto = target(
                base_url=settings.workflow_engine_base_url,
                path="/events",
                body=remediation_event_body,
                authorization=settings.workflow_engine_auth_header or None,
            )
    return {Path.HUMAN: human, Path.AUTO: auto}


def _policy(settings: Settings, targets: Mapping[Path, EscalationTarget]) -> EscalationPolicy:
    return EscalationPolicy(
        threshold=settings.failure_threshold,
        mode=settings.reviewer_path_mode,
        targets={path: target.name for path, target in targets.items()},
        in_process=frozenset(path for path, target in targets.items() if target.in_process),
    )


class LearnerContainer(containers.DeclarativeContainer):
    """The Learner: lessons, review, promotion and the catalog that matching sees."""

    settings = providers.Dependency(instance_of=Settings)
    clock = providers.Singleton(SystemClock)
    new_id = providers.Singleton(TimeOrderedIds)
    database = providers.Singleton(_object_store, settings.provided.lessons_dsn)
    store = providers.Singleton(SqlLessonStore, database=database)
    watch = providers.Singleton(_watch, settings, database)
    embedder = providers.Singleton(_embedder, settings)
    vectors = providers.Singleton(_vector_index, settings)
    texts = providers.Singleton(MemoryTextIndex)
    files = providers.Singleton(SkillFolder, settings.provided.lessons_root)
    embed = providers.Singleton(EmbedLessons, embedder=embedder)
    catalog = providers.Singleton(
        Catalog,
        store=store,
        watch=watch,
        vectors=vectors,
        texts=texts,
        files=files,
        embedder=embedder,
        embed=embed,
    )
    search = providers.Singleton(
        SearchLessons,
        catalog=catalog,
        store=store,
        vectors=vectors,
        texts=texts,
        embedder=embedder,
        kind=settings.provided.search,
    )
    inject = providers.Singleton(InjectLessons, store=store, clock=clock, new_id=new_id)
    review = providers.Singleton(ReviewLesson, store=store, catalog=catalog, embed=embed, clock=clock)
    erase = providers.Singleton(EraseLesson, store=store, catalog=catalog, clock=clock)
    escalate = providers.Singleton(EscalateLesson, store=store, catalog=catalog, clock=clock)


class IncorporatorContainer(containers.DeclarativeContainer):
    """The Incorporator: match, apply, record, report, escalate; with the Learner that it works on."""

    settings = providers.Dependency(instance_of=Settings)
    learner: LearnerContainer = providers.Container(LearnerContainer, settings=settings)  # type: ignore[assignment]
    owner = providers.Singleton(lambda: f"{os.getpid()}-{uuid.uuid4()}")
    llm = providers.Singleton(_llm, settings)
    rules = providers.Singleton(_rules, settings)
    database = providers.Singleton(_feedback_database, settings.provided.feedback_dsn)
    store = providers.Singleton(SqlFeedbackStore, database=database, new_id=learner.new_id)
    answers = providers.Singleton(SqlKeptAnswers, database=database)
    erase = providers.Singleton(EraseLessonAndAnswers, erase=learner.erase, answers=answers)
    outbox = providers.Singleton(SqlOutbox, database=database)
    miss_store = providers.Singleton(SqlMissStore, database=database)
    misses = providers.Singleton(CountMisses, store=miss_store, clock=learner.clock)
    floors = providers.Singleton(_floors, settings, learner.embedder)
    dsl_matcher = providers.Singleton(DslMatcher, rules=rules, search=learner.search, catalog=learner.catalog)
    llm_matcher = providers.Singleton(LlmMatcher, search=learner.search, llm=llm, floors=floors)
    match = providers.Singleton(
        Match,
        mode=settings.provided.match_strategy_mode,
        dsl_matcher=dsl_matcher,
        llm_matcher=llm_matcher,
        catalog=learner.catalog,
        llm_timeout_s=settings.provided.llm_timeout_s,
    )
    explain = providers.Singleton(
        ExplainMatch,
        mode=settings.provided.match_strategy_mode,
        dsl_matcher=dsl_matcher,
        llm_matcher=llm_matcher,
        catalog=learner.catalog,
        llm_timeout_s=settings.provided.llm_timeout_s,
        allowed=settings.provided.allowed_actions,
    )
    apply = providers.Singleton(
        Apply,
        llm=llm,
        llm_timeout_s=settings.provided.llm_timeout_s,
        clock=learner.clock,
        new_id=learner.new_id,
        allowed=settings.provided.allowed_actions,
    )
    record = providers.Singleton(RecordFeedback, store=store, new_id=learner.new_id)
    invoke = providers.Singleton(
        Invoke,
        match=match,
        apply=apply,
        record=record,
        catalog=learner.catalog,
        store=store,
        misses=misses,
        llm_timeout_s=settings.provided.llm_timeout_s,
    )
    targets = providers.Singleton(_targets, settings, learner.escalate, learner.clock)
    policy = providers.Singleton(_policy, settings, targets)
    deliver = providers.Singleton(
        DeliverEscalation,
        outbox=outbox,
        targets=targets,
        clock=learner.clock,
        owner=owner,
        max_attempts=settings.provided.escalation_max_attempts,
    )
    dispatcher = providers.Singleton(Dispatcher, outbox=outbox, deliver=deliver, clock=learner.clock, owner=owner)
    escalate = providers.Singleton(
        Escalate,
        store=store,
        outbox=outbox,
        policy=policy,
        deliver=deliver,
        targets=targets,
        wake=dispatcher.provided.wake,
        clock=learner.clock,
        new_id=learner.new_id,
        owner=owner,
    )
    report = providers.Singleton(
        Report, store=store, policy=policy, escalate=escalate, clock=learner.clock, owner=owner
    )
    update = providers.Singleton(UpdateFeedback, store=store, clock=learner.clock, owner=owner)
    metrics = providers.Singleton(ReadMetrics, store=store)
