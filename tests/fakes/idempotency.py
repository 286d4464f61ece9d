"""Answers kept for 24 h under a scope and a key."""

from __future__ import annotations

from datetime import datetime, timedelta

from application.shared.ports import IdempotencyRecord
from domain.errors import KeyReused

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
        return kept.answer

    def keep(self, request: IdempotencyRecord | None) -> None:
        if request is not None:
            self._kept[request.scope, request.key] = request

    def forget_older(self, before: datetime) -> None:
        self._kept = {key: one for key, one in self._kept.items() if one.at >= before}

    def forget_mentions(self, text: str) -> None:
        """Forgets the answers that hold this text."""
        self._kept = {key: one for key, one in self._kept.items() if text.encode() not in one.answer}
