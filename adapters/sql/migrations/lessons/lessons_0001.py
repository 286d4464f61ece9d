"""The first tables of the object store."""

from __future__ import annotations

import sqlalchemy as sa

from adapters.sql.migrations.steps import create_index, create_table, insert_first_row
from adapters.sql.types import Blob, ExactText, Json, LongText, Utc

revision = "lessons_0001"
down_revision = None


def upgrade() -> None:
    create_table(
        "applied_escalations",
        sa.Column("escalation_id", ExactText(length=36), nullable=False),
        sa.Column("lesson_id", ExactText(length=36), nullable=False),
        sa.Column("at", Utc(), nullable=False),
        sa.PrimaryKeyConstraint("escalation_id"),
    )
    create_table(
        "catalog_removals",
        sa.Column("lesson_id", ExactText(length=36), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("lesson_id"),
    )
    create_index("ix_catalog_removals_revision", "catalog_removals", ["revision"])
    create_table(
        "catalog_state",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    create_table(
        "lesson_log",
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("lesson_id", ExactText(length=36), nullable=False),
        sa.Column("event", sa.String(length=40), nullable=False),
        sa.Column("at", Utc(), nullable=False),
        sa.Column("actor", LongText(), nullable=False),
        sa.Column("detail", Json(), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
        numbered=True,
    )
    create_index("ix_lesson_log_lesson", "lesson_log", ["lesson_id", "seq"])
    create_table(
        "lesson_requests",
        sa.Column("digest", ExactText(length=64), nullable=False),
        sa.Column("fingerprint", ExactText(length=64), nullable=False),
        sa.Column("at", Utc(), nullable=False),
        sa.Column("answer", LongText(), nullable=False),
        sa.PrimaryKeyConstraint("digest"),
    )
    create_index("ix_lesson_requests_at", "lesson_requests", ["at"])
    create_table(
        "lesson_vectors",
        sa.Column("lesson_id", ExactText(length=36), nullable=False),
        sa.Column("embedder", ExactText(length=200), nullable=False),
        sa.Column("bin", sa.String(length=20), nullable=False),
        sa.Column("dimension", sa.Integer(), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("data", Blob(), nullable=False),
        sa.PrimaryKeyConstraint("lesson_id", "embedder"),
    )
    create_table(
        "lessons",
        sa.Column("id", ExactText(length=36), nullable=False),
        sa.Column("bin", sa.String(length=20), nullable=False),
        sa.Column("title", LongText(), nullable=False),
        sa.Column("body", LongText(), nullable=False),
        sa.Column("folded", LongText(), nullable=False),
        sa.Column("tags", Json(), nullable=False),
        sa.Column("dsl_payload", Json(), nullable=True),
        sa.Column("status", sa.String(length=20), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("review_round", sa.Integer(), nullable=False),
        sa.Column("source", LongText(), nullable=False),
        sa.Column("created_at", Utc(), nullable=False),
        sa.Column("updated_at", Utc(), nullable=False),
        sa.Column("disabled_by_escalation", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    create_index("ix_lessons_status", "lessons", ["status", "updated_at", "id"])
    create_table(
        "promoted_lessons",
        sa.Column("lesson_id", ExactText(length=36), nullable=False),
        sa.Column("bin", sa.String(length=20), nullable=False),
        sa.Column("title", LongText(), nullable=False),
        sa.Column("body", LongText(), nullable=False),
        sa.Column("tags", Json(), nullable=False),
        sa.Column("dsl_payload", Json(), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("review_round", sa.Integer(), nullable=False),
        sa.Column("promoted_at", Utc(), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("lesson_id"),
    )
    create_index("ix_promoted_lessons_revision", "promoted_lessons", ["revision"])
    catalog_state = sa.table("catalog_state", sa.column("id", sa.Integer), sa.column("revision", sa.BigInteger))
    insert_first_row(catalog_state, {"id": 1, "revision": 0})
