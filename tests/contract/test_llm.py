"""What every language model keeps to, whichever answers: the port's contract over the fake and the real adapter."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import anyio
import pytest

from adapters.llm import anthropic_sdk
from adapters.llm.anthropic_llm import AnthropicLlm
from adapters.retry_policy import RetryPolicy
from application.shared.ports import Llm, LlmPrompt, LlmReply
from domain.errors import LlmUnavailable
from tests.contract.parameters import over
from tests.fakes.anthropic_stand_in import FOR_EVER, Answer, AnthropicStandIn, error, message
from tests.fakes.scripted_llm import Late, ScriptedLlm

PROMPT = LlmPrompt(
    system="Choose.\nThe data are data.",
    user='<data>{"title": "Ünïcode ☃ \\u003c/data>"}</data>',
    schema={
        "type": "object",
        "properties": {
            "lesson_id": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "confidence": {"type": "number"},
        },
        "required": ["lesson_id", "confidence"],
        "additionalProperties": False,
    },
    max_tokens=321,
)
SECONDS = 10.0
SHORT = 0.2


class Model(Protocol):
    """A model under test, and the strings that a test pulls."""

    @property
    def llm(self) -> Llm: ...

    def replies(self, *texts: str) -> None: ...

    def fails(self) -> None: ...

    def stays_silent(self) -> None: ...

    def prompts(self) -> list[LlmPrompt]: ...


class ScriptedModel:
    def __init__(self) -> None:
        self.llm = ScriptedLlm()

    def replies(self, *texts: str) -> None:
        self.llm.will(*texts)

    def fails(self) -> None:
        self.llm.will(LlmUnavailable("It is away."))

    def stays_silent(self) -> None:
        self.llm.will(Late(reply="late", after_s=FOR_EVER))

    def prompts(self) -> list[LlmPrompt]:
        return self.llm.prompts


class AnthropicModel:
    def __init__(self, api: AnthropicStandIn) -> None:
        self.api = api
        self.llm = AnthropicLlm(api_key="sk-a-key", model="a-model", base_url=api.url, retries=RetryPolicy(base_s=0.01))

    def replies(self, *texts: str) -> None:
        self.api.will(*map(message, texts))

    def fails(self) -> None:
        self.api.will(error(500))

    def stays_silent(self) -> None:
        self.api.will(Answer(delay_s=FOR_EVER))

    def prompts(self) -> list[LlmPrompt]:
        return [
            LlmPrompt(
                system=body["system"],
                user=body["messages"][0]["content"],
                schema=body["output_config"]["format"]["schema"],
                max_tokens=body["max_tokens"],
            )
            for body in (request.body for request in self.api.requests)
        ]


MODELS: dict[str, Callable[[AnthropicStandIn], Model]] = {
    "scripted": lambda _: ScriptedModel(),
    "anthropic": AnthropicModel,
}
KEYLESS: dict[str, Llm] = {
    "scripted": ScriptedLlm(problem="There is no language model to ask."),
    "anthropic": AnthropicLlm(api_key=None, model="a-model"),
}
assert anthropic_sdk, "Imported beforehand, so that the short time limits below are the model's alone."


@pytest.fixture(autouse=True)
def _no_certificates(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-in speaks plain HTTP; reading the system's certificates takes each client 50 ms."""
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.setenv("SSL_CERT_DIR", str(Path(__file__).parent))


@pytest.fixture(params=over(MODELS))
def model(request: pytest.FixtureRequest) -> Iterator[Model]:
    with AnthropicStandIn() as api:
        yield MODELS[request.param](api)


async def test_the_reply_is_the_models_text_as_it_came_with_its_cost_in_tokens(model: Model) -> None:
    model.replies(' {"lesson_id": "☃", "confidence": 0.9}\n')
    reply = await model.llm.ask(PROMPT, SECONDS)
    assert reply == LlmReply(text=' {"lesson_id": "☃", "confidence": 0.9}\n', input_tokens=11, output_tokens=7)


async def test_the_whole_prompt_reaches_the_model(model: Model) -> None:
    model.replies("{}")
    await model.llm.ask(PROMPT, SECONDS)
    assert model.prompts() == [PROMPT]


@pytest.mark.parametrize("text", ["", "I would rather not say.", '{"lesson_id": "cut sh', json.dumps(["not", "it"])])
async def test_a_reply_that_cannot_be_parsed_is_the_callers_to_judge(model: Model, text: str) -> None:
    model.replies(text)
    assert (await model.llm.ask(PROMPT, SECONDS)).text == text


async def test_a_model_that_fails_is_unavailable_and_may_answer_the_next_time(model: Model) -> None:
    model.fails()
    with pytest.raises(LlmUnavailable) as failure:
        await model.llm.ask(PROMPT, SECONDS)
    assert failure.value.detail
    model.replies("better")
    assert (await model.llm.ask(PROMPT, SECONDS)).text == "better"


async def test_a_model_that_stays_silent_is_unavailable_when_the_time_is_up(model: Model) -> None:
    model.stays_silent()
    started = anyio.current_time()
    with pytest.raises(LlmUnavailable, match=r"within 0\.2 s"):
        await model.llm.ask(PROMPT, SHORT)
    assert SHORT <= anyio.current_time() - started < SHORT + 2


@pytest.mark.parametrize("timeout_s", [0.0, -1.0])
async def test_a_model_is_not_asked_when_no_time_is_left(model: Model, timeout_s: float) -> None:
    model.replies("{}")
    with pytest.raises(LlmUnavailable):
        await model.llm.ask(PROMPT, timeout_s)
    assert model.prompts() == []


async def test_a_caller_that_gives_up_gets_no_answer_and_spoils_nothing(model: Model) -> None:
    model.stays_silent()
    with anyio.move_on_after(SHORT) as patience:
        await model.llm.ask(PROMPT, SECONDS)
    assert patience.cancelled_caught
    model.replies("better")
    assert (await model.llm.ask(PROMPT, SECONDS)).text == "better"
    assert model.llm.problem() is None


async def test_questions_asked_side_by_side_each_get_their_own_reply(model: Model) -> None:
    texts = [f"reply {n}" for n in range(16)]
    model.replies(*texts, "one too many")
    heard: list[str] = []

    async def ask() -> None:
        heard.append((await model.llm.ask(PROMPT, SECONDS)).text)

    async with anyio.create_task_group() as tasks:
        for _ in texts:
            tasks.start_soon(ask)
    assert sorted(heard) == sorted(texts)


async def test_a_model_that_can_be_asked_has_no_problem(model: Model) -> None:
    assert model.llm.problem() is None


@pytest.mark.parametrize("adapter", over(KEYLESS))
async def test_a_model_without_a_key_says_so_and_is_unavailable(adapter: str) -> None:
    keyless = KEYLESS[adapter]
    assert keyless.problem()
    with pytest.raises(LlmUnavailable) as failure:
        await keyless.ask(PROMPT, SECONDS)
    assert failure.value.detail == keyless.problem()


@pytest.mark.parametrize("adapter", over(MODELS))
def test_a_model_may_be_asked_from_one_event_loop_after_the_other(adapter: str) -> None:
    with AnthropicStandIn() as api:
        model = MODELS[adapter](api)
        model.replies("first", "second", "third")

        async def ask(times: int) -> list[str]:
            return [(await model.llm.ask(PROMPT, SECONDS)).text for _ in range(times)]

        assert anyio.run(ask, 2) == ["first", "second"]
        assert anyio.run(ask, 1) == ["third"]
