"""The straight line of an invoke: match, apply, record."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

import anyio
import msgspec
import pytest

from application.feedback.ports import EntryFilter
from application.incorporator.erase import as_shown
from application.shared.ports import LlmPrompt, LlmReply
from domain.errors import AnswerErased, KeyReused, NoMatch, StoreUnavailable
from domain.feedback.entry import FeedbackEntry, ResultFlag
from domain.incorporator.match import StrategyMode, TokenUsage
from domain.incorporator.outcome import ApplierOutcome, Source
from domain.incorporator.rules import DslRule
from domain.learner.lesson import Bin, Decision, Lesson
from tests.fakes.clock import START
from tests.fakes.examples import ODD, query, request
from tests.fakes.scripted_llm import Late, Line, ScriptedLlm
from tests.fakes.system import Incorporator
from tests.fakes.together import together
from tests.unit.application.incorporator.replies import chooses, does

RULE = DslRule(problem_type="flaky_upload", target_bin=Bin.SKILLS, query="retry uploads")
PAYLOAD = {"action": "retry_with_backoff", "instruction_template": "Retry {operation} with backoff", "n": 2**70}


async def incorporator(*script: Line, mode: StrategyMode = StrategyMode.DSL_THEN_LLM) -> Incorporator:
    of = Incorporator(RULE, mode=mode, llm=ScriptedLlm(*script))
    await of.learner.promoted(title="Retry uploads", dsl_payload=PAYLOAD, tags=("a",))
    return of


async def entries(of: Incorporator) -> list[FeedbackEntry]:
    return list((await of.store.page(EntryFilter(), 100, None)).entries)


async def test_an_invoke_answers_what_to_do() -> None:
    of = await incorporator("never said")
    outcome = await of.invoke(query())
    assert (outcome.source, outcome.action) == (Source.DSL, "retry_with_backoff")
    assert outcome.instruction == "Retry upload report.pdf with backoff"
    assert outcome.match_result.raw_payload.title == "Retry uploads"


async def test_the_selection_is_recorded_as_documented() -> None:
    of = await incorporator("never said")
    asked = query(
        session_id=ODD,
        current_task_context={"operation": "x", "n": [1, {"a": None}]},
        system_state={"s": 1},
        additional_caller_data={"d": 2},
    )
    outcome = await of.invoke(asked)
    (entry,) = await entries(of)
    assert entry == FeedbackEntry(
        id=entry.id,
        problem_solving_step_ref="step-17",
        session_id=ODD,
        lesson_skill_id=outcome.match_result.matched_entity_id,
        matched_entity_type="skill",
        selection_query={"session_id": ODD, "problem_solving_step_ref": "step-17", "problem_type": "flaky_upload"},
        selection_context={"operation": "x", "n": [1, {"a": None}]},
        result_flag=ResultFlag.PENDING,
        usage_count=1,
        transaction_log_ref=outcome.id,
        timestamp=of.clock.now(),
        updated_at=of.clock.now(),
        review_round=1,
        matcher_used="dsl",
    )
    assert entry.id != outcome.id


async def test_the_reason_of_a_fallback_and_the_round_of_the_copy_are_recorded() -> None:
    of = await incorporator("unparsable", mode=StrategyMode.LLM_ONLY)
    await of.learner.promoted(title="Retry uploads", body="")
    await of.invoke(query())
    (entry,) = await entries(of)
    assert (entry.matcher_used, entry.fallback_reason, entry.review_round) == ("llm", "unparsable_reply", 1)


async def test_no_match_is_an_error_that_is_noted_and_not_recorded() -> None:
    of = await incorporator("never said", mode=StrategyMode.DSL_ONLY)
    with pytest.raises(NoMatch, match="another"):
        await of.invoke(query(problem_type="another"))
    assert of.misses.noted == ["another"]
    assert await entries(of) == []
    await of.invoke(query())
    assert of.misses.noted == ["another"]


async def test_the_outcome_is_answered_once_the_selection_is_durable() -> None:
    of = await incorporator("never said")
    of.store.away = True
    with pytest.raises(StoreUnavailable):
        await of.invoke(query())
    of.store.away = False
    assert await entries(of) == []


async def test_both_model_calls_share_one_budget_and_their_tokens_add_up() -> None:
    of = Incorporator(mode=StrategyMode.LLM_ONLY, llm=ScriptedLlm("to be replaced"), llm_timeout_s=5.0)
    lesson = await of.learner.promoted(title="Retry uploads")
    of.llm.will(
        Late(reply=LlmReply(text=chooses(lesson.id), input_tokens=100, output_tokens=10), after_s=0.03),
        LlmReply(text=does(), input_tokens=5, output_tokens=3),
    )
    outcome = await of.invoke(query())
    first, second = of.llm.timeouts
    assert first == pytest.approx(5.0, abs=0.5)
    assert second <= first - 0.03
    assert outcome.match_result.usage == TokenUsage(input_tokens=105, output_tokens=13)
    assert (outcome.source, outcome.action) == (Source.LLM, "wait")


async def test_a_model_that_uses_the_whole_budget_to_choose_has_none_left_to_apply() -> None:
    of = Incorporator(mode=StrategyMode.LLM_ONLY, llm=ScriptedLlm(Late(reply="late", after_s=60)), llm_timeout_s=0.02)
    await of.learner.promoted(title="flaky_upload operation upload report pdf", body="")
    with anyio.fail_after(1):
        outcome = await of.invoke(query())
    assert (outcome.action, outcome.instruction) == (
        "apply_recommended_lesson",
        "flaky_upload operation upload report pdf",
    )
    assert len(of.llm.prompts) == 1


async def test_a_repeated_request_gets_the_first_outcome_and_has_no_effect() -> None:
    of = await incorporator("never said")
    first = await of.invoke(query(), request())
    of.clock.advance(60)
    await of.learner.promoted(title="Retry uploads")
    again = await of.invoke(query(), request(at=of.clock.now()))
    assert again == first
    assert len(await entries(of)) == 1
    assert (await of.store.round_counters(first.match_result.matched_entity_id, 1)).usage_count == 1


async def test_a_repeated_request_does_not_show_a_lesson_that_was_erased_while_the_first_was_stored() -> None:
    of = await incorporator()
    outcome = await of.invoke(query(), request())
    lesson_id = outcome.match_result.matched_entity_id
    await of.learner.decided(await of.learner.store.get(lesson_id), Decision.DISABLE)
    assert await of.invoke(query(), request()) == outcome
    await of.learner.erase(lesson_id, actor="a person")
    assert as_shown(lesson_id).encode() in msgspec.json.encode(outcome)
    with pytest.raises(AnswerErased):
        await of.invoke(query(), request())


async def test_a_repeated_request_asks_no_model_again() -> None:
    of = Incorporator(mode=StrategyMode.LLM_ONLY, llm=ScriptedLlm("unparsable"))
    await of.learner.promoted()
    first = await of.invoke(query(), request())
    asked = len(of.llm.prompts)
    assert await of.invoke(query(), request()) == first
    assert len(of.llm.prompts) == asked


async def test_equal_requests_side_by_side_have_one_effect_and_one_answer() -> None:
    of = await incorporator("never said")
    results = await together(*(of.invoke(query(), request()) for _ in range(8)))
    assert len({msgspec.json.encode(one) for one in results if isinstance(one, ApplierOutcome)}) == 1
    assert len(await entries(of)) == 1


async def test_a_key_with_another_body_is_refused() -> None:
    of = await incorporator("never said")
    await of.invoke(query(), request())
    with pytest.raises(KeyReused):
        await of.invoke(query(), request(fingerprint="f2"))
    assert len(await entries(of)) == 1


async def test_no_match_is_not_kept_under_a_key() -> None:
    of = await incorporator("never said", mode=StrategyMode.DSL_ONLY)
    asked = query(problem_type="another")
    with pytest.raises(NoMatch):
        await of.invoke(asked, request())
    of.rules.will_be(DslRule(problem_type="another", target_bin=Bin.SKILLS, query="retry"))
    assert (await of.invoke(asked, request())).action == "retry_with_backoff"


async def test_what_is_recorded_by_hand_is_recorded_alike() -> None:
    of = await incorporator("never said")
    match = await of.match(query())
    assert match is not None
    outcome = await of.apply(match, query())
    assert await of.record(query(), match, outcome) is outcome
    (entry,) = await entries(of)
    assert (entry.transaction_log_ref, entry.timestamp) == (outcome.id, outcome.created_at)
    assert outcome.created_at > START


class BusyReviewer(ScriptedLlm):
    """A model during whose first answers people decide: one thing for each answer."""

    def __init__(self, *script: Line) -> None:
        super().__init__(*script)
        self.meanwhile: list[Callable[[], Awaitable[object]]] = []

    async def ask(self, prompt: LlmPrompt, timeout_s: float) -> LlmReply:
        reply = await super().ask(prompt, timeout_s)
        if self.meanwhile:
            await self.meanwhile.pop(0)()
        return reply


async def decided_upon(mode: StrategyMode) -> tuple[Incorporator, BusyReviewer, Lesson, Lesson]:
    """With the lesson that the model chooses, and another one."""
    llm = BusyReviewer("to be replaced")
    of = Incorporator(RULE, mode=mode, llm=llm)
    chosen = await of.learner.promoted(title="Retry uploads", body="", dsl_payload=None)
    other = await of.learner.promoted(title="Retry downloads", body="", dsl_payload=PAYLOAD)
    return of, llm, chosen, other


@pytest.mark.parametrize("decision", [Decision.DISABLE, Decision.REJECT])
async def test_a_lesson_that_is_taken_back_while_the_model_chooses_is_not_answered(decision: Decision) -> None:
    of, llm, chosen, other = await decided_upon(StrategyMode.LLM_ONLY)
    llm.will(chooses(chosen.id))
    llm.meanwhile = [partial(of.learner.decided, chosen, decision)]
    outcome = await of.invoke(query())
    assert outcome.match_result.matched_entity_id == other.id
    assert [one.lesson_skill_id for one in await entries(of)] == [other.id]


@pytest.mark.parametrize("mode", [StrategyMode.LLM_ONLY, StrategyMode.LLM_THEN_DSL, StrategyMode.BEST_OF_BOTH])
async def test_neither_a_match_alone_nor_the_dry_run_answers_what_was_taken_back_meanwhile(mode: StrategyMode) -> None:
    for dry_run in (False, True):
        of, llm, chosen, other = await decided_upon(mode)
        llm.will(chooses(chosen.id))
        llm.meanwhile = [partial(of.learner.decided, chosen, Decision.DISABLE)]
        told = (await of.explain(query(), with_llm=True)).match if dry_run else await of.match(query())
        assert told is not None
        assert told.matched_entity_id == other.id


async def test_a_lesson_that_is_taken_back_while_the_model_puts_it_into_words_is_not_answered() -> None:
    of, llm, chosen, other = await decided_upon(StrategyMode.DSL_ONLY)
    llm.will(does())
    llm.meanwhile = [partial(of.learner.decided, chosen, Decision.DISABLE)]
    outcome = await of.invoke(query())
    assert (outcome.match_result.matched_entity_id, outcome.source) == (other.id, Source.DSL)


async def test_a_lesson_that_is_edited_while_the_model_chooses_is_answered_as_it_is_now() -> None:
    of, llm, chosen, _ = await decided_upon(StrategyMode.LLM_ONLY)
    llm.will(chooses(chosen.id), chooses(chosen.id), does())
    llm.meanwhile = [partial(of.learner.decided, chosen, Decision.EDIT, body="Wait longer each time.")]
    outcome = await of.invoke(query())
    assert outcome.match_result.raw_payload.body == "Wait longer each time."


async def test_the_last_lesson_that_is_taken_back_meanwhile_leaves_no_match() -> None:
    of, llm, chosen, other = await decided_upon(StrategyMode.LLM_ONLY)
    llm.will(chooses(chosen.id))
    llm.meanwhile = [partial(of.learner.decided, one, Decision.DISABLE) for one in (chosen, other)]
    with pytest.raises(NoMatch):
        await of.invoke(query())
    assert await entries(of) == []


async def test_a_decision_on_another_lesson_does_not_ask_the_model_anew() -> None:
    of, llm, chosen, _ = await decided_upon(StrategyMode.LLM_ONLY)
    llm.will(chooses(chosen.id), does())
    llm.meanwhile = [partial(of.learner.promoted, title="Pricing tiers")]
    outcome = await of.invoke(query())
    assert outcome.match_result.matched_entity_id == chosen.id
    assert len(llm.prompts) == 2
