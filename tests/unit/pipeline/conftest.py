from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from memorygrid_incorporator.pipeline.incorporator_hook import IncorporatorHookClient, SyncIncorporatorHookClient
from tests.unit.pipeline.callers import AsyncCaller, Caller, SyncCaller
from tests.unit.pipeline.service import Service, running_service

MakeCaller = Callable[..., Caller]


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MG_API_KEY", raising=False)


@pytest.fixture
def service() -> Iterator[Service]:
    with running_service() as service:
        yield service


@pytest.fixture(params=["async", "sync"])
def make_caller(request: pytest.FixtureRequest, service: Service) -> MakeCaller:
    """Makes a caller of the service with a client of either kind, which retries quickly."""

    def make(
        *,
        url: str = service.url,
        api_key: str | None = None,
        timeout_s: float = 10.0,
        attempts: int = 4,
        backoff_s: float = 0.01,
        max_pause_s: float = 0.05,
    ) -> Caller:
        if request.param == "async":
            return AsyncCaller(
                IncorporatorHookClient(
                    url,
                    api_key=api_key,
                    timeout_s=timeout_s,
                    attempts=attempts,
                    backoff_s=backoff_s,
                    max_pause_s=max_pause_s,
                )
            )
        return SyncCaller(
            SyncIncorporatorHookClient(
                url,
                api_key=api_key,
                timeout_s=timeout_s,
                attempts=attempts,
                backoff_s=backoff_s,
                max_pause_s=max_pause_s,
            )
        )

    return make


@pytest.fixture
def caller(make_caller: MakeCaller) -> Caller:
    return make_caller()
