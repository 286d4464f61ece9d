"""A local stand-in of the Messages API: a real HTTP server that answers as it is told, well or badly."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

import msgspec

_TICK_S = 0.02


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What came in. The headers' names are in lower case."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What goes out: after `delay_s` seconds, and with `drip_s` seconds before each byte of the body."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = {}
    delay_s: float = 0.0
    drip_s: float = 0.0


Behaviour = Callable[[Request], "Answer | None"]
"""From a request to its answer. None hangs up without one."""

FOR_EVER = 3600.0


def message(
    text: str | None = None, *, stop_reason: str = "end_turn", content: list[dict[str, Any]] | None = None, **usage: int
) -> Answer:
    """A well-formed message with one text block, or with the `content` given, at a cost of 11 and 7 tokens."""
    blocks = content if content is not None else [{"type": "text", "text": text}]
    body = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "a-model",
        "content": blocks,
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": {"input_tokens": 11, "output_tokens": 7, **usage},
    }
    return Answer(body=json.dumps(body).encode(), headers={"content-type": "application/json", "request-id": "req_1"})


def error(status: int, said: str = "it is so", **headers: str) -> Answer:
    """An error in the API's form. A header `retry_after="3600"` goes out as `retry-after`."""
    body = {"type": "error", "error": {"type": "api_error", "message": said}}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status=status, body=json.dumps(body).encode(), headers={"content-type": "application/json", **named})


def always(answer: Answer | None) -> Behaviour:
    """The same answer to everything."""
    return lambda _: answer


def without(option: str, said: str, answer: Answer) -> Behaviour:
    """A 400 to requests that have the option, and the answer to all others."""
    return lambda request: error(400, said) if option in request.body else answer


class AnthropicStandIn:
    """Serves in threads while the `with` block lasts. `requests` are those that came in, in order."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self._script: list[Behaviour] = []
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _handler_of(self))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(_TICK_S,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def will(self, *script: Behaviour | Answer | None) -> None:
        """From now on: the first to the next request, the second to the one after it; the last to all that follow."""
        with self._lock:
            self._script = [one if callable(one) else always(one) for one in script]

    def answer(self, request: Request) -> Answer | None:
        with self._lock:
            self.requests.append(request)
            behaviour = self._script.pop(0) if len(self._script) > 1 else self._script[0]
        return behaviour(request)

    def wait(self, seconds: float) -> None:
        """Returns after so many seconds, or when the stand-in ends. Raises `ConnectionError` in the latter case."""
        if self._over.wait(seconds):
            raise ConnectionAbortedError

    def __enter__(self) -> AnthropicStandIn:
        self._thread.start()
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self._over.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that gave up, or an end in the middle of an answer, is no news."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def _handler_of(stand_in: AnthropicStandIn) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            headers = {name.lower(): value for name, value in self.headers.items()}
            answer = stand_in.answer(Request(path=self.path, headers=headers, body=body))
            if answer is None:
                self.close_connection = True
                return
            stand_in.wait(answer.delay_s)
            self._send(answer)

        def _send(self, answer: Answer) -> None:
            self.send_response(answer.status)
            for name, value in {**answer.headers, "content-length": str(len(answer.body))}.items():
                self.send_header(name, value)
            self.end_headers()
            if not answer.drip_s:
                self.wfile.write(answer.body)
                return
            for byte in answer.body:
                self.wfile.flush()
                stand_in.wait(answer.drip_s)
                self.wfile.write(bytes([byte]))

        def log_message(self, *_: Any) -> None:
            """Says nothing."""

    return Handler
