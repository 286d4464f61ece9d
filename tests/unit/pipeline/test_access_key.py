from __future__ import annotations

import logging

import httpx
import pytest

from memorygrid_incorporator.pipeline.incorporator_hook import IncorporatorHookClient, SyncIncorporatorHookClient
from tests.unit.pipeline.callers import Caller
from tests.unit.pipeline.conftest import MakeCaller
from tests.unit.pipeline.service import DROPPED, Service, problem

KEY = "k-0123456789"
CLIENTS = pytest.mark.parametrize("client", [IncorporatorHookClient, SyncIncorporatorHookClient])
AnyClient = type[IncorporatorHookClient] | type[SyncIncorporatorHookClient]


def test_a_given_key_is_sent_as_a_bearer_token(make_caller: MakeCaller, service: Service) -> None:
    make_caller(api_key=KEY).invoke()
    assert service.received[0].headers["authorization"] == f"Bearer {KEY}"


def test_without_a_given_key_the_environments_is_sent(
    make_caller: MakeCaller, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MG_API_KEY", KEY)
    make_caller().report(True)
    assert service.received[0].headers["authorization"] == f"Bearer {KEY}"


def test_a_given_empty_key_means_none(
    make_caller: MakeCaller, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MG_API_KEY", KEY)
    make_caller(api_key="").invoke()
    assert "authorization" not in service.received[0].headers


def test_without_any_key_no_authorization_is_sent(caller: Caller, service: Service) -> None:
    caller.invoke()
    assert "authorization" not in service.received[0].headers


def test_no_error_and_no_log_line_shows_the_key(
    make_caller: MakeCaller, service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    caller = make_caller(api_key=KEY, attempts=1)
    service.will_answer(problem(401, "unauthorized", "wrong key"), DROPPED)
    for expected in (httpx.HTTPStatusError, httpx.TransportError):
        with pytest.raises(expected) as caught:
            caller.invoke()
        assert KEY not in str(caught.value)
        assert KEY not in repr(caught.value)
        assert KEY not in repr(caught.value.request.headers)
    assert caplog.text
    assert KEY not in caplog.text


@CLIENTS
def test_a_clients_repr_shows_the_address_and_not_the_key(client: AnyClient) -> None:
    assert repr(client("http://localhost:8001", api_key=KEY)) == f"{client.__name__}('http://localhost:8001')"


@CLIENTS
@pytest.mark.parametrize("key", [f"{KEY}\n", f"{KEY} x", f"{KEY}é", f"{KEY}\0"])
def test_a_key_that_no_header_can_carry_is_refused_without_being_shown(client: AnyClient, key: str) -> None:
    with pytest.raises(ValueError, match="api_key") as caught:
        client("http://localhost:8001", api_key=key)
    assert KEY not in str(caught.value)


@CLIENTS
@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:8001",
        "ftp://localhost",
        "http://",
        "http://u:p@localhost",
        "http://localhost/?a=b",
        "http://[::",
        "http://x:99999",
        "http://x:0",
    ],
)
def test_an_address_that_is_none_is_refused(client: AnyClient, url: str) -> None:
    with pytest.raises(ValueError, match="base_url"):
        client(url)


@pytest.mark.parametrize(
    "number",
    [{"timeout_s": 0}, {"attempts": 0}, {"backoff_s": -1}, {"max_pause_s": -1}],
    ids=str,
)
def test_a_number_that_makes_no_sense_is_refused(make_caller: MakeCaller, number: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="must be"):
        make_caller(**number)
