"""One client for each event loop, since the connections of a client belong to the loop that opened them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import Generic, Protocol, TypeVar, runtime_checkable
from weakref import WeakKeyDictionary

import anyio
from anyio import to_thread
from anyio.lowlevel import current_token


@runtime_checkable
class Closable(Protocol):
    async def aclose(self) -> None: ...


ClientT = TypeVar("ClientT", bound=Closable)


class _Slot(Generic[ClientT]):
    """The client of one loop, once there is one, and the generator that closes it when it is itself closed."""

    def __init__(self) -> None:
        self.lock = anyio.Lock()
        self.client: ClientT | None = None
        self.lifetime: AsyncGenerator[ClientT, None] | None = None


class PerEventLoop(Generic[ClientT]):
    """Opens a client where a loop first asks for one, and closes it with its loop.

    `connect` makes a client. It may block (an import, certificates): it runs in a thread, once a loop.
    """

    def __init__(self, connect: Callable[[], ClientT]) -> None:
        self._connect = connect
        self._slots: WeakKeyDictionary[object, _Slot[ClientT]] = WeakKeyDictionary()

    async def current(self) -> ClientT:
        """The running loop's client. Whoever is cancelled leaves at once; raises what `connect` raises."""
        loop = current_token().native_token
        slot = self._slots.get(loop) or self._slots.setdefault(loop, _Slot())
        if slot.client is not None:
            return slot.client
        async with slot.lock:
            if slot.client is None:
                client = await to_thread.run_sync(self._connect, abandon_on_cancel=True)
                slot.lifetime = self._live(slot, client)
                slot.client = await anext(slot.lifetime)
            return slot.client

    async def aclose(self) -> None:
        """Closes the running loop's client, if any. A later `current` opens another."""
        slot = self._slots.get(current_token().native_token)
        if slot is not None and slot.lifetime is not None:
            await slot.lifetime.aclose()

    @staticmethod
    async def _live(slot: _Slot[ClientT], client: ClientT) -> AsyncGenerator[ClientT, None]:
        """Yields the client and waits. A loop closes its async generators before it ends, and so the client too."""
        try:
            yield client
        finally:
            slot.client = slot.lifetime = None
            await client.aclose()
