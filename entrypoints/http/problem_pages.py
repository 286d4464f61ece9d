"""`/problems`: what the `type` of a problem refers to. Open to everybody: who is refused may read why."""

from __future__ import annotations

import msgspec

from entrypoints.http.access import Permission
from entrypoints.http.answers import Answer, answer
from entrypoints.http.operation import Call, Route
from entrypoints.http.problem_kinds import TABLE
from entrypoints.http.refusals import UnknownPath


class ProblemKind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of problem: what all problems of one type have in common, and what to do about them."""

    type: str
    status: int
    title: str
    advice: str
    retry_after: int | None


def _shown(code: str) -> ProblemKind:
    kind = TABLE[code]
    return ProblemKind(
        type=f"/problems/{code}",
        status=kind.status,
        title=kind.title,
        advice=kind.advice,
        retry_after=kind.retry_after,
    )


@Route("GET", "/problems", permission=Permission.NONE, answers=list[ProblemKind], answer_example=[_shown("no-match")])
async def problem_kinds(_: None, call: Call) -> Answer:
    """Every kind of problem that this service answers with

    Open to everybody: who is refused may read why.
    """
    return answer([_shown(code) for code in TABLE])


@Route(
    "GET",
    "/problems/{code:str}",
    permission=Permission.NONE,
    answers=ProblemKind,
    answer_example=_shown("no-match"),
    raises=[UnknownPath],
)
async def problem_kind(_: None, call: Call) -> Answer:
    """One kind of problem, as a problem's `type` names it

    With what to do about it. Open to everybody.
    """
    code = call.path_parameter("code")
    if code not in TABLE:
        raise UnknownPath("there is no such kind of problem: see /problems for those that there are")
    return answer(_shown(code))


OPERATIONS = (problem_kinds, problem_kind)
