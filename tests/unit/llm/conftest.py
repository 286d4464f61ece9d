from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from adapters.circuit_breaker import CircuitBreaker
from adapters.llm import anthropic_sdk
from adapters.llm.anthropic_llm import AnthropicLlm
from adapters.retry_policy import RetryPolicy
from tests.fakes.anthropic_stand_in import AnthropicStandIn
from tests.unit.llm.asking import KEY

assert anthropic_sdk, "Imported beforehand, so that short time limits are the model's alone."


@pytest.fixture(autouse=True)
def _no_certificates(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-in speaks plain HTTP; reading the system's certificates takes each client 50 ms."""
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.setenv("SSL_CERT_DIR", str(Path(__file__).parent))


@pytest.fixture
def api() -> Iterator[AnthropicStandIn]:
    with AnthropicStandIn() as stand_in:
        yield stand_in


@pytest.fixture
def llm(api: AnthropicStandIn) -> AnthropicLlm:
    """Asks the stand-in, and tries three times in quick succession."""
    return AnthropicLlm(api_key=KEY, model="a-model", base_url=api.url, retries=RetryPolicy(base_s=0.01))


@pytest.fixture
def llm_with(api: AnthropicStandIn) -> Callable[[CircuitBreaker], AnthropicLlm]:
    """Asks the stand-in once only, behind the given circuit breaker."""
    return lambda circuit: AnthropicLlm(
        api_key=KEY, model="a-model", base_url=api.url, retries=RetryPolicy(attempts=1), circuit=circuit
    )
