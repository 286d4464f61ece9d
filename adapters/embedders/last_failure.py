"""How an embedder's last call ended, for those who ask how it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from domain.errors import EmbedderUnavailable


class LastFailure:
    """`detail` is None where the last call succeeded, or none was made yet."""

    def __init__(self) -> None:
        self.detail: str | None = None

    @contextmanager
    def noted(self) -> Iterator[None]:
        """For the block that makes one call."""
        try:
            yield
        except EmbedderUnavailable as error:
            self.detail = error.detail
            raise
        self.detail = None
