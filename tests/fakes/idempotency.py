"""Answers kept for 24 h under a scope and a key."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

from application.shared.ports import IdempotencyRecord
from domain.errors import AnswerErased, KeyReused

_KEPT = timedelta(hours=24)


class KeptAnswers:
    """In memory."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], IdempotencyRecord] = {}

    def find(self, request: IdempotencyRecord | None) -> bytes | None:
        """The first answer, if it is younger than 24 h. Raises `KeyReused` where the body was another one."""
        kept = self._kept.get((request.scope, request.key)) if request else None
        if request is None or kept is None or request.at - kept.at >= _KEPT:
            return None
        if kept.fingerprint != request.fingerprint:
            raise KeyReused(f"the idempotency key {request.key!r} came before with another body")
        if not kept.answer:
            raise AnswerErased(f"what was answered under {request.key!r} was erased")
        return kept.answer

    def keep(self, request: IdempotencyRecord | None) -> None:
        if request is not None:
            self._kept[request.scope, request.key] = request

    def forget_older(self, before: datetime) -> None:
        self._kept = {key: one for key, one in self._kept.items() if one.at >= before}

    def blank_mentions(self, text: str) -> None:
        """Erases the answers that hold this text; their keys stay taken."""
        self._kept = {
            key: msgspec.structs.replace(one, answer=b"") if text.encode() in one.answer else one
            for key, one in self._kept.items()
        }
