"""Alembic's entry: runs the migrations over the connection that `adapters.sql.schema` hands in."""

from __future__ import annotations

from alembic import context

from adapters.sql.schema import Schema

_schema: Schema = context.config.attributes["schema"]

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=_schema.metadata,
    version_table=_schema.version_table,
)
context.run_migrations()
