"""The environment without any setting of this service."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def bare_environment() -> Iterator[None]:
    before = dict(os.environ)
    for name in before:
        if name.startswith(("MG_", "ANTHROPIC")):
            del os.environ[name]
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
