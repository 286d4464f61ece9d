"""Where a request's processor time goes: each stage by itself, in one process on one core, without sockets.

`python -m tests.bench.stages` measures; the least of several repetitions counts, since whatever disturbs only adds.
"""

from __future__ import annotations

import asyncio
import itertools
import shutil
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import uvloop

from application.feedback.ports import RecordSelection
from domain.feedback.entry import OutcomeReport
from entrypoints.apps import incorporator_app
from entrypoints.container import IncorporatorContainer
from entrypoints.http.answers import answer
from entrypoints.http.incorporator import QUERY_BODY
from entrypoints.settings import Settings
from tests.bench import floor, seeds, servers
from tests.bench.processes import SERVER_CORE, run_pinned
from tests.bench.rounds import INVOKE
from tests.bench.scale import Scale

_REPETITIONS = 7
_AT_ONCE = (1, 8, 16, 64)

Call = Callable[[], Awaitable[object]]


class Job(msgspec.Struct, frozen=True, kw_only=True):
    lessons: int
    entries: int
    calls: int


class Stage(msgspec.Struct, frozen=True, kw_only=True):
    """Processor time of one request's part, in microseconds."""

    name: str
    cpu_us: float


def run(scale: Scale) -> dict[str, object]:
    """All stages."""
    job = msgspec.json.encode(Job(lessons=scale.lessons, entries=scale.entries, calls=scale.commits // 4))
    return {"stages": msgspec.json.decode(run_pinned("tests.bench.stages", job, SERVER_CORE), type=list[Stage])}


async def _measure(job: Job) -> list[Stage]:
    catalog = seeds.lesson_catalog(job.lessons)
    with tempfile.TemporaryDirectory(prefix="memorygrid-bench-") as folder:
        file = Path(folder) / "feedback.db"
        shutil.copyfile(seeds.feedback_file(job.entries), file)
        settings = Settings(
            feedback_dsn=seeds.dsn(file),
            lessons_dsn=catalog.dsn,
            lessons_root=str(catalog.folder),
            dsl_match_rules_path=str(catalog.rules),
            failure_threshold=1_000_000,
        )
        container = IncorporatorContainer(settings=settings)
        try:
            return [*await _parts(container, job), *await _batches(container, job)]
        finally:
            await container.database().aclose()
            await container.learner.database().aclose()


async def _parts(container: IncorporatorContainer, job: Job) -> list[Stage]:
    bodies = [one.replace("@@", "1").encode() for one in servers.invoke_bodies(min(seeds.RULES, job.lessons))]
    queries = [QUERY_BODY.decode(one) for one in bodies]
    match, apply = container.match(), container.apply()
    chosen = [await match(one) for one in queries]
    found = next(one for one in chosen if one is not None)
    outcome = await apply(found, queries[0])
    app = incorporator_app(container)
    parts: dict[str, Callable[[int], Awaitable[object]]] = {
        "no-op: the whole Litestar exchange": lambda at: _exchange(floor.app, bodies[0]),
        "service: the exchange of a request that is refused at the door": lambda at: _exchange(app, b""),
        "decode and check the body": lambda at: _at_once(partial(QUERY_BODY.decode, bodies[at])),
        "match": lambda at: match(queries[at]),
        "apply": lambda at: apply(found, queries[at]),
        "encode the answer": lambda at: _at_once(partial(answer, outcome)),
    }
    return [
        Stage(name=name, cpu_us=await _least(lambda part=part: _each(part, len(bodies), job.calls), job.calls))  # type: ignore[misc]
        for name, part in parts.items()
    ]


async def _batches(container: IncorporatorContainer, job: Job) -> list[Stage]:
    """What one request costs when so many are carried out in one transaction."""
    store, report = container.store(), container.report()
    numbers = itertools.count()
    reports = [msgspec.json.decode(one, type=OutcomeReport) for one in servers.outcome_bodies(job.entries, job.entries)]

    def record() -> Awaitable[object]:
        fresh = msgspec.structs.replace(
            seeds.entry(next(numbers)),
            id=container.learner.new_id()(),
            transaction_log_ref=container.learner.new_id()(),
        )
        return store.record(RecordSelection(entry=fresh))

    def tell() -> Awaitable[object]:
        return report(reports[next(numbers) % len(reports)])

    stages = []
    for name, call in (("record a selection", record), ("report an outcome", tell)):
        for at_once in _AT_ONCE:
            times = max(4, min(job.calls, 400) // at_once)
            cost = await _least(partial(_together, call, at_once, times), at_once * times)
            stages.append(Stage(name=f"{name}, {at_once} in a transaction", cpu_us=cost))
    return stages


async def _least(work: Call, requests: int) -> float:
    """Of several repetitions, in microseconds a request."""
    found = []
    for _ in range(_REPETITIONS):
        began = time.process_time()
        await work()
        found.append((time.process_time() - began) / requests)
    return round(1e6 * min(found), 2)


async def _each(part: Callable[[int], Awaitable[object]], bodies: int, calls: int) -> None:
    for at in range(calls):
        await part(at % bodies)


async def _together(call: Call, at_once: int, times: int) -> None:
    for _ in range(times):
        await asyncio.gather(*(call() for _ in range(at_once)))


async def _at_once(work: Callable[[], object]) -> object:
    return work()


async def _exchange(app: Any, body: bytes) -> None:
    """One request, as the server hands it over."""
    messages: Iterator[dict[str, object]] = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> dict[str, object]:
        return next(messages)

    async def send(_: object) -> None:
        return None

    await app(_scope(body), receive, send)


def _scope(body: bytes) -> dict[str, object]:
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "server": ("127.0.0.1", 8001),
        "client": ("127.0.0.1", 50_000),
        "scheme": "http",
        "method": "POST",
        "root_path": "",
        "path": INVOKE,
        "raw_path": INVOKE.encode(),
        "query_string": b"",
        "headers": [
            (b"host", b"127.0.0.1"),
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
        ],
        "state": {},
    }


if __name__ == "__main__":
    sys.stdout.buffer.write(
        msgspec.json.encode(uvloop.run(_measure(msgspec.json.decode(sys.stdin.buffer.read(), type=Job))))
    )
