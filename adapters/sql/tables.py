"""The tables of both databases: the object store (lessons) and the feedback database.

One set of tables for every engine; what differs is in `types` and `dialects`. The migrations create them; a test holds
both against each other.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Index, Integer, MetaData, String, Table, UniqueConstraint

from adapters.sql.types import Blob, ExactText, Json, LongText, Sequence, Utc

LESSONS = MetaData()
FEEDBACK = MetaData()


def _id(name: str, *, primary_key: bool = False) -> Column[str]:
    return Column(name, ExactText(36), primary_key=primary_key, nullable=False)


lessons = Table(
    "lessons",
    LESSONS,
    _id("id", primary_key=True),
    Column("bin", String(20), nullable=False),
    Column("title", LongText, nullable=False),
    Column("body", LongText, nullable=False),
    Column("folded", LongText, nullable=False),
    Column("tags", Json, nullable=False),
    Column("dsl_payload", Json),
    Column("status", String(20), nullable=False),
    Column("version", Integer, nullable=False),
    Column("review_round", Integer, nullable=False),
    Column("source", LongText, nullable=False),
    Column("created_at", Utc, nullable=False),
    Column("updated_at", Utc, nullable=False),
    Column("disabled_by_escalation", Boolean, nullable=False),
    Index("ix_lessons_status", "status", "updated_at", "id"),
)

lesson_log = Table(
    "lesson_log",
    LESSONS,
    Column("seq", Sequence, primary_key=True, autoincrement=True),
    _id("lesson_id"),
    Column("event", String(40), nullable=False),
    Column("at", Utc, nullable=False),
    Column("actor", LongText, nullable=False),
    Column("detail", Json, nullable=False),
    Index("ix_lesson_log_lesson", "lesson_id", "seq"),
)

promoted_lessons = Table(
    "promoted_lessons",
    LESSONS,
    _id("lesson_id", primary_key=True),
    Column("bin", String(20), nullable=False),
    Column("title", LongText, nullable=False),
    Column("body", LongText, nullable=False),
    Column("tags", Json, nullable=False),
    Column("dsl_payload", Json),
    Column("version", Integer, nullable=False),
    Column("review_round", Integer, nullable=False),
    Column("promoted_at", Utc, nullable=False),
    Column("revision", BigInteger, nullable=False),
    Index("ix_promoted_lessons_revision", "revision"),
)

catalog_removals = Table(
    "catalog_removals",
    LESSONS,
    _id("lesson_id", primary_key=True),
    Column("revision", BigInteger, nullable=False),
    Index("ix_catalog_removals_revision", "revision"),
)

catalog_state = Table(
    "catalog_state",
    LESSONS,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("revision", BigInteger, nullable=False),
)

lesson_vectors = Table(
    "lesson_vectors",
    LESSONS,
    _id("lesson_id", primary_key=True),
    Column("embedder", ExactText(200), primary_key=True),
    Column("bin", String(20), nullable=False),
    Column("dimension", Integer, nullable=False),
    Column("count", Integer, nullable=False),
    Column("data", Blob, nullable=False),
)

applied_escalations = Table(
    "applied_escalations",
    LESSONS,
    _id("escalation_id", primary_key=True),
    _id("lesson_id"),
    Column("at", Utc, nullable=False),
)


def _idempotency(metadata: MetaData, name: str) -> Table:
    return Table(
        name,
        metadata,
        Column("digest", ExactText(64), primary_key=True),
        Column("fingerprint", ExactText(64), nullable=False),
        Column("at", Utc, nullable=False),
        Column("answer", LongText, nullable=False),
        Index(f"ix_{name}_at", "at"),
    )


lesson_requests = _idempotency(LESSONS, "lesson_requests")
feedback_requests = _idempotency(FEEDBACK, "feedback_requests")

feedback_entries = Table(
    "feedback_entries",
    FEEDBACK,
    Column("seq", Sequence, primary_key=True, autoincrement=True),
    _id("id"),
    Column("problem_solving_step_ref", ExactText(255), nullable=False),
    Column("session_id", ExactText(255), nullable=False),
    _id("lesson_skill_id"),
    Column("matched_entity_type", String(20), nullable=False),
    Column("selection_query", Json, nullable=False),
    Column("selection_context", Json, nullable=False),
    Column("result_flag", String(10), nullable=False),
    Column("usage_count", Integer, nullable=False),
    _id("transaction_log_ref"),
    Column("timestamp", Utc, nullable=False),
    Column("updated_at", Utc, nullable=False),
    Column("review_round", Integer, nullable=False),
    Column("matcher_used", String(10), nullable=False),
    Column("fallback_reason", String(40)),
    Column("failure_class", String(20)),
    Column("detail", Json),
    Column("failures_seen", Integer),
    Index("ux_feedback_entries_id", "id", unique=True),
    Index("ux_feedback_entries_outcome", "transaction_log_ref", unique=True),
    Index("ix_feedback_entries_step", "session_id", "problem_solving_step_ref", "seq"),
    Index("ix_feedback_entries_session", "session_id", "seq"),
    Index("ix_feedback_entries_lesson", "lesson_skill_id", "result_flag", "seq"),
    Index("ix_feedback_entries_flag", "result_flag", "seq"),
)

lesson_counters = Table(
    "lesson_counters",
    FEEDBACK,
    _id("lesson_id", primary_key=True),
    Column("review_round", Integer, primary_key=True, autoincrement=False),
    Column("usage_count", BigInteger, nullable=False),
    Column("success", BigInteger, nullable=False),
    Column("failure", BigInteger, nullable=False),
    Column("pending", BigInteger, nullable=False),
    Column("lesson_failures", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

escalations = Table(
    "escalations",
    FEEDBACK,
    _id("id", primary_key=True),
    _id("entry_id"),
    Column("report_number", Integer, nullable=False),
    Column("path", String(10), nullable=False),
    Column("target", LongText, nullable=False),
    _id("lesson_skill_id"),
    Column("review_round", Integer, nullable=False),
    Column("failure_count", Integer, nullable=False),
    Column("counters", Json, nullable=False),
    Column("state", String(20), nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("last_error", LongText),
    Column("created_at", Utc, nullable=False),
    Column("next_attempt_at", Utc, nullable=False),
    Column("delivered_at", Utc),
    Column("lease_owner", ExactText(100)),
    Column("lease_until", Utc),
    UniqueConstraint("entry_id", "report_number", "path", name="ux_escalations_report"),
    Index("ix_escalations_due", "state", "path", "next_attempt_at", "id"),
    Index("ix_escalations_state", "state", "id"),
    Index("ix_escalations_lesson", "lesson_skill_id", "id"),
)

misses = Table(
    "misses",
    FEEDBACK,
    Column("problem_type", ExactText(255), primary_key=True),
    Column("count", BigInteger, nullable=False),
    Column("last_at", Utc, nullable=False),
)
