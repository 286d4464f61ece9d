"""An external review service or workflow engine: a real HTTP server that records what it is sent."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import NamedTuple


class Delivery(NamedTuple):
    path: str
    body: dict[str, object]
    headers: dict[str, str]
    raw: bytes


class RecordingTarget:
    """`answer(delivery, number)` gives the status; it may block to keep a delivery hanging."""

    def __init__(self, answer: Callable[[Delivery, int], int] = lambda _delivery, _number: 200) -> None:
        self.deliveries: list[Delivery] = []
        self.answer = answer
        target = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers["content-length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                delivery = Delivery(self.path, json.loads(raw), headers, raw)
                target.deliveries.append(delivery)
                status = target.answer(delivery, len(target.deliveries))
                self.send_response(status)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
                """Stays silent."""

        class Server(ThreadingHTTPServer):
            def handle_error(self, request: object, client_address: object) -> None:
                """A caller that was killed is no news."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> RecordingTarget:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def delivering_to(*, review: str = "", engine: str = "", threshold: int = 1) -> dict[str, str]:
    """The settings of a service that escalates to these targets, each where its URL is given."""
    path = "both" if review and engine else "human_only" if review else "auto_only"
    settings = {"MG_REVIEWER_PATH_MODE": path, "MG_FAILURE_THRESHOLD_X": str(threshold)}
    if review:
        settings |= {"MG_HIL_MODE": "http", "MG_HIL_BASE_URL": review}
    if engine:
        settings |= {"MG_AUTO_REMEDIATION_MODE": "http", "MG_WORKFLOW_ENGINE_BASE_URL": engine}
    return settings
