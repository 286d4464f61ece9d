"""Clients that do as the hook client does: every call carries a key and is repeated with it until it is answered."""

from __future__ import annotations

import random
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, NamedTuple

import httpx

from tests.e2e.calls import query

_GIVE_UP_S = 60.0
_REPEATED = {409, 429, 500, 502, 503, 504}


class Done(NamedTuple):
    """One selection with its outcome, both acknowledged."""

    step: str
    flag: str
    applied: dict[str, Any]
    entry: dict[str, Any]


class Load:
    """So many clients go through so many steps of their own, each once; `urls` are used in turn.

    `done` are the acknowledged ones, `statuses` counts every answer, `errors` is what must never happen.
    """

    def __init__(self, urls: Sequence[str], *, clients: int, steps: int, failing: float = 0.6) -> None:
        self.done: list[Done] = []
        self.errors: list[str] = []
        self.statuses: Counter[int] = Counter()
        self._urls = urls
        self._failing = failing
        self._run = uuid.uuid4().hex[:8]
        self._steps = iter(range(steps))
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._client, args=(number,)) for number in range(clients)]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self._steps = iter(())
        for thread in self._threads:
            thread.join(3 * _GIVE_UP_S)
        assert not any(thread.is_alive() for thread in self._threads)

    def wait_for(self, count: int) -> None:
        """Until so many outcomes are acknowledged."""
        end = time.monotonic() + 3 * _GIVE_UP_S
        while len(self.done) < count and any(thread.is_alive() for thread in self._threads):
            assert time.monotonic() < end, f"only {len(self.done)} of {count}: {self.errors[:3]}"
            time.sleep(0.01)

    def _client(self, number: int) -> None:
        chance = random.Random(number)
        url = self._urls[number % len(self._urls)]
        with httpx.Client(base_url=url, timeout=20, trust_env=False) as client:
            while (step := self._next_step()) is not None:
                flag = "failure" if chance.random() < self._failing else "success"
                try:
                    self._one(client, f"{self._run}-{step}", flag)
                except AssertionError as error:
                    self.errors.append(str(error))

    def _next_step(self) -> int | None:
        with self._lock:
            return next(self._steps, None)

    def _one(self, client: httpx.Client, step: str, flag: str) -> None:
        applied = self._until_answered(client, "/incorporator/invoke", query(step), f"invoke-{step}")
        body = {"problem_solving_step_ref": step, "session_id": "s1", "result_flag": flag}
        entry = self._until_answered(client, "/incorporator/outcome", body, f"outcome-{step}")
        self.done.append(Done(step, flag, applied, entry))

    def _until_answered(self, client: httpx.Client, path: str, body: Mapping[str, object], key: str) -> dict[str, Any]:
        end = time.monotonic() + _GIVE_UP_S
        while time.monotonic() < end:
            try:
                response = client.post(path, json=body, headers={"Idempotency-Key": key})
            except httpx.TransportError:
                time.sleep(0.05)
                continue
            with self._lock:
                self.statuses[response.status_code] += 1
            if response.status_code == 200:
                answer: dict[str, Any] = response.json()
                return answer
            assert response.status_code in _REPEATED, f"{path}: {response.status_code} {response.text[:300]}"
            time.sleep(0.05)
        raise AssertionError(f"{path} with {key} stayed without an answer for {_GIVE_UP_S:g} s")


def side_by_side(work: Callable[[int], Any], count: int) -> list[Any]:
    """What each of the calls `work(0)`, `work(1)`, … gave; they start at the same moment."""
    results: list[Any] = [None] * count
    start = threading.Barrier(count)

    def one(at: int) -> None:
        start.wait(30)
        try:
            results[at] = work(at)
        except (AssertionError, httpx.TransportError) as error:
            results[at] = error

    threads = [threading.Thread(target=one, args=(at,)) for at in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    return results


def timed(call: Callable[[], httpx.Response]) -> tuple[float, int]:
    """Seconds that the call took, and its status."""
    start = time.monotonic()
    status = call().status_code
    return time.monotonic() - start, status
