"""The log: one line an event, whatever is in it, and never a secret."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from uvicorn.logging import AccessFormatter, DefaultFormatter

from entrypoints.logs import Cleaned, ConsoleFormatter, JsonFormatter, set_up_logging
from entrypoints.masking import Masks
from entrypoints.settings import LogFormat, Settings
from tests.unit.attacks.corpus import AGAINST_LOGS, EVERY_TEXT

SECRET = "s3cr3t-pass"


@pytest.fixture(autouse=True)
def _loggers_as_before() -> Iterator[None]:
    names = [None, "application", "adapters", "entrypoints", "uvicorn", "uvicorn.error", "uvicorn.access"]
    before = {name: vars(logging.getLogger(name)).copy() for name in names}
    kept = {name: (list(found["handlers"]), list(found["filters"])) for name, found in before.items()}
    yield
    for name, found in before.items():
        logger = logging.getLogger(name)
        logger.handlers, logger.filters = kept[name]
        logger.propagate, logger.level = found["propagate"], found["level"]


def written(formatter: logging.Formatter, message: str, *args: object, name: str = "entrypoints.x", **more: Any) -> str:
    """What a handler of this formatter writes of one event."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(formatter)
    logger = logging.getLogger(f"test.{name}" if name.startswith("entry") else name)
    logger.handlers, logger.propagate, logger.filters = [handler], False, [Cleaned(Masks([SECRET]))]
    logger.setLevel(logging.DEBUG)
    logger.error(message, *args, **more)
    return stream.getvalue()


def failure(text: str) -> BaseException:
    """An error with another one as its cause, both with the text in their messages."""
    try:
        try:
            raise KeyError(text)
        except KeyError as error:
            raise ValueError(text) from error
    except ValueError as error:
        return error


@pytest.mark.parametrize("text", EVERY_TEXT)
def test_an_event_is_one_line_with_nothing_that_drives_a_terminal(text: str) -> None:
    for line in (written(ConsoleFormatter(), "found %s", text), written(ConsoleFormatter(), f"found {text}")):
        assert line.endswith("\n")
        assert line[:-1].isprintable()


@pytest.mark.parametrize("text", AGAINST_LOGS)
def test_a_tracebacks_lines_are_marked_so_that_none_looks_like_an_event(text: str) -> None:
    first, *rest = written(ConsoleFormatter(), "failed at %s", text, exc_info=failure(text)).rstrip("\n").split("\n")
    assert " ERROR " in first
    assert any("ValueError" in line for line in rest)
    assert all(line.startswith("  | ") and line.isprintable() for line in rest)


@pytest.mark.parametrize("text", [*AGAINST_LOGS, "\ud800"])
def test_in_json_an_event_is_one_object_on_one_line(text: str) -> None:
    out = written(JsonFormatter(), "failed at %s", text, exc_info=failure(text))
    assert out.count("\n") == 1
    assert out[:-1].isprintable()
    event = json.loads(out)
    assert event["level"] == "ERROR"
    assert "ValueError" in event["exception"]


@pytest.mark.parametrize(
    "formatter", [ConsoleFormatter(), JsonFormatter(), DefaultFormatter("%(levelprefix)s %(message)s")]
)
def test_a_secret_is_replaced_wherever_it_stands(formatter: logging.Formatter) -> None:
    error = failure(f"postgresql://mg:{SECRET}@db/x")
    for out in (
        written(formatter, f"connecting with {SECRET}"),
        written(formatter, "connecting with %s", SECRET),
        written(formatter, "connecting with %r", error),
        written(formatter, "connecting", exc_info=error, stack_info=True),
        written(formatter, "connecting", extra={"color_message": f"connecting with {SECRET} %s"}),
    ):
        assert "connecting" in out
        assert SECRET not in out


@pytest.mark.parametrize("text", [*AGAINST_LOGS, SECRET])
def test_the_servers_access_log_is_cleaned_too(text: str) -> None:
    parts = (f"{text}:0", "GET", f"/lessons?q={text}", "1.1", 200)
    formatter = AccessFormatter('%(client_addr)s - "%(request_line)s" %(status_code)s')
    out = written(formatter, '%s - "%s %s HTTP/%s" %d', *parts, name="uvicorn.access")
    assert out.count("\n") == 1
    assert out[:-1].isprintable()
    assert "GET" in out
    assert SECRET not in out


def test_what_the_server_tells_on_several_lines_stays_readable_and_cannot_look_like_events() -> None:
    formatter = DefaultFormatter("%(levelprefix)s %(message)s")
    out = written(formatter, f"Traceback\n  File x\r\nINFO:  forged\x1b[31m {SECRET}\n", name="uvicorn.error")
    assert out == "ERROR:    Traceback\n  |   File x\n  | INFO:  forged\\x1b[31m [secret]\n"


def test_a_message_that_does_not_fit_its_arguments_is_written_all_the_same() -> None:
    assert "%d" in written(ConsoleFormatter(), "%d", "no number")


@pytest.mark.parametrize("log_format", LogFormat)
def test_setting_up_twice_writes_once(log_format: LogFormat, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    for _ in range(2):
        set_up_logging(Settings(log_format=log_format, anthropic_api_key=SECRET))
    logging.getLogger("adapters.x").warning("with %s", SECRET)
    assert stream.getvalue().count("with [secret]") == 1
    assert sum(isinstance(one, Cleaned) for one in logging.getLogger("uvicorn.error").filters) == 1


def test_what_libraries_warn_of_is_cleaned_where_nobody_else_writes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    set_up_logging(Settings(anthropic_api_key=SECRET))
    logging.getLogger("asyncio").error("Task exception was never retrieved\n%s", SECRET, exc_info=failure(SECRET))
    assert "never retrieved" in stream.getvalue()
    assert SECRET not in stream.getvalue()
