"""How long requests may take. One timer watches over all of them: a timer each would cost as much as the match."""

from __future__ import annotations

import asyncio

#: Seconds after which a request that goes on in spite of its cancellation is cancelled again.
_AGAIN_S = 0.1


class Watch:
    """The time of one request, which a task works on. `over` once the task has been cancelled for taking too long."""

    __slots__ = ("_cancellations", "_task", "_watched", "ends_at", "goes_on")

    def __init__(self, task: asyncio.Task[object], ends_at: float, watched: dict[Watch, None]) -> None:
        self.ends_at = ends_at
        self.goes_on = True
        self._task = task
        self._cancellations = 0
        self._watched = watched
        watched[self] = None

    @property
    def over(self) -> bool:
        return self._cancellations > 0

    def cancel(self) -> None:
        self._cancellations += 1
        self._task.cancel()

    def end(self) -> None:
        """The task is on its own from now on: the request has been answered, or its answer has begun."""
        if not self.goes_on:
            return
        self.goes_on = False
        self._watched.pop(self, None)
        if self._cancellations and hasattr(self._task, "uncancel"):  # from Python 3.11 on, a task counts them
            for _ in range(self._cancellations):
                self._task.uncancel()


class Deadlines:
    """Cancels the tasks of requests that take longer than `timeout_s` seconds."""

    def __init__(self, timeout_s: float) -> None:
        self.timeout_s = timeout_s
        self._watched: dict[Watch, None] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._looks = False

    def watch(self) -> Watch:
        """From now on the running task's time counts, until the watch's `end`."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        if task is None:
            raise RuntimeError("a request is worked on by a task")
        if loop is not self._loop:  # an earlier loop's requests have ended with it
            self._loop, self._watched, self._looks = loop, {}, False
        watch = Watch(task, loop.time() + self.timeout_s, self._watched)
        if not self._looks:
            self._looks = True
            loop.call_at(watch.ends_at, self._look, loop, self._watched)
        return watch

    def _look(self, loop: asyncio.AbstractEventLoop, watched: dict[Watch, None]) -> None:
        """Comes when the request that began first has no time left, or would have had none."""
        late = [watch for watch in watched if watch.ends_at <= loop.time()]
        for watch in late:
            del watched[watch]
            self._insist(loop, watch)
        first = next(iter(watched), None)
        if first is None:
            self._looks = False
        else:
            loop.call_at(first.ends_at, self._look, loop, watched)

    def _insist(self, loop: asyncio.AbstractEventLoop, watch: Watch) -> None:
        if watch.goes_on:
            watch.cancel()
            loop.call_later(_AGAIN_S, self._insist, loop, watch)
