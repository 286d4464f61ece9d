"""Lessons in any number that read like runbooks: the samples' sentences, about many services, in new combinations.

The same number gives the same lesson always. Each has a title of its own, two sections and a DSL payload, and so three
vectors; lessons that come from one runbook lie near each other, as real ones do.
"""

from __future__ import annotations

import random
import re
import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from pathlib import Path

import msgspec

from domain.learner.lesson import Bin, PromotedLesson

VERSION = 1
_RUNBOOKS = Path(__file__).parents[2] / "config" / "samples" / "runbooks.jsonl"
_SPACE = uuid.UUID("6f8f27f0-5f5b-4c83-9f5e-2c1f7c1a51ce")
_BEGIN = datetime(2026, 1, 1, tzinfo=timezone.utc)
_SENTENCE = re.compile(r"[^.\n]{25,240}[.\n]")
_PARTS = [
    "checkout",
    "billing",
    "catalog",
    "search",
    "profile",
    "ledger",
    "invoice",
    "basket",
    "shipping",
    "pricing",
    "session",
    "gateway",
    "mailer",
    "quota",
    "media",
    "report",
    "audit",
    "import",
    "export",
    "feed",
]
_KINDS = ["api", "worker", "cache", "proxy", "store", "queue", "cron", "stream", "agent", "index"]
_PLACES = ["eu-west", "eu-north", "us-east", "us-west", "ap-south", "ap-east", "sa-east", "af-south"]


class Runbook(msgspec.Struct, frozen=True):
    """What new lessons are made from: a title and the sentences of a body."""

    title: str
    sentences: tuple[str, ...]


@lru_cache(maxsize=1)
def runbooks() -> Sequence[Runbook]:
    """The samples."""
    rows = [msgspec.json.decode(line) for line in _RUNBOOKS.read_text().splitlines()]
    return [
        Runbook(row["title"], tuple(one.strip() for one in _SENTENCE.findall(row["body"])) or (row["title"],))
        for row in rows
    ]


def lesson(number: int) -> PromotedLesson:
    """The promoted lesson of this number."""
    dice = random.Random(number)
    runbook = dice.choice(runbooks())
    service = f"{dice.choice(_PARTS)}-{dice.choice(_KINDS)}"
    place = dice.choice(_PLACES)
    return PromotedLesson(
        id=lesson_id(number),
        bin=Bin.SKILLS if number % 2 == 0 else Bin.KNOWLEDGE,
        title=f"{runbook.title} of {service} in {place}, case {number}",
        body="\n\n".join(
            f"## {heading} in {service}\n\n{_paragraph(dice, runbook, service)}"
            for heading in ("Meaning", "Mitigation")
        ),
        tags=(service, place),
        dsl_payload={
            "action": "repair_service",
            "instruction_template": f"Restart {service} after {{operation}} and watch {{task.file}} in {place}.",
        },
        version=2,
        review_round=1,
        promoted_at=_BEGIN + timedelta(seconds=number),
    )


def lesson_id(number: int) -> str:
    """The id of the lesson of this number."""
    return str(uuid.uuid5(_SPACE, str(number)))


def question(number: int) -> str:
    """What somebody asks about some runbook and service, in the words of an alert."""
    dice = random.Random(-1 - number)
    runbook = dice.choice(runbooks())
    where = f"{dice.choice(_PARTS)}-{dice.choice(_KINDS)} {dice.choice(_PLACES)}"
    return f"{runbook.title} {where}: {dice.choice(runbook.sentences)}"


def _paragraph(dice: random.Random, runbook: Runbook, service: str) -> str:
    """Three sentences of the runbook and one of another, so that no two lessons are alike."""
    chosen = [*dice.choices(runbook.sentences, k=3), dice.choice(dice.choice(runbooks()).sentences)]
    return " ".join(f"{one} ({service} {dice.randrange(10_000)})" for one in chosen)
