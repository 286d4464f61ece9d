"""The DSL rules from a JSON file that may change while the service runs."""

from __future__ import annotations

import logging
import os
import stat
import time
from pathlib import Path

from application.incorporator.ports import Rules
from domain.errors import InvalidConfiguration
from domain.incorporator.rules import RuleSet, parse_rules

_log = logging.getLogger(__name__)
_LARGEST = 16 * 1024 * 1024

_Stamp = tuple[int, int, int]


class FileRules(Rules):
    """Looks at the file at most once a second. A missing file has no rules; a broken change keeps those in force."""

    def __init__(self, path: Path, every_s: float = 1.0) -> None:
        self._path = path
        self._every_s = every_s
        self._next_look = 0.0
        self._stamp: _Stamp | None = None
        self._rules = RuleSet()
        self._problem: str | None = None

    def load(self) -> None:
        """Reads the file for the first time. Raises `InvalidConfiguration` with the line and the reason."""
        self._next_look = time.monotonic() + self._every_s
        self._stamp = self._stamp_now()
        self._rules = self._read()

    def current(self) -> RuleSet:
        if time.monotonic() >= self._next_look:
            self._look()
        return self._rules

    def problem(self) -> str | None:
        return self._problem

    def _look(self) -> None:
        self._next_look = time.monotonic() + self._every_s
        stamp = self._stamp_now()
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self._rules, self._problem = self._read(), None
            _log.info("the DSL rules have been read anew: %d in force", len(self._rules.all))
        except InvalidConfiguration as error:
            self._problem = error.detail
            _log.error("the changed DSL rules are broken, those before stay in force: %s", error.detail)

    def _stamp_now(self) -> _Stamp | None:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _read(self) -> RuleSet:
        try:
            with open(self._path, "rb", opener=_open_at_once) as file:
                text = file.read(_LARGEST + 1) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else None
        except FileNotFoundError:
            return RuleSet()
        except OSError as error:
            raise InvalidConfiguration(f"the rules file {self._path} cannot be read: {error.strerror}") from error
        if text is None:
            raise InvalidConfiguration(f"{self._path} is no file that DSL rules could be in")
        if len(text) > _LARGEST:
            raise InvalidConfiguration(f"the rules file {self._path} is larger than {_LARGEST} bytes")
        return parse_rules(text, str(self._path))


def _open_at_once(path: str, flags: int) -> int:
    """Opening a pipe would wait for somebody who writes to it."""
    return os.open(path, flags | os.O_NONBLOCK)
