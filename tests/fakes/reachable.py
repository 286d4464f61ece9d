"""What the fakes of outside things have in common: they can be away, and every call gives others their turn."""

from __future__ import annotations

import anyio.lowlevel

from domain.errors import StoreUnavailable


class Reachable:
    """`away` makes every call fail, `fails_next` that many of the coming ones, `fails` those of these names.

    `calls` counts them by name.
    """

    def __init__(self) -> None:
        self.away = False
        self.fails_next = 0
        self.fails: set[str] = set()
        self.calls: dict[str, int] = {}

    async def reached(self, call: str) -> None:
        """Passes where the store answers. Raises `StoreUnavailable`."""
        self.calls[call] = self.calls.get(call, 0) + 1
        await anyio.lowlevel.checkpoint()
        if self.away or self.fails_next or call in self.fails:
            self.fails_next = max(0, self.fails_next - 1)
            raise StoreUnavailable("the fake store is away")
