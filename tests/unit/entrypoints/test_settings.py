"""Settings from the environment and from arguments: both are checked, and what is wrong is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from domain.errors import InvalidConfiguration
from domain.incorporator.outcome import AllowedActions
from entrypoints.settings import EmbedderKind, LogLevel, Settings, VectorBackend

PGVECTOR = "postgresql+asyncpg://mg:secret@db/x"


@pytest.mark.parametrize(
    "address",
    ["http://[::1", "http://host:99999", "http://host:0", "http://host:port", "http://", "ftp://host", "host:8000"],
)
def test_an_address_that_cannot_be_used_is_named(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("MG_HIL_BASE_URL", address)
    with pytest.raises(InvalidConfiguration, match="MG_HIL_BASE_URL: expected an address"):
        Settings()


@pytest.mark.parametrize("address", ["http://host?x=1", "http://host/path#part"])
def test_an_address_that_paths_cannot_be_put_after_is_named(address: str) -> None:
    with pytest.raises(InvalidConfiguration, match=r"MG_HIL_BASE_URL: expected an address without \? and #"):
        Settings(hil_base_url=address)


@pytest.mark.parametrize("variable", ["MG_HIL_AUTH_HEADER", "MG_WORKFLOW_ENGINE_AUTH_HEADER"])
@pytest.mark.parametrize("value", ["Bearer \u00e9", "Bearer a\r\nb"])
def test_what_no_header_can_hold_is_named_and_not_shown(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(InvalidConfiguration, match=f"{variable}: expected printable ASCII") as caught:
        Settings()
    assert value not in caught.value.detail


@pytest.mark.parametrize("address", ["http://[::1]:8000", "https://u:p%40@host/path", "http://host:65535"])
def test_an_address_is_taken_as_it_is(address: str) -> None:
    assert Settings(hil_base_url=address).hil_base_url == address


def test_every_variable_that_is_wrong_is_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MG_FAILURE_THRESHOLD_X", "none")
    monkeypatch.setenv("MG_EMBEDDER", "best")
    monkeypatch.setenv("MG_API_KEYS", "nobody")
    monkeypatch.setenv("MG_LLM_TIMEOUT_S", "40")
    with pytest.raises(InvalidConfiguration) as caught:
        Settings(log_level="loud")  # type: ignore[arg-type]
    for variable in ("MG_FAILURE_THRESHOLD_X", "MG_EMBEDDER", "MG_LOG_LEVEL", "MG_API_KEYS", "MG_LLM_TIMEOUT_S"):
        assert caught.value.detail.count(f"{variable}: ") == 1


def test_what_contradicts_a_variable_that_is_wrong_itself_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MG_REQUEST_TIMEOUT_S", "soon")
    monkeypatch.setenv("MG_LLM_TIMEOUT_S", "40")
    with pytest.raises(InvalidConfiguration) as caught:
        Settings()
    assert "MG_LLM_TIMEOUT_S: " not in caught.value.detail


@pytest.mark.parametrize(
    ("given", "variable"),
    [
        ({"failure_threshold": 0}, "MG_FAILURE_THRESHOLD_X"),
        ({"failure_threshold": 2.5}, "MG_FAILURE_THRESHOLD_X"),
        ({"failure_threshold": True}, "MG_FAILURE_THRESHOLD_X"),
        ({"failure_threshold": None}, "MG_FAILURE_THRESHOLD_X"),
        ({"llm_timeout_s": float("nan")}, "MG_LLM_TIMEOUT_S"),
        ({"fallback_min_similarity": 1.5}, "MG_FALLBACK_MIN_SIMILARITY"),
        ({"vector_backend": "elsewhere"}, "MG_VECTOR_BACKEND"),
        ({"vector_backend": EmbedderKind.ONNX}, "MG_VECTOR_BACKEND"),
        ({"vector_backend": "pgvector"}, "MG_VECTOR_DSN"),
        ({"feedback_dsn": "nowhere"}, "MG_FEEDBACK_TIDB_DSN"),
        ({"embedder_url": "nowhere"}, "MG_EMBEDDER_URL"),
        ({"api_keys": "nobody"}, "MG_API_KEYS"),
        ({"llm_model": None}, "MG_LLM_MODEL"),
        ({"allowed_actions": ("retry",)}, "MG_ALLOWED_ACTIONS"),
        ({"lessons_root": b"x"}, "MG_LESSONS_ROOT"),
    ],
)
def test_an_argument_is_checked_as_its_variable_is(given: dict[str, Any], variable: str) -> None:
    with pytest.raises(InvalidConfiguration, match=variable):
        Settings(**given)


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ({"vector_backend": "PGVECTOR", "vector_dsn": PGVECTOR}, {"vector_backend": VectorBackend.PGVECTOR}),
        ({"log_level": "error"}, {"log_level": LogLevel.ERROR}),
        ({"failure_threshold": "5"}, {"failure_threshold": 5}),
        ({"llm_timeout_s": 5}, {"llm_timeout_s": 5.0}),
        ({"feedback_retention_days": 7}, {"feedback_retention_days": 7}),
        ({"fallback_min_similarity": None}, {"fallback_min_similarity": None}),
        ({"lessons_root": Path("/a/b")}, {"lessons_root": "/a/b"}),
        ({"allowed_actions": "retry, wait"}, {"allowed_actions": AllowedActions(("retry", "wait"))}),
        ({"allowed_actions": AllowedActions(("x",))}, {"allowed_actions": AllowedActions(("x",))}),
        ({"embedder_url": ""}, {"embedder_url": ""}),
    ],
)
def test_an_argument_becomes_its_fields_type(given: dict[str, Any], read: dict[str, Any]) -> None:
    settings = Settings(**given)
    for name, value in read.items():
        found = getattr(settings, name)
        assert (found, type(found)) == (value, type(value))


def test_an_argument_takes_precedence_over_an_unusable_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MG_FAILURE_THRESHOLD_X", "none")
    assert Settings(failure_threshold=2).failure_threshold == 2


@pytest.mark.parametrize(
    ("place", "key"),
    [
        ("hil_base_url", "hil_auth_header"),
        ("workflow_engine_base_url", "workflow_engine_auth_header"),
        ("embedder_url", "embedder_api_key"),
    ],
)
def test_a_user_in_an_address_and_a_header_beside_it_are_refused_and_not_shown(place: str, key: str) -> None:
    both: dict[str, Any] = {place: "https://ann:tiger@host", key: "lion"}
    with pytest.raises(InvalidConfiguration, match="only one of them can be sent as Authorization") as caught:
        Settings(**both)
    assert f"MG_{place.upper()}, MG_{key.upper()}: " in caught.value.detail
    assert "tiger" not in caught.value.detail
    assert "lion" not in caught.value.detail
    for other in ({place: "https://host"}, {key: ""}):
        Settings(**{**both, **other})


@pytest.mark.parametrize(
    "host", ["http://x", "x/y", "a b", "x:8001", "[::1]", "*.", "*x", "a.*.b", "@x", "caf\u00e9.org", "-x", "x..y"]
)
def test_an_allowed_host_that_no_request_can_name_is_refused_and_named(host: str) -> None:
    with pytest.raises(
        InvalidConfiguration, match=r"MG_ALLOWED_HOSTS: .* expected a name or an address alone"
    ) as caught:
        Settings(allowed_hosts=f"grid.example, {host}")
    assert repr(host) in caught.value.detail


def test_names_patterns_and_addresses_are_allowed_hosts() -> None:
    given = "Grid.example, *.inner.example, my_host, 10.0.0.7, ::1, localhost, *"
    assert Settings(allowed_hosts=given).allowed_hosts == given
