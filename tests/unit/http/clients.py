"""Apps over the stubs, and clients of them."""

from __future__ import annotations

from typing import Any

import httpx

from entrypoints.http.access import AccessPolicy
from entrypoints.http.app import create_incorporator_app, create_learner_app
from entrypoints.http.services import HttpOptions
from tests.unit.http.stubs import Stub, incorporator_services, learner_services

QUERY = {"session_id": "s1", "problem_solving_step_ref": "step-17", "problem_type": "p"}
JSON = {"Content-Type": "application/json"}


def client_of(app: Any, host: str = "127.0.0.1", **more: Any) -> httpx.AsyncClient:
    """A client whose requests come from `host`."""
    transport = httpx.ASGITransport(app, client=(host, 50_000))
    return httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8001", **more)


def options(stub: Stub, keys: str = "", hosts: str = "", **more: Any) -> HttpOptions:
    return HttpOptions(access=AccessPolicy.parse(keys, hosts), readiness=stub.readiness, **more)


def incorporator(stub: Stub, keys: str = "", hosts: str = "", **more: Any) -> Any:
    return create_incorporator_app(
        incorporator_services(stub), learner_services(stub), options(stub, keys, hosts, **more)
    )


def learner(stub: Stub, keys: str = "", **more: Any) -> Any:
    return create_learner_app(learner_services(stub), options(stub, keys, **more))


async def invoke(content: Any, headers: dict[str, str] | None = None, **more: Any) -> httpx.Response:
    """The answer to an invoke with these bytes as its body."""
    async with client_of(incorporator(Stub(), **more)) as client:
        return await client.post("/incorporator/invoke", content=content, headers=headers or JSON)
