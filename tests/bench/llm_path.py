"""What the service adds to the language model's time: invokes whose lesson the model chooses, over a local stand-in.

The stand-in answers at once, on the load generator's core. What an exchange with it takes by itself is measured
beside, over a bare connection and through the Anthropic SDK alone, whose own work is a part of what asking a model
takes: the service's is the rest. A server that times its stages answers the same questions, in turn with the service.

Run as `python -m tests.bench.llm_path` it measures the SDK, in a process of its own on the server's core.
"""

from __future__ import annotations

import http.client
import json
import re
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import uvloop
from anthropic import AsyncAnthropic

from tests.bench import corpus, seeds, servers
from tests.bench.load import Load, is_whole, request
from tests.bench.processes import LOAD_CORE, SERVER_CORE, Server, pinned, run_pinned
from tests.bench.rounds import INVOKE, Median, median, one_round
from tests.bench.scale import Scale
from tests.bench.staged import ASK, COPIES, EXCHANGE, WITHIN
from tests.bench.timing import Stage, Times, of_each, of_each_awaited, stages
from tests.fakes.anthropic_stand_in import Answer, AnthropicStandIn, Request, message

_LESSON_ID = re.compile(r'"lesson_id":"([0-9a-f-]{36})"')
_FIRST_WITHIN_S = 60.0


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One request to the Messages API, to be sent so many times."""

    url: str
    request: dict[str, Any]
    times: int


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """`own_ms` is the median invoke less the median exchange through the SDK, `added_ms` less the bare exchange."""

    lessons: int
    invoke: Median
    exchange: Times
    sdk: Times
    added_ms: float
    own_ms: float


class Staged(msgspec.Struct, frozen=True, kw_only=True):
    """An invoke's stages, once each question has been asked before: medians, each by itself, in milliseconds.
    `not_asking_ms` is the median of all that is not asking the model.
    """

    stages: Sequence[Stage]
    requests: int
    invoke_ms: float
    not_asking_ms: float


def run(scale: Scale) -> dict[str, object]:
    """At the catalog of the hot path, one caller at a time."""
    with (
        tempfile.TemporaryDirectory(prefix="memorygrid-bench-") as folder,
        pinned(LOAD_CORE),
        AnthropicStandIn() as model,
    ):
        model.will(_first_candidate)
        work = Path(folder)
        invokes, staged = _invokes(work, model, scale)
        exchange, sdk = _exchange(model, scale), _through_the_sdk(model, scale)
    found = Found(
        lessons=scale.lessons,
        invoke=invokes,
        exchange=exchange,
        sdk=sdk,
        added_ms=round(invokes.p50_ms - exchange.p50_ms, 3),
        own_ms=round(invokes.p50_ms - sdk.p50_ms, 3),
    )
    return {"found": found, "staged": staged}


def _service(work: Path, model: AnthropicStandIn, scale: Scale, kind: str = "service", **settings: str) -> Server:
    settings |= {
        "MG_MATCH_STRATEGY_MODE": "llm_only",
        "ANTHROPIC_API_KEY": "bench",
        "ANTHROPIC_BASE_URL": model.url,
    }
    return servers.service(work, seeds.lesson_catalog(scale.lessons), scale.entries, kind, **settings)


def _invokes(work: Path, model: AnthropicStandIn, scale: Scale) -> tuple[Median, Staged]:
    """Of the service, a round at a time, and in turn with it of the one that times its stages, each question once."""
    file = work / "stages.json"
    bodies = [_body(number) for number in range(scale.repeats)]
    plain, timed = _service(work, model, scale), _service(work, model, scale, "staged", BENCH_STAGES=str(file))
    loads: list[Load] = []
    took: list[float] = []
    with plain, timed:
        _ask_once(plain, bodies[0].encode())
        _each_asked(timed, bodies)
        for _ in range(scale.rounds):
            loads.append(one_round(plain, INVOKE, bodies, 1, scale.round_s))
            took += _each_asked(timed, bodies)
    requests = msgspec.json.decode(file.read_bytes(), type=list[dict[str, float]])[len(bodies) :]
    return median(loads), _stages(requests, took)


def _each_asked(server: Server, bodies: Sequence[str]) -> list[float]:
    """The seconds that each request took, over one connection."""
    took = []
    with socket.create_connection(("127.0.0.1", server.port), timeout=_FIRST_WITHIN_S) as connection:
        for number, body in enumerate(bodies):
            sent, answer = request(INVOKE, body, number), b""
            began = time.perf_counter()
            connection.sendall(sent)
            while not is_whole(answer):
                if not (more := connection.recv(65_536)):
                    raise RuntimeError("the server hung up in the middle of an answer")
                answer += more
            took.append(time.perf_counter() - began)
            if not answer.startswith(b"HTTP/1.1 200 "):
                raise RuntimeError(f"an invoke was answered with {answer!r}")
    return took


def _stages(requests: Sequence[dict[str, float]], took: Sequence[float]) -> Staged:
    """What is outside of the application is told request by request."""
    exchanges = [whole - one.pop(WITHIN) for one, whole in zip(requests, took, strict=True)]
    parts = stages([{**one, EXCHANGE: exchange} for one, exchange in zip(requests, exchanges, strict=True)])
    if never := [one.name for one in parts if not one.p50_ms and one.name != COPIES]:
        raise RuntimeError(f"the service never went through {never}: what tests/bench/staged.py wraps has moved")
    others = [whole - one[ASK] for one, whole in zip(requests, took, strict=True)]
    return Staged(
        stages=parts,
        requests=len(requests),
        invoke_ms=round(1e3 * statistics.median(took), 4),
        not_asking_ms=round(1e3 * statistics.median(others), 4),
    )


def _ask_once(server: Server, body: bytes) -> None:
    """The first call imports the SDK."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=_FIRST_WITHIN_S)
    connection.request("POST", INVOKE, body, {"content-type": "application/json"})
    connection.getresponse().read()
    connection.close()


