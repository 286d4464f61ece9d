from __future__ import annotations

import json
import logging
import traceback

import pytest

from adapters.llm.anthropic_llm import AnthropicLlm
from adapters.retry_policy import RetryPolicy
from tests.fakes.anthropic_stand_in import Answer, AnthropicStandIn, Request, error, message
from tests.unit.llm.asking import KEY, PROMPT, refusal_of


def echo(request: Request) -> Answer:
    """What some gateways do: the error says what came in."""
    return error(401, f"bad credentials: {request.headers['authorization']}")


def echo_as_text(request: Request) -> Answer:
    return Answer(status=401, body=json.dumps(request.headers).encode(), headers={"content-type": "text/plain"})


def chain(problem: BaseException | None) -> list[BaseException]:
    return [] if problem is None else [problem, *chain(problem.__cause__), *chain(problem.__context__)]


@pytest.mark.parametrize(
    "behaviour",
    [echo, echo_as_text, error(500), None, Answer()],
    ids=["echo", "echo as text", "500", "hang-up", "none"],
)
async def test_no_error_and_no_log_line_shows_the_key(
    api: AnthropicStandIn, llm: AnthropicLlm, caplog: pytest.LogCaptureFixture, behaviour: Answer | None
) -> None:
    caplog.set_level(logging.DEBUG)
    api.will(behaviour)
    problem = await refusal_of(llm)
    shown = [text for link in chain(problem) for text in (str(link), repr(link), *map(str, link.args))]
    shown += ["".join(traceback.format_exception(type(problem), problem, problem.__traceback__)), problem.detail]
    shown += [repr(llm), caplog.text]
    assert api.requests[0].headers["authorization"].endswith(KEY)
    assert [text for text in shown if KEY in text] == []


@pytest.mark.parametrize("status", [500, 401])
async def test_an_error_names_what_the_sdk_raised(api: AnthropicStandIn, llm: AnthropicLlm, status: int) -> None:
    api.will(error(status))
    problem = await refusal_of(llm)
    assert any(type(link).__module__.startswith("anthropic") for link in chain(problem))


@pytest.mark.parametrize("key", ["sk-ä", "sk-a\nb", "sk a", "sk-\x00"])
async def test_a_key_that_no_header_can_carry_is_refused_without_being_shown(
    api: AnthropicStandIn, key: str, caplog: pytest.LogCaptureFixture
) -> None:
    llm = AnthropicLlm(api_key=key, model="a-model", base_url=api.url)
    assert "ANTHROPIC_API_KEY" in (llm.problem() or "")
    assert (await refusal_of(llm)).detail == llm.problem()
    assert key not in f"{llm.problem()} {caplog.text}"
    assert api.requests == []


async def test_white_space_around_the_key_is_no_part_of_it(api: AnthropicStandIn) -> None:
    llm = AnthropicLlm(api_key=f" {KEY}\n", model="a-model", base_url=api.url)
    api.will(message("{}"))
    await llm.ask(PROMPT, 10)
    assert api.requests[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("key", [None, "", " \n"])
@pytest.mark.parametrize(
    "name", ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_PROFILE", "ANTHROPIC_IDENTITY_TOKEN"]
)
async def test_without_a_key_none_is_picked_up_from_the_environment(
    api: AnthropicStandIn, monkeypatch: pytest.MonkeyPatch, key: str | None, name: str
) -> None:
    monkeypatch.setenv(name, "sk-from-the-environment")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", api.url)
    llm = AnthropicLlm(api_key=key, model="a-model", base_url=api.url)
    assert (await refusal_of(llm)).detail == "There is no language model to ask: ANTHROPIC_API_KEY is not set."
    assert api.requests == []


async def test_with_a_key_the_environments_credentials_and_hosts_are_passed_over(
    api: AnthropicStandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_PROFILE"):
        monkeypatch.setenv(name, "sk-from-the-environment")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
    llm = AnthropicLlm(api_key=KEY, model="a-model", base_url=api.url, retries=RetryPolicy(attempts=1))
    api.will(message("{}"))
    await llm.ask(PROMPT, 10)
    assert "sk-from-the-environment" not in repr(api.requests[0].headers)
    assert api.requests[0].headers["authorization"] == f"Bearer {KEY}"
