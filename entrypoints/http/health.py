"""Whether the service is alive, and whether it can serve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from entrypoints.http import examples
from entrypoints.http.access import Permission
from entrypoints.http.answers import Answer, answer
from entrypoints.http.operation import Call, Route
from entrypoints.http.refusals import NotReady
from entrypoints.http.services import Check, Readiness


class Alive(msgspec.Struct, frozen=True):
    status: Literal["ok"] = "ok"


class Ready(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`checks` name what is wrong (null: it is well); strangers do not see them."""

    status: Literal["ok", "degraded"]
    checks: dict[str, str | None] = {}


@Route("GET", "/health", permission=Permission.NONE, answers=Alive, answer_example={"status": "ok"})
async def health(_: Readiness, call: Call) -> Answer:
    """Whether the service is alive

    It says so always; whether it can serve is what `/health/ready` says.
    """
    return answer(Alive())


@Route(
    "GET",
    "/health/ready",
    permission=Permission.NONE,
    answers=Ready,
    raises=[NotReady],
    answer_example=examples.DEGRADED,
)
async def ready(readiness: Readiness, call: Call) -> Answer:
    """Whether the service can serve

    503 where requests cannot be served; `degraded` where they can, but something is wrong or missing, which `checks`
    names. So it says where no ANTHROPIC_API_KEY is set, and that is fine where none is wanted: rules, templates and
    similarity do without a language model.
    """
    checks = await readiness()
    if any(check.vital and check.problem for check in checks):
        raise NotReady(_wrong(checks) if call.known else "requests cannot be served just now")
    status: Literal["ok", "degraded"] = "degraded" if any(check.problem for check in checks) else "ok"
    return answer(Ready(status=status, checks={check.name: check.problem for check in checks} if call.known else {}))


def _wrong(checks: Sequence[Check]) -> str:
    return "; ".join(f"{check.name}: {check.problem}" for check in checks if check.problem)


OPERATIONS = (health, ready)
