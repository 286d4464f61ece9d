"""What a check-up finds, and what to do about it."""

from __future__ import annotations

from enum import Enum

import msgspec


class Level(str, Enum):
    """`attention`: the service works, but less well than it could. `bad`: it cannot do its work."""

    OK = "ok"
    ATTENTION = "attention"
    BAD = "bad"


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """`advice` says what to do; None where there is nothing to be done."""

    name: str
    level: Level
    found: str
    advice: str | None = None


ADVICE = {
    "object_store": "See that the database which MG_TIDB_DSN names runs and takes writes, or correct the address.",
    "feedback_database": "See that the database which MG_FEEDBACK_TIDB_DSN names runs and takes writes, or correct the "
    "address.",
    "embedder": "See the MG_EMBEDDER settings, and what serves it.",
    "vectors": "See the embedder, and the vector store if there is one (MG_VECTOR_BACKEND). The index catches up by "
    "itself; `memorygrid reindex` rebuilds it.",
    "lessons_folder": "Make MG_LESSONS_ROOT a folder that the service can write to. It catches up by itself.",
    "outbox": "See `memorygrid escalations list --state pending`: is the target up, and a service running?",
    "rules": "Put the file right: `memorygrid rules check FILE` tells. Until then the rules before stay in force; "
    "where the file is missing, there are none.",
    "llm": "Set ANTHROPIC_API_KEY. Without a model the most similar lesson is taken, if it is similar enough.",
    "escalations": "See `memorygrid escalations list --state failed`, then `memorygrid escalations retry --failed`.",
}

NO_RULES_FILE = "Put the rules there, or correct the path. Until then no rule applies."


def of_check(name: str, problem: str | None, *, vital: bool) -> Finding:
    """A part's own word on how it is."""
    if problem is None:
        return Finding(name=name, level=Level.OK, found="in order")
    level = Level.BAD if vital else Level.ATTENTION
    return Finding(name=name, level=level, found=problem, advice=ADVICE.get(name))


def of_vectors(problem: str, *, in_memory: bool, vital: bool) -> Finding:
    """What is wrong with the vector index, where it is known what that is made of."""
    start = "See what is said of the embedder and the object store" if in_memory else "Start what MG_VECTOR_DSN names"
    advice = f"{start}. The index catches up by itself; `memorygrid reindex` rebuilds it."
    return Finding(name="vectors", level=Level.BAD if vital else Level.ATTENTION, found=problem, advice=advice)


def of_failed(count: int) -> Finding:
    """How many escalations have failed for good."""
    problem = f"{count} have failed for good" if count else None
    return of_check("escalations", problem, vital=False)
