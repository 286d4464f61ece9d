"""The service as the commands see it: every call of its API, the same over the network and over the local stores."""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import httpx
import msgspec

from application.feedback.ports import EntryFilter, EscalationFilter, Miss
from application.feedback.queries import UsageMetrics
from application.incorporator.explain import Explanation
from application.learner.ports import LessonFilter
from domain.feedback.entry import FeedbackEntry
from domain.incorporator.query import QueryInput
from domain.learner.lesson import Decision, LessonDraft, LessonEdit
from entrypoints.cli.answers import read, refusal, unreachable
from entrypoints.cli.failures import ExitCode, Failure
from entrypoints.cli.progress import waiting
from entrypoints.cli.said import Said
from entrypoints.http.lesson_wire import LessonAnswer, LogAnswer, QueueItem

if TYPE_CHECKING:
    from entrypoints.http.escalations import EscalationAnswer

T = TypeVar("T")

_LARGEST_PAGE = 1_000
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Ready(msgspec.Struct, frozen=True):
    """`checks` name what is wrong (null: it is well); strangers do not see them."""

    checks: dict[str, str | None] = {}


class Service:
    """Calls the API through an HTTP client, whose transport decides where it is. Every method raises `Failure`.

    `place` is how people are told where the answers come from.
    """

    def __init__(self, client: httpx.AsyncClient, *, place: str) -> None:
        self._client = client
        self.place = place

    async def checks(self) -> dict[str, str | None]:
        """What the service says of its parts: what is wrong, or None. Empty for a stranger."""
        return (await self._get("/health/ready", Ready)).checks

    async def lessons(self, where: LessonFilter, most: int | None = None) -> list[LessonAnswer]:
        """The newest `most` lessons that fulfil the conditions; all without."""
        query = {"status": where.status, "bin": where.bin, "tag": where.tag, "q": where.text}
        return await self._pages("/lessons", query, most, LessonAnswer)

    async def lesson(self, lesson_id: str) -> LessonAnswer:
        return await self._get(f"/lessons/{_part(lesson_id)}", LessonAnswer)

    async def log(self, lesson_id: str) -> list[LogAnswer]:
        """All of it, oldest first."""
        return await self._pages(f"/lessons/{_part(lesson_id)}/log", {}, None, LogAnswer)

    async def inject(self, drafts: Sequence[LessonDraft]) -> list[LessonAnswer]:
        """Stores 1 to 1,000 drafts as lessons that await review, all or none."""
        return await self._post("/lessons/batch", list[LessonAnswer], list(drafts), keyed=True)

    async def queue(self) -> list[QueueItem]:
        """The lessons that await review, longest waiting first."""
        return await self._pages("/lessons/review/queue", {}, None, QueueItem)

    async def decide(self, lesson_id: str, decision: Decision, said: Said) -> LessonAnswer:
        return await self._post(f"/lessons/{_part(lesson_id)}/{decision.value}", LessonAnswer, said)

    async def edit(self, lesson_id: str, edit: LessonEdit, said: Said) -> LessonAnswer:
        """Edits and promotes."""
        body = {**msgspec.to_builtins(said), **msgspec.to_builtins(edit)}
        return await self._post(f"/lessons/{_part(lesson_id)}/edit", LessonAnswer, body)

    async def erase(self, lesson_id: str) -> None:
        response = await self._send("DELETE", f"/lessons/{_part(lesson_id)}")
        if not response.is_success:
            raise refusal(response)

    async def explain(self, query: QueryInput, *, with_llm: bool) -> Explanation:
        """What an invoke would match, and why."""
        path = "/incorporator/match?llm=true" if with_llm else "/incorporator/match"
        return await self._post(path, Explanation, query)

    async def entries(self, where: EntryFilter, most: int | None = None) -> list[FeedbackEntry]:
        """The newest `most` feedback entries that fulfil the conditions; all without."""
        return await self._pages("/feedback/", msgspec.to_builtins(where), most, FeedbackEntry)

    async def usage(self, lesson_id: str | None = None) -> UsageMetrics:
        return await self._get("/feedback/metrics/usage", UsageMetrics, {"lesson_skill_id": lesson_id})

    async def misses(self, limit: int) -> list[Miss]:
        """Most frequent first."""
        return await self._get("/incorporator/misses", list[Miss], {"limit": limit})

    async def escalations(self, where: EscalationFilter, most: int | None = None) -> list[EscalationAnswer]:
        """The newest `most` escalations that fulfil the conditions; all without."""
        from entrypoints.http.escalations import EscalationAnswer  # noqa: PLC0415 - brings the HTTP framework in

        return await self._pages("/escalations", msgspec.to_builtins(where), most, EscalationAnswer)

    async def retry(self, escalation_id: str) -> EscalationAnswer:
        """Makes a failed or waiting escalation due at once."""
        from entrypoints.http.escalations import EscalationAnswer  # noqa: PLC0415 - brings the HTTP framework in

        return await self._post(f"/escalations/{_part(escalation_id)}/retry", EscalationAnswer)

    async def _pages(self, path: str, query: dict[str, Any], most: int | None, shape: type[T]) -> list[T]:
        found: list[T] = []
        target: str | None = path
        given = {**query, "limit": min(most or _LARGEST_PAGE, _LARGEST_PAGE)}
        with waiting("Reading"):
            while target is not None and (most is None or len(found) < most):
                response = await self._send("GET", target, query=given)
                page: list[T] = read(response, list[shape])  # type: ignore[valid-type]
                found += page
                target, given = response.links.get("next", {}).get("url"), {}
        return found[:most]

    async def _get(self, path: str, shape: type[T], query: dict[str, Any] | None = None) -> T:
        return read(await self._send("GET", path, query=query), shape)

    async def _post(self, path: str, shape: type[T], body: object = None, *, keyed: bool = False) -> T:
        content = msgspec.json.encode(body) if body is not None else b""
        return read(await self._send("POST", path, content=content, keyed=keyed), shape)

    async def _send(
        self,
        method: str,
        path: str,
        *,
        query: dict[str, Any] | None = None,
        content: bytes = b"",
        keyed: bool = False,
    ) -> httpx.Response:
        given = {name: msgspec.to_builtins(value) for name, value in (query or {}).items() if value is not None}
        headers = {"Content-Type": "application/json"}
        if keyed:
            headers["Idempotency-Key"] = str(uuid.uuid4())
        try:
            return await self._client.request(
                method, path, params=given or None, content=content or None, headers=headers
            )
        except httpx.HTTPError as error:
            raise unreachable(error, self.place) from error


def _part(given: str) -> str:
    """An id as one part of a path. Raises `Failure` for what is none, whatever a user has typed."""
    if not _UUID.fullmatch(given):
        raise Failure(f"nothing has the id {given!r}: an id is a UUID in lower case", ExitCode.NO)
    return given
