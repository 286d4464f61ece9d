from __future__ import annotations

import json
import logging

import pytest

from adapters.llm.anthropic_llm import AnthropicLlm
from adapters.llm.anthropic_sdk import THINKING_ALLOWANCE
from application.shared.ports import LlmReply
from tests.fakes.anthropic_stand_in import AnthropicStandIn, Request, error, message, without
from tests.unit.llm.asking import KEY, PROMPT, refusal_of

NO_FORMAT = "output_config: Extra inputs are not permitted"
NO_DISABLING = '"thinking.type.disabled" is not supported for this model.'
FORMAT = {"format": {"type": "json_schema", "schema": PROMPT.schema}}


def is_plain(request: Request) -> bool:
    """Whether the schema comes in words, after the instructions, and in no other way."""
    system = request.body["system"]
    return (
        "output_config" not in request.body
        and system.startswith(PROMPT.system)
        and json.dumps(PROMPT.schema, separators=(",", ":")) in system
    )


async def test_a_question_is_one_request_to_the_messages_api(api: AnthropicStandIn, llm: AnthropicLlm) -> None:
    api.will(message("{}"))
    await llm.ask(PROMPT, 10)
    (request,) = api.requests
    assert request.path == "/v1/messages"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body == {
        "model": "a-model",
        "max_tokens": 256,
        "system": PROMPT.system,
        "messages": [{"role": "user", "content": PROMPT.user}],
        "output_config": FORMAT,
        "thinking": {"type": "disabled"},
    }


async def test_text_blocks_are_joined_and_others_passed_over(api: AnthropicStandIn, llm: AnthropicLlm) -> None:
    thinking = {"type": "thinking", "thinking": "Hm.", "signature": "x"}
    text = [{"type": "text", "text": part} for part in ('{"action":', ' "go"}')]
    api.will(message(content=[thinking, text[0], {"type": "something_new", "data": [1]}, text[1]]))
    assert (await llm.ask(PROMPT, 10)).text == '{"action": "go"}'


async def test_a_message_without_content_is_an_empty_reply(api: AnthropicStandIn, llm: AnthropicLlm) -> None:
    api.will(message(content=[]))
    assert (await llm.ask(PROMPT, 10)).text == ""


async def test_tokens_of_the_prompt_cache_count_as_input(api: AnthropicStandIn, llm: AnthropicLlm) -> None:
    api.will(message("{}", cache_creation_input_tokens=100, cache_read_input_tokens=1000))
    assert await llm.ask(PROMPT, 10) == LlmReply(text="{}", input_tokens=1111, output_tokens=7)


async def test_a_reply_cut_short_is_given_back_as_far_as_it_came(api: AnthropicStandIn, llm: AnthropicLlm) -> None:
    api.will(message('{"action": "g', stop_reason="max_tokens"))
    assert (await llm.ask(PROMPT, 10)).text == '{"action": "g'


async def test_a_refusal_is_no_reply_and_not_asked_again(api: AnthropicStandIn, llm: AnthropicLlm) -> None:
    api.will(message("I would rather not.", stop_reason="refusal"))
    assert "declined" in (await refusal_of(llm)).detail
    assert len(api.requests) == 1


@pytest.mark.parametrize("status", [400, 422])
async def test_where_structured_output_is_refused_plain_json_is_asked_for_and_that_is_remembered(
    api: AnthropicStandIn, llm: AnthropicLlm, caplog: pytest.LogCaptureFixture, status: int
) -> None:
    api.will(lambda request: error(status, NO_FORMAT) if "output_config" in request.body else message("{}"))
    for _ in range(2):
        assert (await llm.ask(PROMPT, 10)).text == "{}"
    assert [is_plain(request) for request in api.requests] == [False, True, True]
    assert [record.levelno for record in caplog.records if "`output_config`" in record.getMessage()] == [
        logging.WARNING
    ]


async def test_a_request_that_is_refused_for_its_own_sake_changes_nothing_for_others(
    api: AnthropicStandIn, llm: AnthropicLlm
) -> None:
    api.will(error(400, "prompt is too long"), error(400, "prompt is too long"), message("{}"))
    assert "prompt is too long" in (await refusal_of(llm)).detail
    assert [is_plain(request) for request in api.requests] == [False, True]
    await llm.ask(PROMPT, 10)
    assert not is_plain(api.requests[-1])


async def test_a_model_that_cannot_but_think_is_given_the_room_for_it(api: AnthropicStandIn, llm: AnthropicLlm) -> None:
    api.will(without("thinking", NO_DISABLING, message("{}")))
    for _ in range(2):
        assert (await llm.ask(PROMPT, 10)).text == "{}"
    _, second, third = (request.body for request in api.requests)
    assert second == third
    assert second["output_config"] == FORMAT
    assert second["max_tokens"] == PROMPT.max_tokens + THINKING_ALLOWANCE


async def test_a_gateway_that_knows_neither_option_is_asked_with_neither(
    api: AnthropicStandIn, llm: AnthropicLlm
) -> None:
    api.will(
        lambda request: next(
            (error(400, f"{key}: unknown field") for key in ("output_config", "thinking") if key in request.body),
            message("{}"),
        )
    )
    await llm.ask(PROMPT, 10)
    await llm.ask(PROMPT, 10)
    assert len(api.requests) == 4
    assert is_plain(api.requests[-1])


async def test_passing_failures_do_not_count_as_refusals(api: AnthropicStandIn, llm: AnthropicLlm) -> None:
    api.will(error(400, NO_FORMAT), error(529), error(400, NO_FORMAT), message("{}"))
    await llm.ask(PROMPT, 10)
    assert [is_plain(request) for request in api.requests] == [False, True, False, True]
