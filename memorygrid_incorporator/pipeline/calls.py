"""The calls that both clients make, up to the sending: addresses, headers, bodies, and how the answers are read."""

from __future__ import annotations

import enum
import logging
import os
import ssl
import uuid
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final, Literal, TypeVar

import httpx
import msgspec

from memorygrid_incorporator.pipeline.bodies import encoded, mended, not_sent
from memorygrid_incorporator.pipeline.exchange import Exchange, RetryPolicy
from memorygrid_incorporator.pipeline.problems import is_no_match, problem_of, read
from memorygrid_incorporator.pipeline.step import Step
from memorygrid_incorporator.pipeline.wire import ApplierOutcome, FeedbackEntry, InvokeBody, OutcomeBody

Default = TypeVar("Default")

LONGEST_FAREWELL_S = 2.0
#: With these a service refuses what a report holds.
_REFUSED = frozenset({400, 413, 422})
_LAST_PORT = 65_535


class NoMatch(enum.Enum):
    """What `invoke` does when no lesson applies and the caller has named no value for it."""

    RAISE = "raise"


RAISE: Final = NoMatch.RAISE

_log = logging.getLogger(__name__)


class Calls:
    """Makes each call's `Exchange`. Knows the service's address and the key; never shows the key.

    `api_key` falls back to the environment's MG_API_KEY; without either (or with an empty one) no key is sent.
    Raises `ValueError` for an address that is not http(s)://host[:port][/prefix], and for a key no header can carry.
    """

    def __init__(self, base_url: str, *, api_key: str | None, policy: RetryPolicy) -> None:
        self.base_url = _checked(base_url)
        self._policy = policy
        self._headers = httpx.Headers({"Accept": "application/json", "Content-Type": "application/json"})
        key = os.environ.get("MG_API_KEY", "") if api_key is None else api_key
        if not (key.isascii() and key.isprintable()) or " " in key:
            raise ValueError("the api_key holds characters that an Authorization header cannot carry")
        if key:
            self._headers["Authorization"] = f"Bearer {key}"

    @cached_property
    def tls(self) -> ssl.SSLContext:
        """What the connections trust. Loading the certificates takes some 50 ms, for which plain http has no use."""
        if self.base_url.scheme == "https":
            return httpx.create_ssl_context()
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

    def invoke(
        self, body: InvokeBody, on_no_match: Default | Literal[NoMatch.RAISE]
    ) -> Exchange[ApplierOutcome | Default]:
        """Ask for a lesson. `on_no_match` is the answer when there is none. Raises `NotSendable`."""

        def read_outcome(response: httpx.Response) -> ApplierOutcome | Default:
            if not isinstance(on_no_match, NoMatch) and is_no_match(response):
                return on_no_match
            return read(response, ApplierOutcome)

        return Exchange(
            url=self._url("/incorporator/invoke"),
            headers=self._headers_with_key(),
            content=encoded(body),
            policy=self._policy,
            read=read_outcome,
        )

    def report(self, body: OutcomeBody) -> Exchange[FeedbackEntry]:
        """Report how a step went. Raises `NotSendable`."""
        return self._report(body, self._policy)

    def closing_report(self, step: Step, error: BaseException | None = None) -> Exchange[FeedbackEntry] | None:
        """What a step reports that has ended, with `error` where it raised; a hurried report after an interruption."""
        body = step.closing_body(error)
        if body is None:
            return None
        if error is None or isinstance(error, Exception):
            return self._report(body, self._policy)
        timeout_s = min(self._policy.timeout_s, LONGEST_FAREWELL_S)
        return self._report(body, msgspec.structs.replace(self._policy, timeout_s=timeout_s))

    def _report(self, body: OutcomeBody, policy: RetryPolicy) -> Exchange[FeedbackEntry]:
        detail = body.detail

        def plainer(response: httpx.Response) -> bytes | None:
            if detail is None or response.status_code not in _REFUSED:
                return None
            problem = problem_of(response).detail or f"{response.status_code} {response.reason_phrase}"
            return encoded(_with_detail(body, *not_sent(f"the service refused a report with the detail: {problem}")))

        return Exchange(
            url=self._url("/incorporator/outcome"),
            headers=self._headers_with_key(),
            content=encoded(body if detail is None else _with_detail(body, *mended(detail, "detail"))),
            policy=policy,
            read=lambda response: read(response, FeedbackEntry),
            plainer=plainer,
        )

    def _url(self, path: str) -> httpx.URL:
        return self.base_url.copy_with(path=self.base_url.path.rstrip("/") + path)

    def _headers_with_key(self) -> httpx.Headers:
        headers = self._headers.copy()
        headers["Idempotency-Key"] = str(uuid.uuid4())
        return headers


def _with_detail(body: OutcomeBody, detail: Mapping[str, object], faults: Sequence[str]) -> OutcomeBody:
    """The report with a detail that can be sent; what was wrong with the caller's is logged."""
    if faults:
        _log.warning(
            "the detail of step %r in session %r was not reported as it is: %s",
            body.problem_solving_step_ref,
            body.session_id,
            "; ".join(faults),
        )
    return msgspec.structs.replace(body, detail=detail)


def _checked(base_url: str) -> httpx.URL:
    try:
        url = httpx.URL(base_url)
    except httpx.InvalidURL as error:
        raise ValueError(f"base_url is no address: {error}") from error
    if url.scheme not in {"http", "https"} or not url.host or url.userinfo or url.query or url.fragment:
        raise ValueError("base_url must be http(s)://host[:port][/prefix]; a key belongs in api_key")
    if url.port is not None and not 0 < url.port <= _LAST_PORT:
        raise ValueError(f"base_url names the port {url.port}: there are those from 1 to {_LAST_PORT}")
    return url
