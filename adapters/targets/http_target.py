"""Escalation targets over HTTP: an external review service, or a workflow engine."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit

import httpx
import msgspec

from adapters.per_event_loop import PerEventLoop
from adapters.targets.webhook_signer import WebhookSigner
from application.feedback.ports import EscalationTarget
from application.shared.ports import Clock
from domain.errors import DeliveryFailed
from domain.feedback.escalation import Escalation, State
from domain.values import JsonObject

_TIMEOUT_S = 8.0
_SUCCESS = range(200, 300)


class HttpTarget(EscalationTarget):
    """POSTs each escalation's documented body to `base_url` + `path`; any 2xx is a delivery.

    `Idempotency-Key` is the escalation's id, the same at each attempt. Redirects are not followed.
    """

    in_process = False

    def __init__(
        self,
        *,
        base_url: str,
        path: str,
        body: Callable[[Escalation], JsonObject],
        clock: Clock,
        authorization: str | None = None,
        signer: WebhookSigner | None = None,
    ) -> None:
        self._url = base_url.rstrip("/") + path
        self._body = body
        self._clock = clock
        self._authorization = authorization
        self._signer = signer
        self._clients = PerEventLoop(_connect)

    @property
    def name(self) -> str:
        parts = urlsplit(self._url)
        host = parts.hostname or ""
        return f"{parts.scheme}://{host}{f':{parts.port}' if parts.port else ''}{parts.path}"

    async def deliver(self, escalation: Escalation) -> State:
        body = msgspec.json.encode(self._body(escalation))
        headers = self._headers(escalation, body)
        try:
            client = await self._clients.current()
            async with client.stream("POST", self._url, content=body, headers=headers) as response:
                status = response.status_code
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise DeliveryFailed(f"{self.name}: {type(error).__name__}") from error
        if status not in _SUCCESS:
            raise DeliveryFailed(f"{self.name} answered {status}")
        return State.DELIVERED

    async def aclose(self) -> None:
        await self._clients.aclose()

    def _headers(self, escalation: Escalation, body: bytes) -> dict[str, str]:
        headers = {"content-type": "application/json", "idempotency-key": escalation.id}
        if self._authorization is not None:
            headers["authorization"] = self._authorization
        if self._signer is not None:
            headers.update(self._signer.headers(escalation.id, int(self._clock.now().timestamp()), body))
        return headers


def _connect() -> httpx.AsyncClient:
    return httpx.AsyncClient(timeout=_TIMEOUT_S, follow_redirects=False)
