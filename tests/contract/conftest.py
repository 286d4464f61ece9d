"""The stores as fixtures, once for each adapter."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from application.feedback.ports import FeedbackStore, MissStore, Outbox
from application.learner.ports import LessonStore
from tests.contract.adapters import FEEDBACK, LESSON_STORES, Feedback, params


@pytest.fixture(params=params(LESSON_STORES))
async def lessons(request: pytest.FixtureRequest) -> AsyncIterator[LessonStore]:
    async with LESSON_STORES[request.param].open(request) as store:
        yield store


@pytest.fixture(params=params(LESSON_STORES, shared=True))
async def two_lesson_stores(request: pytest.FixtureRequest) -> AsyncIterator[tuple[LessonStore, LessonStore]]:
    """Of the same data, as two processes have them."""
    case = LESSON_STORES[request.param]
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(case.open(request))
        second = await stack.enter_async_context(case.open(request))
        yield first, second


@pytest.fixture(params=params(FEEDBACK))
async def feedback(request: pytest.FixtureRequest) -> AsyncIterator[Feedback]:
    async with FEEDBACK[request.param].open(request) as opened:
        yield opened


@pytest.fixture(params=params(FEEDBACK, shared=True))
async def two_feedbacks(request: pytest.FixtureRequest) -> AsyncIterator[tuple[Feedback, Feedback]]:
    """Of the same data, as two processes have them."""
    case = FEEDBACK[request.param]
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(case.open(request))
        second = await stack.enter_async_context(case.open(request))
        yield first, second


@pytest.fixture
def store(feedback: Feedback) -> FeedbackStore:
    return feedback.store


@pytest.fixture
def outbox(feedback: Feedback) -> Outbox:
    return feedback.outbox


@pytest.fixture
def misses(feedback: Feedback) -> MissStore:
    return feedback.misses
