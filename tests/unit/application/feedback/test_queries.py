"""The metrics, overall and per lesson."""

from __future__ import annotations

import pytest

from application.feedback.queries import RateMetrics, UsageMetrics
from domain.errors import StoreUnavailable
from domain.feedback.entry import FailureClass, ResultFlag
from domain.feedback.metrics import Usage
from tests.fakes.examples import report
from tests.fakes.system import Feedback


async def told(of: Feedback, flag: ResultFlag, **fields: object) -> None:
    one = await of.selected(**fields)
    if flag is not ResultFlag.PENDING:
        await of.update(report(flag, problem_solving_step_ref=one.problem_solving_step_ref))


async def test_usage_is_counted_per_lesson_and_overall() -> None:
    of = Feedback()
    for flag in (ResultFlag.SUCCESS, ResultFlag.SUCCESS, ResultFlag.FAILURE):
        await told(of, flag)
    await told(of, ResultFlag.FAILURE, lesson_skill_id="another", review_round=4)
    await told(of, ResultFlag.PENDING, lesson_skill_id="another", review_round=5)
    lesson = (await of.selected(lesson_skill_id="third")).lesson_skill_id
    found = await of.metrics()
    documented = Usage(usage_count=6, success=2, failure=1, pending=0, success_rate=0.667, failure_rate=0.333)
    another = Usage(usage_count=3, success=0, failure=1, pending=1, success_rate=0.0, failure_rate=1.0)
    third = Usage(usage_count=1, success=0, failure=0, pending=1, success_rate=None, failure_rate=None)
    assert sorted(found.by_lesson.values(), key=lambda one: -one.usage_count) == [documented, another, third]
    assert found.by_lesson[lesson] == third
    assert found.overall == Usage(usage_count=10, success=2, failure=2, pending=2, success_rate=0.5, failure_rate=0.5)


async def test_one_lessons_metrics_are_its_own_and_overall_is_that_lesson() -> None:
    of = Feedback()
    await told(of, ResultFlag.SUCCESS)
    await told(of, ResultFlag.FAILURE, lesson_skill_id="another")
    found = await of.metrics("another")
    assert set(found.by_lesson) == {"another"}
    assert found.overall == found.by_lesson["another"]
    assert await of.metrics.success_rate("another") == RateMetrics(by_lesson={"another": 0.0}, overall=0.0)
    assert await of.metrics.failure_rate("another") == RateMetrics(by_lesson={"another": 1.0}, overall=1.0)


async def test_an_unknown_lesson_has_empty_metrics() -> None:
    of = Feedback()
    await told(of, ResultFlag.SUCCESS)
    nothing = Usage(usage_count=0, success=0, failure=0, pending=0, success_rate=None, failure_rate=None)
    assert await of.metrics("unknown") == UsageMetrics(by_lesson={}, overall=nothing)
    assert await of.metrics.success_rate("unknown") == RateMetrics(by_lesson={}, overall=None)
    assert await of.metrics.failure_rate("unknown") == RateMetrics(by_lesson={}, overall=None)


async def test_rates_are_per_lesson_and_overall() -> None:
    of = Feedback()
    for flag in (ResultFlag.SUCCESS, ResultFlag.FAILURE, ResultFlag.FAILURE):
        await told(of, flag)
    await told(of, ResultFlag.PENDING, lesson_skill_id="another")
    found = await of.metrics.success_rate()
    assert sorted(found.by_lesson.items()) == sorted({**found.by_lesson, "another": None}.items())
    assert (found.by_lesson["another"], found.overall) == (None, 0.333)
    assert (await of.metrics.failure_rate()).overall == 0.667


async def test_a_failure_of_the_infrastructure_is_a_failure_in_the_metrics() -> None:
    of = Feedback()
    one = await of.selected()
    await of.update(
        report(problem_solving_step_ref=one.problem_solving_step_ref, failure_class=FailureClass.INFRASTRUCTURE)
    )
    assert (await of.metrics()).overall.failure_rate == 1.0


async def test_a_store_that_is_away_is_told() -> None:
    of = Feedback()
    of.store.away = True
    with pytest.raises(StoreUnavailable):
        await of.metrics()
