"""What the service adds to the language model's time: invokes whose lesson the model chooses, over a local stand-in.

The stand-in answers at once; what an exchange with it takes by itself is measured beside and taken off.
"""

from __future__ import annotations

import http.client
import json
import re
import tempfile
from pathlib import Path

import msgspec

from tests.bench import corpus, seeds, servers
from tests.bench.load import Load
from tests.bench.processes import Server
from tests.bench.rounds import INVOKE, Median, median, one_round
from tests.bench.scale import Scale
from tests.bench.timing import Times, of_each
from tests.fakes.anthropic_stand_in import Answer, AnthropicStandIn, Request, message

_LESSON_ID = re.compile(r'"lesson_id":"([0-9a-f-]{36})"')
_FIRST_WITHIN_S = 60.0


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """`added_ms` is the median invoke less the median exchange with the model."""

    lessons: int
    invoke: Median
    exchange: Times
    added_ms: float


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
        exchange = _exchange(model, scale)
    added = round(invokes.p50_ms - exchange.p50_ms, 3)
    return {"found": Found(lessons=scale.lessons, invoke=invokes, exchange=exchange, added_ms=added)}


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
