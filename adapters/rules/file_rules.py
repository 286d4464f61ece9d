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
    """Looks at the file at most once a second. A missing file has no rules; a broken change keeps those in force.

    Where the file is `expected`, or was there before, its absence is a problem that is told.
    """

    def __init__(self, path: Path, every_s: float = 1.0, *, expected: bool = False) -> None:
        self._path = path
        self._every_s = every_s
        self._expected = expected
        self._next_look = 0.0
        self._stamp: _Stamp | None = None
        self._rules = RuleSet()
        self._problem: str | None = None

    def load(self) -> None:
        """Reads the file for the first time. Raises `InvalidConfiguration` with the line and the reason."""
        self._next_look = time.monotonic() + self._every_s
        self._stamp = self._stamp_now()
        self._take(self._read())

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
            found = self._read()
        except InvalidConfiguration as error:
            self._problem = error.detail
            _log.error("the changed DSL rules are broken, those before stay in force: %s", error.detail)
            return
        self._take(found)
        if found is not None:
            _log.info("the DSL rules have been read anew: %d in force", len(found.all))

    def _take(self, found: RuleSet | None) -> None:
        """Puts these rules in force; None says that there is no file."""
        self._problem = None
        if found is not None:
            self._rules, self._expected = found, True
            return
        self._rules = RuleSet()
        missing = f"there is no rules file at {self._path} (MG_DSL_MATCH_RULES_PATH), so no DSL rule is in force"
        if self._expected:
            self._problem = missing
        _log.log(logging.WARNING if self._expected else logging.INFO, "%s", missing)

    def _stamp_now(self) -> _Stamp | None:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _read(self) -> RuleSet | None:
        """The rules that the file holds; None where there is none. Raises `InvalidConfiguration` and nothing else."""
        try:
            with open(self._path, "rb", opener=_open_at_once) as file:
                text = file.read(_LARGEST + 1) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else None
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InvalidConfiguration(f"the rules file {self._path} cannot be read: {error.strerror}") from error
        if text is None:
            raise InvalidConfiguration(f"{self._path} is no file that DSL rules could be in")
        if len(text) > _LARGEST:
            raise InvalidConfiguration(f"the rules file {self._path} is larger than {_LARGEST} bytes")
        try:
            return parse_rules(text, str(self._path))
        except InvalidConfiguration:
            raise
        except Exception as error:  # a fault of ours must not take the rules before out of force
            _log.exception("the rules file %s could not be read", self._path)
            raise InvalidConfiguration(f"the rules file {self._path} could not be read: {error!r}") from error


def _open_at_once(path: str, flags: int) -> int:
    """Opening a pipe would wait for somebody who writes to it."""
    return os.open(path, flags | os.O_NONBLOCK)
