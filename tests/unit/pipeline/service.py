"""A real HTTP server on this machine that answers as a test tells it to, and remembers what it was asked."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import SHUT_RDWR, socket

import msgspec

OUTCOME: Mapping[str, object] = {
    "id": "outcome-1",
    "source": "dsl",
    "action": "retry_with_backoff",
    "instruction": "Retry upload report.pdf with backoff",
    "recommended_action_payload": {"dsl_payload": {"action": "retry_with_backoff"}},
    "match_result": {
        "matched_entity_type": "skill",
        "matched_entity_id": "lesson-1",
        "matcher_used": "dsl",
        "confidence": 1,
        "raw_payload": {"id": "lesson-1", "title": "Retry uploads"},
        "fallback_reason": None,
        "a_newer_field": True,
    },
    "created_at": "2026-10-22T10:00:00Z",
    "a_newer_field": [1, 2],
}
ENTRY: Mapping[str, object] = {
    "id": "entry-1",
    "problem_solving_step_ref": "step-17",
    "session_id": "s1",
    "lesson_skill_id": "lesson-1",
    "matched_entity_type": "skill",
    "selection_query": {"problem_type": "flaky_upload"},
    "selection_context": {"operation": "upload report.pdf"},
    "result_flag": "failure",
    "usage_count": 2,
    "transaction_log_ref": "outcome-1",
    "timestamp": "2026-10-22T10:00:00.123456Z",
    "updated_at": "2026-10-22T10:00:01.5+00:00",
    "review_round": 1,
    "matcher_used": "dsl",
    "fallback_reason": None,
    "failure_class": "lesson",
    "detail": {"error": "ValueError: no"},
    "failures_seen": 3,
    "a_newer_field": {},
}


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """One answer: after `delay_s` seconds a status, headers and a body (JSON unless bytes), or a dropped connection.

    The body comes byte by byte with a positive `trickle_s`, which is the time between two of them.
    """

    status: int = 200
    body: object = b""
    headers: Mapping[str, str] = {}
    delay_s: float = 0.0
    trickle_s: float = 0.0
    drop: bool = False


class Received(msgspec.Struct, frozen=True):
    """One request as it came in; header names are in lower case."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, object]


DROPPED = Answer(drop=True)


def problem(status: int, code: str, detail: str = "", **headers: str) -> Answer:
    """An RFC 9457 problem, with headers such as `Retry_After="1"`."""
    body = {"type": f"https://memorygrid.example/problems/{code}", "title": code, "status": status, "detail": detail}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status=status, body=body, headers={"Content-Type": "application/problem+json", **named})


NO_MATCH = problem(404, "no-match", "no promoted lesson applies to this problem")
IN_PROGRESS = problem(409, "request-in-progress", "the same key is being worked on")


class Service(ThreadingHTTPServer):
    """Gives the answers of its script, one a request; after them, and without any, what a healthy service says."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.script: deque[Answer] = deque()
        self.received: list[Received] = []
        self.connections: list[socket] = []

    def will_answer(self, *answers: Answer) -> None:
        self.script.extend(answers)

    def idempotency_keys(self) -> list[str]:
        """The idempotency keys that came in, in order."""
        return [request.headers["idempotency-key"] for request in self.received]

    def drop_connections(self) -> None:
        """Close every connection, as a service that restarts does."""
        for connection in self.connections:
            with suppress(OSError):
                connection.shutdown(SHUT_RDWR)

    def reports(self) -> list[dict[str, object]]:
        """The bodies of the outcomes that were reported, in order."""
        return [request.body for request in self.received if request.path.endswith("/incorporator/outcome")]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Service

    def setup(self) -> None:
        super().setup()
        self.server.connections.append(self.connection)

    def do_POST(self) -> None:
        body = msgspec.json.decode(self.rfile.read(int(self.headers["Content-Length"])), type=dict[str, object])
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.received.append(Received(self.path, headers, body))
        healthy = Answer(body=OUTCOME if self.path.endswith("/invoke") else ENTRY)
        self._give(self.server.script.popleft() if self.server.script else healthy)

    def _give(self, answer: Answer) -> None:
        time.sleep(answer.delay_s)
        if answer.drop:
            self.close_connection = True
            return
        content = answer.body if isinstance(answer.body, bytes) else msgspec.json.encode(answer.body)
        self.send_response(answer.status)
        for name, value in {"Content-Type": "application/json", **answer.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        with suppress(ConnectionError):
            for piece in [content] if answer.trickle_s == 0 else [bytes([byte]) for byte in content]:
                self.wfile.write(piece)
                time.sleep(answer.trickle_s)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


@contextmanager
def running_service() -> Iterator[Service]:
    """A service that listens while the block runs."""
    with Service() as service:
        thread = threading.Thread(target=service.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield service
        finally:
            service.shutdown()
            thread.join()
            service.drop_connections()
