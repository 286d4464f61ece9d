from __future__ import annotations

import subprocess
import sys
import textwrap

import anyio

from adapters.llm.anthropic_llm import AnthropicLlm
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


def test_the_sdk_is_loaded_on_first_use_beside_the_event_loop_and_within_the_time_limit(api: AnthropicStandIn) -> None:
    api.will(message("hello"))
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(FIRST_USE), api.url],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")


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
