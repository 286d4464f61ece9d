from __future__ import annotations

import subprocess
import sys
import textwrap

import anyio
import pytest

from adapters.llm.anthropic_llm import AnthropicLlm
from domain.errors import LlmUnavailable
from tests.fakes.anthropic_stand_in import AnthropicStandIn, message
from tests.unit.llm.asking import KEY, PROMPT

FIRST_USE = """
import sys, time, anyio
from adapters.llm.anthropic_llm import AnthropicLlm
from adapters.circuit_breaker import CircuitBreaker
from domain.errors import LlmUnavailable
from tests.unit.llm.asking import KEY, PROMPT

async def main():
    circuit = CircuitBreaker("The language model", LlmUnavailable, threshold=1)
    llm = AnthropicLlm(api_key=KEY, model="a-model", base_url=sys.argv[1], circuit=circuit)
    assert llm.problem() is None
    assert not {"anthropic", "httpx2", "pydantic"} & set(sys.modules), "imported before the first use"
    started = time.monotonic()
    try:
        await llm.ask(PROMPT, 0.05)
    except LlmUnavailable as problem:
        assert problem.detail == "The Anthropic SDK was not loaded in time.", problem
    assert time.monotonic() - started < 1.5, "the time limit was not kept"
    assert llm.problem() is None, "held against the model"
    ticks = 0
    async def tick():
        nonlocal ticks
        while True:
            await anyio.sleep(0.01)
            ticks += 1
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tick)
        assert (await llm.ask(PROMPT, 60)).text == "hello"
        tasks.cancel_scope.cancel()
    assert ticks >= 5, ticks

anyio.run(main)
"""


def run(script: str, api: AnthropicStandIn) -> subprocess.CompletedProcess[str]:
    """In a process that has not loaded the SDK yet."""
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(script), api.url]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_the_sdk_is_loaded_on_first_use_beside_the_event_loop_and_within_the_time_limit(api: AnthropicStandIn) -> None:
    api.will(message("hello"))
    ran = run(FIRST_USE, api)
    assert (ran.returncode, ran.stderr) == (0, "")


OPENED_FIRST = """
import sys, anyio
from adapters.llm.anthropic_llm import AnthropicLlm
from tests.unit.llm.asking import KEY, PROMPT

async def main():
    llm = AnthropicLlm(api_key=KEY, model="a-model", base_url=sys.argv[1])
    await llm.open()
    assert "anthropic" in sys.modules
    assert (await llm.ask(PROMPT, 60)).text == "hello"

anyio.run(main)
"""


def test_opening_loads_the_sdk_before_the_first_question(api: AnthropicStandIn) -> None:
    api.will(message("hello"))
    ran = run(OPENED_FIRST, api)
    assert (ran.returncode, ran.stderr) == (0, "")


async def test_without_a_key_there_is_nothing_to_open() -> None:
    llm = AnthropicLlm(api_key=None, model="a-model")
    await llm.open()
    assert llm.problem() is not None


async def test_what_is_wrong_with_the_sdk_is_said_by_the_question_and_not_by_opening() -> None:
    llm = AnthropicLlm(api_key=KEY, model="a-model", base_url="http://[::1")
    await llm.open()
    with pytest.raises(LlmUnavailable, match="cannot be used"):
        await llm.ask(PROMPT, 10)


def test_one_model_serves_one_event_loop_after_the_other_and_leaves_nothing_open(api: AnthropicStandIn) -> None:
    llm = AnthropicLlm(api_key=KEY, model="a-model", base_url=api.url)
    api.will(message("hello"))

    async def ask() -> str:
        return (await llm.ask(PROMPT, 10)).text

    assert [anyio.run(ask) for _ in range(3)] == ["hello"] * 3


async def test_a_closed_model_may_be_asked_again(api: AnthropicStandIn, llm: AnthropicLlm) -> None:
    api.will(message("hello"))
    await llm.aclose()
    await llm.ask(PROMPT, 10)
    await llm.aclose()
    await llm.aclose()
    assert (await llm.ask(PROMPT, 10)).text == "hello"
