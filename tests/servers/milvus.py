"""Milvus, as far as the package milvus-lite goes."""

import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.servers.ports import accepts_connections
from tests.servers.process import ServerProcess

_INSTALL = "make engines"
_LAUNCHER = Path(__file__).with_name("milvus_launcher.py")


class MilvusServer(ServerProcess):
    """A Milvus Lite server; unlike Milvus it comes back from a restart with all its collections released."""

    name = "milvus"

    @classmethod
    def unavailable(cls) -> str | None:
        missing = [name for name in ("milvus_lite", "pymilvus") if not importlib.util.find_spec(name)]
        return f"{', '.join(missing)} not installed: {_INSTALL}" if missing else None

    @property
    def uri(self) -> str:
        """The address for pymilvus."""
        return f"http://127.0.0.1:{self.port}"

    def create_database(self, name: str) -> str:
        """Create an empty database and return its address."""
        from pymilvus import MilvusClient

        client = MilvusClient(self.uri)
        client.create_database(name)
        client.close()
        return f"{self.uri}/{name}"

    def _initialise(self) -> None:
        self.data.mkdir()

    def _command(self) -> Sequence[str]:
        options = ["--data-dir", str(self.data), "--host", "127.0.0.1", "--port", str(self.port)]
        return [sys.executable, "-u", str(_LAUNCHER), "server", *options]

    def _ready(self) -> bool:
        return accepts_connections(self.port)
