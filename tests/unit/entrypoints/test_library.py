"""The library takes what HTTP takes, and refuses the rest in the same words."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import msgspec
import pytest

from domain.errors import InvalidInput
from domain.feedback.entry import FailureClass, ResultFlag
from domain.learner.lesson import Bin, LessonDraft, LessonEdit
from entrypoints.library import Dependencies, build_dependencies
from entrypoints.settings import Settings
from tests.fakes.examples import query
from tests.unit.http.clients import invoke

CYCLE: dict[str, object] = {}
CYCLE["again"] = CYCLE


@pytest.fixture
async def deps(tmp_path: Path) -> AsyncIterator[Dependencies]:
    settings = Settings(
        lessons_dsn=f"sqlite+aiosqlite:///{tmp_path}/lessons.db",
        feedback_dsn=f"sqlite+aiosqlite:///{tmp_path}/feedback.db",
        lessons_root=str(tmp_path / "lessons"),
        dsl_match_rules_path=str(tmp_path / "rules.json"),
    )
    async with build_dependencies(settings) as deps:
        yield deps


def errors_of(refused: pytest.ExceptionInfo[InvalidInput]) -> list[tuple[str, str]]:
    return [(one.path, one.message) for one in refused.value.errors]


@pytest.mark.parametrize(
    "wrong",
    [
        {"session_id": ""},
        {"session_id": "x" * 256},
        {"session_id": "a\nb"},
        {"session_id": 7},
        {"problem_type": None},
        {"current_task_context": []},
        {"current_task_context": {"x": "\0"}},
        {"current_task_context": {"x": 2**1024}},
        {"additional_caller_data": {"rows": [{"x": -(2**1024)}]}},
    ],
)
async def test_what_http_refuses_is_refused_with_the_same_places_and_words(
    deps: Dependencies, wrong: dict[str, Any]
) -> None:
    given = query(**wrong)
    with pytest.raises(InvalidInput) as refused:
        await deps.matching_engine.match(given)
    answer = await invoke(json.dumps(msgspec.structs.asdict(given)).encode())
    assert answer.status_code == 400
    assert errors_of(refused) == [(one["path"], one["message"]) for one in answer.json()["errors"]]
    assert refused.value.detail.replace("the query", "the body") == answer.json()["detail"]


@pytest.mark.parametrize(
    ("context", "path", "message"),
    [
        ({"x": float("nan")}, "$.current_task_context.x", "must not be NaN"),
        (
            {"x": [1.0, float("-inf")]},
            "$.current_task_context.x[1]",
            "must not be infinite or a number beyond a double",
        ),
        ({"x": "a\ud800"}, "$.current_task_context.x", "must not hold half of a surrogate pair"),
        ({"\udc00": 1}, "$.current_task_context", "must not hold half of a surrogate pair in a key"),
        ({"x": {1: 2}}, "$.current_task_context.x", "must have texts as its keys, and has a int"),
        (
            {"x": datetime(2026, 1, 1, tzinfo=timezone.utc)},
            "$.current_task_context.x",
            "must be a JSON value, and is a datetime",
        ),
        ({"x": {1, 2}}, "$.current_task_context.x", "must be a JSON value, and is a set"),
        ({"x": b"x"}, "$.current_task_context.x", "must be a JSON value, and is a bytes"),
    ],
)
async def test_what_is_no_json_is_refused_with_its_place(
    deps: Dependencies, context: dict[str, object], path: str, message: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        await deps.matching_engine.match(query(current_task_context=context))
    assert errors_of(refused) == [(path, message)]


async def test_what_is_nested_without_end_is_refused(deps: Dependencies) -> None:
    with pytest.raises(InvalidInput, match="nested deeper than 32 levels"):
        await deps.matching_engine.match(query(current_task_context=CYCLE))


@pytest.mark.parametrize("levels", [30, 31])
async def test_the_levels_of_nesting_are_those_of_a_body(deps: Dependencies, levels: int) -> None:
    context: dict[str, object] = json.loads('{"a":' * levels + "1" + "}" * levels)
    given = query(current_task_context={"x": context})
    over_http = await invoke(msgspec.json.encode(given))
    if over_http.status_code == 400:
        with pytest.raises(InvalidInput):
            await deps.matching_engine.match(given)
    else:
        assert await deps.matching_engine.match(given) is None
    assert over_http.status_code == (200 if levels == 30 else 400)


async def test_texts_of_every_script_whole_numbers_and_tuples_are_taken(deps: Dependencies) -> None:
    context = {"ключ": "漢\U0001f9ea", "n": [2**70, -0.5, None, True], "t": (1, "x")}
    assert await deps.matching_engine.match(query(current_task_context=context)) is None


async def test_a_query_that_is_none_is_refused_by_every_step_that_takes_one(deps: Dependencies) -> None:
    await promoted(deps)
    good = query()
    match = await deps.matching_engine.match(good)
    assert match is not None
    outcome = await deps.applier_service.apply(match, good)
    bad = query(session_id="")
    with pytest.raises(InvalidInput):
        await deps.applier_service.apply(match, bad)
    with pytest.raises(InvalidInput):
        await deps.feedback_recorder.record_selection(bad, match, outcome)
    with pytest.raises(InvalidInput, match="a dict is no QueryInput"):
        await deps.matching_engine.match({"session_id": "s1"})  # type: ignore[arg-type]


async def test_a_report_is_checked_as_over_http(deps: Dependencies) -> None:
    update = deps.feedback_updater.update
    with pytest.raises(InvalidInput) as refused:
        await update("step-17", "s\0", ResultFlag.FAILURE, failure_class=FailureClass.LESSON)
    assert errors_of(refused) == [("$.session_id", "must not hold a NUL character")]
    with pytest.raises(InvalidInput):
        await update("step-17", "s1", "broken")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput):
        await update("step-17", "s1", ResultFlag.FAILURE, detail={"x": {1}})


async def test_a_flag_and_a_failure_class_may_be_given_as_texts(deps: Dependencies) -> None:
    await promoted(deps)
    match = await deps.matching_engine.match(query())
    assert match is not None
    outcome = await deps.applier_service.apply(match, query())
    await deps.feedback_recorder.record_selection(query(), match, outcome)
    step, session = query().problem_solving_step_ref, query().session_id
    entry = await deps.feedback_updater.update(
        step,
        session,
        "failure",  # type: ignore[arg-type]
        failure_class="infrastructure",  # type: ignore[arg-type]
    )
    assert (entry.result_flag, entry.failure_class) == (ResultFlag.FAILURE, FailureClass.INFRASTRUCTURE)


async def test_a_draft_and_an_edit_are_taken_as_json_has_them(deps: Dependencies) -> None:
    review = deps.learner_deps.review_service
    draft = LessonDraft(bin="skills_base", title="T", body="B", tags=["a"])  # type: ignore[arg-type]
    (lesson,) = await review.inject(draft)
    assert (lesson.bin, lesson.tags) == (Bin.SKILLS, ("a",))
    edited = await review.edit(lesson.id, LessonEdit(tags=["b"]))  # type: ignore[arg-type]
    assert edited.tags == ("b",)


async def test_what_is_no_draft_or_edit_is_refused(deps: Dependencies) -> None:
    review = deps.learner_deps.review_service
    with pytest.raises(InvalidInput, match="a dict is no LessonDraft"):
        await review.inject({"title": "T"})  # type: ignore[arg-type]
    lesson_id = await promoted(deps)
    with pytest.raises(InvalidInput, match="a dict is no LessonEdit"):
        await review.edit(lesson_id, {"title": "T"})  # type: ignore[arg-type]


async def test_a_list_and_a_search_have_the_limits_of_http(deps: Dependencies) -> None:
    learner = deps.learner_deps
    for limit in (-1, 0, 1_001):
        with pytest.raises(InvalidInput):
            await learner.review_service.list(limit=limit)
    for query_text, top_k in (("", 10), ("retry", 0), ("retry", 101)):
        with pytest.raises(InvalidInput):
            await learner.skills_store.search(query_text, top_k)


async def test_drafts_and_edits_are_checked_as_over_http(deps: Dependencies) -> None:
    review = deps.learner_deps.review_service
    good = LessonDraft(bin=Bin.SKILLS, title="T", body="B")
    wrongs: list[dict[str, Any]] = [{"title": ""}, {"title": "a\nb"}, {"tags": ("",)}, {"dsl_payload": {"x": 1e999}}]
    for wrong in wrongs:
        with pytest.raises(InvalidInput):
            await review.inject(msgspec.structs.replace(good, **wrong))
    assert await review.list() == []
    lesson_id = await promoted(deps)
    with pytest.raises(InvalidInput) as refused:
        await review.edit(lesson_id, LessonEdit(title=""), version=2)
    assert [path for path, _ in errors_of(refused)] == ["$.title"]
    with pytest.raises(InvalidInput):
        await review.reject(lesson_id, reviewer="a\nb")
    assert (await review.edit(lesson_id, LessonEdit(title="Another"), version=2)).title == "Another"


async def promoted(deps: Dependencies) -> str:
    review = deps.learner_deps.review_service
    payload: dict[str, object] = {"action": "retry"}
    (lesson,) = await review.inject(
        LessonDraft(bin=Bin.SKILLS, title="Retry uploads", body="flaky_upload", dsl_payload=payload)
    )
    await review.approve(lesson.id)
    return lesson.id
