"""Time and ids of the real world."""

from __future__ import annotations

from datetime import datetime, timezone

import uuid_utils

from application.shared.ports import Clock, IdFactory


class SystemClock(Clock):
    def now(self) -> datetime:
        return datetime.now(timezone.utc)


class TimeOrderedIds(IdFactory):
    """UUIDs of version 7: rows that are written together lie together in the indices."""

    def __call__(self) -> str:
        return str(uuid_utils.uuid7())
