"""Logging: one line an event, for people or as JSON. Nothing that a caller sends can forge a line."""

from __future__ import annotations

import logging
from datetime import datetime, timezone

import msgspec

from entrypoints.settings import LogFormat, Settings


class ConsoleFormatter(logging.Formatter):
    """For people; line breaks and other control characters in a message are shown as escapes."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(name)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        line, *rest = super().format(record).split("\n", 1) if record.exc_info else [super().format(record)]
        return "\n".join([_visible(line), *rest])


class JsonFormatter(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        event = {
            "at": datetime.fromtimestamp(record.created, timezone.utc),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            event["exception"] = self.formatException(record.exc_info)
        return msgspec.json.encode(event).decode()


def set_up_logging(settings: Settings) -> None:
    """Sends this service's log to standard error at `MG_LOG_LEVEL` in `MG_LOG_FORMAT`."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter() if settings.log_format is LogFormat.JSON else ConsoleFormatter())
    for name in ("application", "adapters", "entrypoints"):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(settings.log_level.value)
        logger.propagate = False


def _visible(text: str) -> str:
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