def _body(number: int) -> str:
    return json.dumps(
        {
            "session_id": "load-@@",
            "problem_solving_step_ref": "step-1",
            "problem_type": "alert",
            "current_task_context": {"alert": corpus.question(number)},
        }
    )


def _first_candidate(request: Request) -> Answer:
    """Chooses the first lesson that it is shown."""
    shown = _LESSON_ID.search(request.body["messages"][0]["content"])
    lesson_id = shown.group(1) if shown else None
    return message(json.dumps({"lesson_id": lesson_id, "confidence": 0.9}))


def _exchange(model: AnthropicStandIn, scale: Scale) -> Times:
    """The last question again, over a bare connection."""
    body = json.dumps(model.requests[-1].body).encode()
    connection = http.client.HTTPConnection("127.0.0.1", int(model.url.rpartition(":")[2]))

    def ask() -> None:
        connection.request("POST", "/v1/messages", body, {"content-type": "application/json"})
        connection.getresponse().read()

    ask()
    times = of_each([ask] * max(scale.repeats, 20))
    connection.close()
    return times


def _through_the_sdk(model: AnthropicStandIn, scale: Scale) -> Times:
    """The same through the SDK, which also makes the request and reads the answer."""
    job = Job(url=model.url, request=model.requests[-1].body, times=max(scale.repeats, 20))
    answer = run_pinned("tests.bench.llm_path", msgspec.json.encode(job), SERVER_CORE)
    return msgspec.json.decode(answer, type=Times)


async def _sent(job: Job) -> Times:
    async with AsyncAnthropic(api_key="bench", base_url=job.url, max_retries=0) as client:
        send = partial(client.messages.with_raw_response.create, **job.request)
        for _ in range(10):
            await send()
        return await of_each_awaited([send] * job.times)


if __name__ == "__main__":
    sys.stdout.buffer.write(
        msgspec.json.encode(uvloop.run(_sent(msgspec.json.decode(sys.stdin.buffer.read(), type=Job))))
    )
