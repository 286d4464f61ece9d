from __future__ import annotations

import socket

import anyio
import pytest
from msgspec import structs

from adapters.llm.anthropic_llm import AnthropicLlm
from adapters.retry_policy import RetryPolicy
from domain.errors import LlmUnavailable
from tests.fakes.anthropic_stand_in import FOR_EVER, Answer, AnthropicStandIn, error, message
from tests.unit.llm.asking import KEY, PROMPT, refusal_of

HANG_UP = None
HTML = Answer(body=b"<html>Sign in</html>", headers={"content-type": "text/html"})
JSON = {"content-type": "application/json"}


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
async def test_passing_errors_are_tried_again(api: AnthropicStandIn, llm: AnthropicLlm, status: int) -> None:
    api.will(error(status), error(status), message("better"))
    assert (await llm.ask(PROMPT, 10)).text == "better"
    assert len(api.requests) == 3


async def test_a_connection_that_breaks_is_tried_again(api: AnthropicStandIn, llm: AnthropicLlm) -> None:
    api.will(HANG_UP, message("better"))
    assert (await llm.ask(PROMPT, 10)).text == "better"


async def test_tries_are_bounded_and_the_sdk_adds_none_of_its_own(api: AnthropicStandIn, llm: AnthropicLlm) -> None:
    api.will(error(529, "Overloaded"))
    assert (await refusal_of(llm)).detail == "The language model's API answered 529: Overloaded."
    assert len(api.requests) == 3


@pytest.mark.parametrize(
    ("status", "hint"), [(401, "ANTHROPIC_API_KEY"), (403, "ANTHROPIC_API_KEY"), (404, "MG_LLM_MODEL"), (413, "")]
)
async def test_errors_that_will_not_pass_are_not_tried_again_and_say_what_to_check(
    api: AnthropicStandIn, llm: AnthropicLlm, status: int, hint: str
) -> None:
    api.will(error(status, "no such thing"))
    detail = (await refusal_of(llm)).detail
    assert f"{status}: no such thing." in detail
    assert hint in detail
    assert len(api.requests) == 1


async def test_an_error_that_the_api_says_not_to_try_again_is_not(api: AnthropicStandIn, llm: AnthropicLlm) -> None:
    api.will(error(429, x_should_retry="false"))
    await refusal_of(llm)
    assert len(api.requests) == 1


async def test_a_wait_that_the_api_asks_for_is_kept(api: AnthropicStandIn, llm: AnthropicLlm) -> None:
    api.will(error(429, retry_after_ms="300"), message("better"))
    started = anyio.current_time()
    assert (await llm.ask(PROMPT, 10)).text == "better"
    assert anyio.current_time() - started >= 0.3


@pytest.mark.parametrize("retry_after", ["3600", "10", "Fri, 31 Dec 2999 23:59:59 GMT", "inf"])
async def test_a_wait_beyond_the_time_limit_is_not_begun(
    api: AnthropicStandIn, llm: AnthropicLlm, retry_after: str
) -> None:
    api.will(error(429, retry_after=retry_after), error(500, x_should_retry="false"))
    started = anyio.current_time()
    await refusal_of(llm, timeout_s=10)
    assert anyio.current_time() - started < 2


async def test_a_wait_beyond_the_callers_own_time_limit_is_not_begun(api: AnthropicStandIn, llm: AnthropicLlm) -> None:
    api.will(error(429, retry_after="5"))
    with anyio.fail_after(2):
        assert "429" in (await refusal_of(llm, timeout_s=10)).detail


@pytest.mark.parametrize(
    "answer",
    [
        Answer(delay_s=FOR_EVER),
        Answer(status=500, delay_s=FOR_EVER),
        Answer(body=message("{}").body, headers=JSON, drip_s=0.02),
        Answer(body=b" " * 10_000, headers=JSON, drip_s=0.02),
    ],
    ids=["hangs", "hangs and fails", "drips a message", "drips for ever"],
)
async def test_the_time_limit_holds_whatever_the_api_does(
    api: AnthropicStandIn, llm: AnthropicLlm, answer: Answer
) -> None:
    api.will(answer)
    started = anyio.current_time()
    assert (await refusal_of(llm, timeout_s=0.2)).detail == "The language model did not answer within 0.2 s."
    assert anyio.current_time() - started < 2


async def test_the_time_limit_includes_all_tries(api: AnthropicStandIn, llm: AnthropicLlm) -> None:
    api.will(Answer(status=500, delay_s=0.15))
    started = anyio.current_time()
    await refusal_of(llm, timeout_s=0.2)
    assert anyio.current_time() - started < 2


@pytest.mark.parametrize(
    "answer",
    [
        HTML,
        Answer(),
        Answer(body=b"{", headers=JSON),
        Answer(body=b"null", headers=JSON),
        Answer(body=b"[]", headers=JSON),
        Answer(body=b"{}", headers=JSON),
        Answer(body=b'{"content": "text"}', headers=JSON),
        Answer(body=b'{"content": [{"type": "text", "text": null}]}', headers=JSON),
        Answer(body=b'{"content": [], "usage": {"input_tokens": "many"}}', headers=JSON),
        Answer(body=b"\xff\xfe", headers=JSON),
        Answer(body=b'{"content": [{"type": "text", "text": "\xff"}]}', headers=JSON),
        Answer(body=b'{"content": [], "more": ' + b"[" * 100_000, headers=JSON),
    ],
    ids=lambda answer: repr(answer.body[:40]),
)
async def test_an_answer_that_is_no_message_is_not_tried_again(
    api: AnthropicStandIn, llm: AnthropicLlm, answer: Answer
) -> None:
    api.will(answer)
    assert "something else than a message" in (await refusal_of(llm)).detail
    assert len(api.requests) == 1


async def test_an_error_in_another_form_is_told_by_its_status(api: AnthropicStandIn, llm: AnthropicLlm) -> None:
    api.will(Answer(status=502, body=b"<html>nginx</html>"))
    assert (await refusal_of(llm)).detail == "The language model's API answered 502: Bad Gateway."


async def test_an_api_that_is_out_of_reach_is_named() -> None:
    with socket.socket() as nobody_listens:
        nobody_listens.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{nobody_listens.getsockname()[1]}"
        llm = AnthropicLlm(api_key=KEY, model="a-model", base_url=url, retries=RetryPolicy(base_s=0.01))
        assert "API at 127.0.0.1 is out of reach: " in (await refusal_of(llm)).detail
        await llm.aclose()


@pytest.mark.parametrize("url", ["127.0.0.1:1", "nonsense", "http://[::1"])
async def test_a_base_url_that_is_none_makes_the_model_unavailable(url: str) -> None:
    llm = AnthropicLlm(api_key=KEY, model="a-model", base_url=url, retries=RetryPolicy(attempts=1))
    await refusal_of(llm)
    await llm.aclose()


async def test_a_prompt_that_cannot_be_sent_makes_the_model_unavailable(llm: AnthropicLlm) -> None:
    with pytest.raises(LlmUnavailable, match="could not be asked"):
        await llm.ask(structs.replace(PROMPT, user="\ud800"), 10)
    assert llm.problem() is None
