"""The service with a clock that a test moves: `MG_TEST_CLOCK` names a file that holds the seconds to add."""

from __future__ import annotations

import os
from datetime import datetime, timedelta, timezone
from pathlib import Path

from adapters.system.clock import SystemClock

_OFFSET = Path(os.environ["MG_TEST_CLOCK"])


def _moved(_: SystemClock) -> datetime:
    text = _OFFSET.read_text() if _OFFSET.exists() else ""
    return datetime.now(timezone.utc) + timedelta(seconds=float(text or 0))


setattr(SystemClock, "now", _moved)  # noqa: B010 - a method is replaced on purpose

from memorygrid_incorporator.main import app  # noqa: E402 - after the clock was changed

__all__ = ["app"]
