"""What a service keeps its data in: an SQL engine with a vector backend, on servers that are started here."""

import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

from tests.servers.mariadb import MariaDbServer
from tests.servers.milvus import MilvusServer
from tests.servers.postgres import PostgresServer

Server = PostgresServer | MariaDbServer | MilvusServer

#: Who serves what; an engine or backend without a server is part of the service.
_SQL: dict[str, type[Server] | None] = {"sqlite": None, "postgres": PostgresServer, "mariadb": MariaDbServer}
_VECTORS: dict[str, type[Server] | None] = {"memory": None, "pgvector": PostgresServer, "milvus": MilvusServer}

#: Every engine and every backend once.
PAIRS = ("sqlite+memory", "postgres+pgvector", "mariadb+milvus")


def servers_of(pair: str) -> tuple[type[Server] | None, type[Server] | None]:
    """Who serves the SQL engine and the vector backend of a pair like `postgres+memory`."""
    sql, _, backend = pair.partition("+")
    if sql not in _SQL or backend not in _VECTORS:
        raise ValueError(f"{pair!r} is not one of {', '.join(_SQL)}, a +, and one of {', '.join(_VECTORS)}")
    return _SQL[sql], _VECTORS[backend]


def unavailable(pair: str) -> str | None:
    """Why this machine cannot have the pair's servers, and the command that installs them; None if it can."""
    reasons = [server.unavailable() for server in servers_of(pair) if server is not None]
    return next((reason for reason in reasons if reason is not None), None)


class Storage(NamedTuple):
    """The running servers of a pair, which may be one and the same."""

    backend: str
    sql: Server | None
    vectors: Server | None

    def new_settings(self) -> dict[str, str]:
        """Of services that share new, empty databases."""
        name, settings = uuid.uuid4().hex[:12], {}
        if self.sql is not None:
            settings["MG_TIDB_DSN"] = self.sql.create_database(f"lessons_{name}")
            settings["MG_FEEDBACK_TIDB_DSN"] = self.sql.create_database(f"feedback_{name}")
        if self.vectors is not None:
            settings["MG_VECTOR_BACKEND"] = self.backend
            settings["MG_VECTOR_DSN"] = self.vectors.create_database(f"vectors_{name}")
        return settings


@contextmanager
def running(pair: str) -> Iterator[Storage]:
    """Starts the servers of a pair, and ends them."""
    with ExitStack() as stack:
        servers: dict[type[Server], Server] = {}
        for kind in servers_of(pair):
            if kind is not None and kind not in servers:
                servers[kind] = kind()
                stack.enter_context(servers[kind])
        sql, vectors = (servers[kind] if kind else None for kind in servers_of(pair))
        yield Storage(pair.partition("+")[2], sql, vectors)
