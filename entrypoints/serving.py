"""How an app's module starts: an unusable configuration ends the process with one readable message."""

from __future__ import annotations

import sys
from collections.abc import Callable

from litestar.types import ASGIApp

from domain.errors import InvalidConfiguration


def app_or_exit(make: Callable[[], ASGIApp]) -> ASGIApp:
    """The app, or exit status 2 after the message on standard error."""
    try:
        return make()
    except InvalidConfiguration as error:
        sys.stderr.write(f"memorygrid: {error.detail}\n")
        raise SystemExit(2) from error
