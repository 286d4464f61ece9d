from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import anyio
import pytest
from msgspec import structs

from adapters.circuit_breaker import CircuitBreaker
from adapters.llm.anthropic_llm import AnthropicLlm
from domain.errors import LlmUnavailable
from tests.fakes.anthropic_stand_in import FOR_EVER, Answer, AnthropicStandIn, error, message
from tests.unit.llm.asking import PROMPT, refusal_of

With = Callable[[CircuitBreaker], AnthropicLlm]
SILENCE = Answer(delay_s=FOR_EVER)
OPEN_S = 0.2


@pytest.fixture
def circuit() -> CircuitBreaker:
    """Opens after two failures."""
    return CircuitBreaker("The language model", LlmUnavailable, threshold=2, open_s=OPEN_S)


@pytest.mark.parametrize(
    "answer",
    [
        SILENCE,
        None,
        error(401),
        error(403),
        error(404),
        error(429, retry_after="3600"),
        error(500),
        error(529),
        Answer(),
    ],
    ids=["silence", "hang-up", "401", "403", "404", "429", "500", "529", "no message"],
)
async def test_a_dead_model_is_not_asked_by_every_request(
    api: AnthropicStandIn, llm_with: With, answer: Answer | None
) -> None:
    llm = llm_with(CircuitBreaker("The language model", LlmUnavailable, threshold=2, open_s=60))
    api.will(answer)
    first = [await refusal_of(llm, timeout_s=0.4) for _ in range(2)]
    refused = await refusal_of(llm, timeout_s=0.4)
    assert len(api.requests) <= 2
    assert "2 times in a row" in refused.detail
    assert first[-1].detail in refused.detail
    assert "2 times in a row" in (llm.problem() or "")


async def test_it_is_asked_again_after_a_while_by_one_request_first(
    api: AnthropicStandIn, llm_with: With, circuit: CircuitBreaker
) -> None:
    llm = llm_with(circuit)
    api.will(error(500), error(500), structs.replace(message("better"), delay_s=0.1), message("again"))
    for _ in range(2):
        await refusal_of(llm)
    await anyio.sleep(OPEN_S)
    assert llm.problem() is None
    outcomes: list[str] = []

    async def ask() -> None:
        try:
            outcomes.append((await llm.ask(PROMPT, 10)).text)
        except LlmUnavailable:
            outcomes.append("unavailable")

    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(ask)
    assert sorted(outcomes) == ["better", "unavailable", "unavailable"]
    assert (await llm.ask(PROMPT, 10)).text == "again"


@pytest.mark.parametrize(
    "answer",
    [error(400), error(413), error(422), message("No.", stop_reason="refusal"), message("garbage")],
    ids=["400", "413", "422", "refusal", "garbage"],
)
async def test_an_answer_to_one_prompt_alone_is_not_held_against_the_model(
    api: AnthropicStandIn, llm_with: With, circuit: CircuitBreaker, answer: Answer
) -> None:
    llm = llm_with(circuit)
    api.will(answer)
    for _ in range(4):
        with suppress(LlmUnavailable):
            await llm.ask(PROMPT, 10)
    assert llm.problem() is None


async def test_callers_that_give_up_are_not_held_against_the_model(
    api: AnthropicStandIn, llm_with: With, circuit: CircuitBreaker
) -> None:
    llm = llm_with(circuit)
    api.will(SILENCE)
    for _ in range(4):
        with anyio.move_on_after(0.02):
            await llm.ask(PROMPT, 10)
    assert llm.problem() is None


async def test_a_caller_that_gives_up_on_the_trial_leaves_it_to_the_next(
    api: AnthropicStandIn, llm_with: With, circuit: CircuitBreaker
) -> None:
    llm = llm_with(circuit)
    api.will(error(500), error(500), SILENCE, message("better"))
    for _ in range(2):
        await refusal_of(llm)
    await anyio.sleep(OPEN_S)
    with anyio.move_on_after(0.05):
        await llm.ask(PROMPT, 10)
    assert (await llm.ask(PROMPT, 10)).text == "better"


async def test_having_no_time_left_is_not_held_against_the_model(
    api: AnthropicStandIn, llm_with: With, circuit: CircuitBreaker
) -> None:
    llm = llm_with(circuit)
    api.will(message("{}"))
    await llm.ask(PROMPT, 10)
    for _ in range(4):
        assert "No time was left" in (await refusal_of(llm, timeout_s=0)).detail
    assert llm.problem() is None
    assert len(api.requests) == 1
