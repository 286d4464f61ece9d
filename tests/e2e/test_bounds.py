"""Memory stays bounded, and the service answers, whatever is sent to it."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.e2e.calls import answered, invoke, promoted, query
from tests.e2e.conftest import StartService
from tests.e2e.service import Service

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

LARGE = 900_000


def most_memory_mb(service: Service) -> int:
    """The most that the process has ever held."""
    status = Path(f"/proc/{service.pid}/status").read_text()
    return next(int(line.split()[1]) >> 10 for line in status.splitlines() if line.startswith("VmHWM"))


@contextmanager
def answering(service: Service, within_s: float) -> Iterator[None]:
    """Meanwhile somebody asks whether the service is alive, and is answered in time."""
    over = threading.Event()
    longest = [0.0]

    def ask() -> None:
        with service.client() as client:
            while not over.wait(0.02):
                start = time.monotonic()
                assert client.get("/health").status_code == 200
                longest[0] = max(longest[0], time.monotonic() - start)

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        yield
    finally:
        over.set()
        asking.join()
    assert longest[0] < within_s


def test_many_large_lessons_come_page_by_page(start_service: StartService) -> None:
    service = start_service({"MG_MATCH_STRATEGY_MODE": "dsl_only"})
    with service.client() as client:
        for number in range(60):
            lesson = {"bin": "skills_base", "title": f"large {number}", "body": f"{number} " + "x " * (LARGE // 2)}
            answered(client.post("/lessons", json=lesson), 201)
        before = most_memory_mb(service)
        found, url = 0, "/lessons?limit=1000"
        with answering(service, 5):
            while url:
                page = client.get(url)
                found += len(answered(page))
                assert len(page.content) < 50 << 20
                url = page.links.get("next", {}).get("url", "")
    assert found == 60
    assert most_memory_mb(service) - before < 300


def hostile_bodies() -> list[bytes]:
    """Bodies of close to 1 MiB that cost the most to read, to flatten, to embed or to store."""
    values = [
        "[" + "[]," * (LARGE // 3) + "[]]",
        "[" + '{"":0},' * (LARGE // 7) + "0]",
        "[" + "1," * (LARGE // 2) + "1]",
        json.dumps(" ".join(f"w{number}" for number in range(LARGE // 8))),
        json.dumps("\ufdfa" * (LARGE // 3), ensure_ascii=False),
        "".join('{"' + "k" * 25_000 + '":' for _ in range(28)) + "[" + "1," * 50_000 + "1]" + "}" * 28,
    ]
    about, place = json.dumps(query(problem_type="unheard_of", current_task_context={})), '"current_task_context": {}'
    return [about.replace(place, f'"current_task_context": {{"a": {one}}}').encode() for one in values]


def test_large_bodies_that_are_dear_to_work_on_neither_stop_the_service_nor_fill_its_memory(
    start_service: StartService,
) -> None:
    service = start_service()
    with service.client() as client:
        promoted(client)
        for number in range(12):
            promoted(client, title=f"another {number}", dsl_payload=None)
        before = most_memory_mb(service)

        def send(body: bytes) -> httpx.Response:
            with service.client() as other:
                return other.post("/incorporator/invoke", content=body)

        with answering(service, 20), ThreadPoolExecutor(40) as pool:
            answers = list(pool.map(send, hostile_bodies() * 8))
        assert {one.status_code for one in answers} <= {200, 404, 503}
        assert invoke(client)["action"] == "retry_with_backoff"
    assert most_memory_mb(service) - before < 1_500
