"""What the service adds to the language model's time: invokes whose lesson the model chooses, over a local stand-in.

The stand-in answers at once. What an exchange with it takes by itself is measured beside, over a bare connection and
through the Anthropic SDK alone, whose own work is a part of what asking a model takes: the service's is the rest.

Run as `python -m tests.bench.llm_path` it measures the SDK, in a process of its own on the server's core.
"""

from __future__ import annotations

import http.client
import json
import re
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import uvloop
from anthropic import AsyncAnthropic

from tests.bench import corpus, seeds, servers
from tests.bench.load import Load
from tests.bench.processes import SERVER_CORE, Server, run_pinned
from tests.bench.rounds import INVOKE, Median, median, one_round
from tests.bench.scale import Scale
from tests.bench.timing import Times, of_each, of_each_awaited
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


def run(scale: Scale) -> dict[str, object]:
    """At the catalog of the hot path, one caller at a time."""
    catalog = seeds.lesson_catalog(scale.lessons)
    with tempfile.TemporaryDirectory(prefix="memorygrid-bench-") as folder, AnthropicStandIn() as model:
        model.will(_first_candidate)
        settings = {
            "MG_MATCH_STRATEGY_MODE": "llm_only",
            "ANTHROPIC_API_KEY": "bench",
            "ANTHROPIC_BASE_URL": model.url,
        }
        with servers.service(Path(folder), catalog, scale.entries, **settings) as server:
            invokes = median(_rounds(server, scale))
        exchange, sdk = _exchange(model, scale), _through_the_sdk(model, scale)
    found = Found(
        lessons=scale.lessons,
        invoke=invokes,
        exchange=exchange,
        sdk=sdk,
        added_ms=round(invokes.p50_ms - exchange.p50_ms, 3),
        own_ms=round(invokes.p50_ms - sdk.p50_ms, 3),
    )
    return {"found": found}


def _rounds(server: Server, scale: Scale) -> list[Load]:
    bodies = [_body(number) for number in range(scale.repeats)]
    _ask_once(server, bodies[0].encode())
    return [one_round(server, INVOKE, bodies, 1, scale.round_s) for _ in range(scale.rounds)]


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
