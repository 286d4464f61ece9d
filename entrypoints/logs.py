"""Logging: one line an event, for people or as JSON. Nothing that a caller sends can forge a line, and no secret shows.

The same holds for the server's own log and for that of libraries: `Cleaned` goes over every record before it is out.
"""

from __future__ import annotations

import logging
import traceback
from datetime import datetime, timezone

import msgspec

from entrypoints.escaping import escaped
from entrypoints.masking import Masks, secrets_of
from entrypoints.settings import LogFormat, Settings

_OURS = ("application", "adapters", "entrypoints")
_SERVERS = ("uvicorn", "uvicorn.error", "uvicorn.access", "uvicorn.asgi")


class Cleaned(logging.Filter):
    """Puts a record's message on one visible line and marks its traceback's lines, both without any secret."""

    def __init__(self, masks: Masks) -> None:
        super().__init__()
        self._masks = masks

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name == "uvicorn.access" and isinstance(record.args, tuple):
            # Its formatter takes the parts one by one.
            record.args = tuple(self._clean(one) if isinstance(one, str) else one for one in record.args)
        else:
            record.msg, record.args = self._event(record), None
            vars(record).pop("color_message", None)
        if record.exc_info and record.exc_info[1] is not None:
            record.exc_text = self._trace("".join(traceback.format_exception(record.exc_info[1])))
        if record.stack_info:
            record.stack_info = self._trace(record.stack_info)
        return True

    def _event(self, record: logging.LogRecord) -> str:
        """On one line; but what the server has to tell of a failed start is a traceback."""
        text = _message(record).rstrip()
        first, *rest = text.split("\n") if record.name in _SERVERS else [text]
        return "\n".join([self._clean(first), *(self._trace(line) for line in rest)])

    def _clean(self, text: str) -> str:
        return escaped(self._masks.masked(text))

    def _trace(self, text: str) -> str:
        """No line of it can be taken for an event's: each begins with a mark."""
        return "\n".join(f"  | {escaped(line)}" for line in self._masks.masked(text).rstrip().split("\n"))


class ConsoleFormatter(logging.Formatter):
    """For people; a traceback follows its event's line."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(name)s: %(message)s")


class JsonFormatter(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        event = {
            "at": datetime.fromtimestamp(record.created, timezone.utc),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_text:
            event["exception"] = record.exc_text
        return msgspec.json.encode(event).decode()


class _Handler(logging.StreamHandler):  # type: ignore[type-arg]
    """The service's own, so that it is known again when logging is set up anew."""


def set_up_logging(settings: Settings) -> None:
    """Sends this service's log to standard error at `MG_LOG_LEVEL` in `MG_LOG_FORMAT`.

    What libraries warn of goes there too, unless the process has set the root logger up in its own way.
    """
    cleaned = Cleaned(Masks(secrets_of(settings)))
    handler = _Handler()
    handler.setFormatter(JsonFormatter() if settings.log_format is LogFormat.JSON else ConsoleFormatter())
    handler.addFilter(cleaned)
    for name in _OURS:
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(settings.log_level.value)
        logger.propagate = False
    root = logging.getLogger()
    root.handlers = [one for one in root.handlers if not isinstance(one, _Handler)] or [handler]
    for name in _SERVERS:
        server = logging.getLogger(name)
        server.filters = [*(one for one in server.filters if not isinstance(one, Cleaned)), cleaned]


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except (TypeError, ValueError):
        return f"{record.msg} {record.args}"
