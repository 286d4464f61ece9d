"""Connections to Milvus, and what its errors mean. The first one imports pymilvus, which takes a second."""

from __future__ import annotations

import logging
from importlib.util import find_spec
from typing import Any, Final
from urllib.parse import parse_qs, unquote, urlsplit

import anyio
import anyio.lowlevel
import msgspec

from adapters.vectors.remote_calls import Failure
from domain.errors import InvalidConfiguration

WHAT: Final = "The vector store (Milvus)"

UNREACHABLE: Final = 2
NO_COLLECTION: Final = 100
NOT_LOADED: Final = 101

_CONNECT_S: Final = 2.0
_LONGEST_MESSAGE: Final = 300
_RECONNECT_MS: Final = 1_000
_EXPECTED: Final = "expected http://HOST:PORT, with USER:PASSWORD@, ?token=TOKEN and /DATABASE where they are needed"


class MilvusAddress(msgspec.Struct, frozen=True):
    """Where Milvus is and how it is entered."""

    uri: str
    token: str
    database: str

    @classmethod
    def parse(cls, dsn: str) -> MilvusAddress:
        """Raises `InvalidConfiguration`, which never shows the token; also where the extra is not installed."""
        try:
            parts = urlsplit(dsn)
            port = parts.port or (443 if parts.scheme == "https" else 19530)
        except ValueError:  # which may quote a part of the password
            raise InvalidConfiguration(_EXPECTED) from None
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidConfiguration(_EXPECTED)
        if find_spec("pymilvus") is None:
            raise InvalidConfiguration("milvus needs the extra [milvus]: pip install 'pymilvus>=3.0.2,<4'")
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        user = ":".join(unquote(part) for part in (parts.username, parts.password) if part)
        return cls(
            uri=f"{parts.scheme}://{host}:{port}",
            token=parse_qs(parts.query).get("token", [user])[0],
            database=parts.path.strip("/"),
        )


class MilvusConnection:
    """The client of one event loop. Making one imports pymilvus and reaches nothing yet."""

    def __init__(self, address: MilvusAddress) -> None:
        from pymilvus import AsyncMilvusClient  # noqa: PLC0415 - slow, and of an extra

        # What goes wrong is raised to us and told by us; there it would be told again, with a traceback each time.
        logging.getLogger("pymilvus").setLevel(logging.CRITICAL)
        backoff = {"grpc.initial_reconnect_backoff_ms": 100, "grpc.max_reconnect_backoff_ms": _RECONNECT_MS}
        self.plain: Any = AsyncMilvusClient(
            uri=address.uri,
            token=address.token,
            db_name=address.database,
            dedicated=True,
            timeout=_CONNECT_S,
            grpc_options=backoff,
        )
        self._connecting = anyio.Lock()
        self._is_connected = False

    async def call(self, method: str, collection: str, **arguments: object) -> Any:
        """A method on a collection, which is loaded first where a restart of the server has left it unloaded."""
        try:
            return await self.ask(method, collection, **arguments)
        except Exception as error:
            if getattr(error, "code", None) != NOT_LOADED:
                raise
        await self.ask("load_collection", collection)
        return await self.ask(method, collection, **arguments)

    async def ask(self, method: str, *values: object, **arguments: object) -> Any:
        """A method of the client, once: tried again by pymilvus it would outlast every deadline."""
        try:
            await self._connected()
            return await getattr(self.plain, method)(*values, retry_times=0, **arguments)
        except anyio.get_cancelled_exc_class():
            # gRPC puts an exception of its own in the place of a cancel scope's, which that would not know again.
            await anyio.lowlevel.checkpoint_if_cancelled()
            raise

    async def _connected(self) -> None:
        async with self._connecting:
            if not self._is_connected:
                await self.plain.list_collections(retry_times=0)
                self._is_connected = True

    async def aclose(self) -> None:
        await self.plain.close()


def explain(error: Exception) -> Failure | None:
    """What an error of pymilvus or gRPC means; None for one that is not about the server."""
    from grpc import RpcError, StatusCode  # noqa: PLC0415 - see above
    from pymilvus.exceptions import MilvusException  # noqa: PLC0415

    if isinstance(error, RpcError):
        status = error.code() if hasattr(error, "code") else None
        hint = " Check the token in MG_VECTOR_DSN." if status is StatusCode.UNAUTHENTICATED else ""
        said = status.name.lower() if status else type(error).__name__
        return Failure(f"{WHAT} refused the call ({said}).{hint}", alive=status is not StatusCode.UNAVAILABLE)
    if isinstance(error, MilvusException):
        if error.code == UNREACHABLE or isinstance(error.code, StatusCode):
            return Failure(f"{WHAT} is out of reach: try again shortly.", alive=False)
        hint = " Run `memorygrid reindex`." if error.code == NO_COLLECTION else ""
        return Failure(f"{WHAT} says: {' '.join(error.message.split())[:_LONGEST_MESSAGE]}.{hint}", alive=True)
    return None
