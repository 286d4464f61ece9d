"""Two Learners and two Incorporators, each a process of its own, that share one storage on real servers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from tests.e2e.conftest import StartService, start_service
from tests.e2e.service import INCORPORATOR, LEARNER, Service
from tests.servers.fixtures import require
from tests.servers.storage import Storage, running, servers_of

__all__ = ["StartService", "start_service"]

#: Of a promotion or a disabling, the other processes know after so many seconds (`MG_CATALOG_REFRESH_S`).
REFRESH_S = 1.0
SHARED = ("postgres+pgvector", "mariadb+milvus")


class Cluster(NamedTuple):
    """Clients of each process, and the processes."""

    learners: tuple[httpx.Client, httpx.Client]
    incorporators: tuple[httpx.Client, httpx.Client]
    services: tuple[Service, ...]

    @property
    def incorporator_urls(self) -> list[str]:
        return [service.url for service in self.services[2:]]


StartCluster = Callable[..., Cluster]


@pytest.fixture(params=SHARED)
def storage(request: pytest.FixtureRequest) -> Iterator[Storage]:
    """Servers for one test alone."""
    for server in servers_of(request.param):
        if server is not None:
            require(server)
    with running(request.param) as started:
        yield started


@pytest.fixture
def start_cluster(storage: Storage, start_service: StartService, tmp_path: Path) -> Iterator[StartCluster]:
    """Starts a cluster on new databases."""
    with ExitStack() as stack:

        def start(**settings: str) -> Cluster:
            env = {**storage.new_settings(), "MG_LOG_LEVEL": "WARNING", **settings}
            services = []
            for name, app in (("l1", LEARNER), ("l2", LEARNER), ("i1", INCORPORATOR), ("i2", INCORPORATOR)):
                (tmp_path / name).mkdir()
                own = {"MG_LEARNER_API": "off"} if app == INCORPORATOR else {}
                services.append(start_service({**env, **own}, app, home=tmp_path / name))
            one, two, three, four = (stack.enter_context(service.client()) for service in services)
            return Cluster((one, two), (three, four), tuple(services))

        yield start
