"""The first tables of the feedback database."""

from __future__ import annotations

import sqlalchemy as sa

from adapters.sql.migrations.steps import create_index, create_table
from adapters.sql.types import ExactText, Json, LongText, Utc

revision = "feedback_0001"
down_revision = None


def upgrade() -> None:
    create_table(
        "escalations",
        sa.Column("id", ExactText(length=36), nullable=False),
        sa.Column("entry_id", ExactText(length=36), nullable=False),
        sa.Column("report_number", sa.Integer(), nullable=False),
        sa.Column("path", sa.String(length=10), nullable=False),
        sa.Column("target", LongText(), nullable=False),
        sa.Column("lesson_skill_id", ExactText(length=36), nullable=False),
        sa.Column("review_round", sa.Integer(), nullable=False),
        sa.Column("failure_count", sa.Integer(), nullable=False),
        sa.Column("counters", Json(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("last_error", LongText(), nullable=True),
        sa.Column("created_at", Utc(), nullable=False),
        sa.Column("next_attempt_at", Utc(), nullable=False),
        sa.Column("delivered_at", Utc(), nullable=True),
        sa.Column("lease_owner", ExactText(length=100), nullable=True),
        sa.Column("lease_until", Utc(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("entry_id", "report_number", "path", name="ux_escalations_report"),
    )
    create_index("ix_escalations_due", "escalations", ["state", "path", "next_attempt_at", "id"])
    create_index("ix_escalations_state", "escalations", ["state", "id"])
    create_index("ix_escalations_lesson", "escalations", ["lesson_skill_id", "id"])
    create_table(
        "feedback_entries",
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("id", ExactText(length=36), nullable=False),
        sa.Column("problem_solving_step_ref", ExactText(length=255), nullable=False),
        sa.Column("session_id", ExactText(length=255), nullable=False),
        sa.Column("lesson_skill_id", ExactText(length=36), nullable=False),
        sa.Column("matched_entity_type", sa.String(length=20), nullable=False),
        sa.Column("selection_query", Json(), nullable=False),
        sa.Column("selection_context", Json(), nullable=False),
        sa.Column("result_flag", sa.String(length=10), nullable=False),
        sa.Column("usage_count", sa.Integer(), nullable=False),
        sa.Column("transaction_log_ref", ExactText(length=36), nullable=False),
        sa.Column("timestamp", Utc(), nullable=False),
        sa.Column("updated_at", Utc(), nullable=False),
        sa.Column("review_round", sa.Integer(), nullable=False),
        sa.Column("matcher_used", sa.String(length=10), nullable=False),
        sa.Column("fallback_reason", sa.String(length=40), nullable=True),
        sa.Column("failure_class", sa.String(length=20), nullable=True),
        sa.Column("detail", Json(), nullable=True),
        sa.Column("failures_seen", sa.Integer(), nullable=True),
        sa.PrimaryKeyConstraint("seq"),
        numbered=True,
    )
    create_index("ix_feedback_entries_flag", "feedback_entries", ["result_flag", "seq"])
    create_index("ix_feedback_entries_lesson", "feedback_entries", ["lesson_skill_id", "result_flag", "seq"])
    create_index("ix_feedback_entries_session", "feedback_entries", ["session_id", "seq"])
    create_index(
        "ix_feedback_entries_step", "feedback_entries", ["session_id", "problem_solving_step_ref", "seq"], unique=False
    )
    create_index("ux_feedback_entries_id", "feedback_entries", ["id"], unique=True)
    create_index("ux_feedback_entries_outcome", "feedback_entries", ["transaction_log_ref"], unique=True)
    create_table(
        "feedback_requests",
        sa.Column("digest", ExactText(length=64), nullable=False),
        sa.Column("fingerprint", ExactText(length=64), nullable=False),
        sa.Column("at", Utc(), nullable=False),
        sa.Column("answer", LongText(), nullable=False),
        sa.PrimaryKeyConstraint("digest"),
    )
    create_index("ix_feedback_requests_at", "feedback_requests", ["at"])
    create_table(
        "lesson_counters",
        sa.Column("lesson_id", ExactText(length=36), nullable=False),
        sa.Column("review_round", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("usage_count", sa.BigInteger(), nullable=False),
        sa.Column("success", sa.BigInteger(), nullable=False),
        sa.Column("failure", sa.BigInteger(), nullable=False),
        sa.Column("pending", sa.BigInteger(), nullable=False),
        sa.Column("lesson_failures", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("lesson_id", "review_round"),
        sqlite_with_rowid=False,
    )
    create_table(
        "misses",
        sa.Column("problem_type", ExactText(length=255), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.Column("last_at", Utc(), nullable=False),
        sa.PrimaryKeyConstraint("problem_type"),
    )
