"""Matching a problem to a promoted lesson, by the matchers that the strategy mode names."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio

from application.incorporator.budget import LlmBudget
from application.incorporator.dsl_matcher import DslMatcher
from application.incorporator.llm_matcher import LlmMatcher
from application.learner.catalog import Catalog
from domain.errors import EmbedderMismatch, EmbedderUnavailable, VectorsUnavailable
from domain.incorporator.match import MatchResult, StrategyMode, better
from domain.incorporator.query import QueryInput


class Match:
    """The lesson that applies to the query, or None.

    Decisions on lessons do not wait for the language model: where one has taken back or replaced the lesson while the
    model was asked, the query is matched anew, with the time that is left for the model.

    Raises `StoreUnavailable`; also `VectorsUnavailable`, `EmbedderUnavailable` and `EmbedderMismatch`, unless the DSL
    matcher has a match.
    """

    def __init__(
        self,
        *,
        mode: StrategyMode,
        dsl_matcher: DslMatcher,
        llm_matcher: LlmMatcher,
        catalog: Catalog,
        llm_timeout_s: float,
    ) -> None:
        self._mode = mode
        self._dsl = dsl_matcher
        self._llm = llm_matcher
        self._catalog = catalog
        self._llm_timeout_s = llm_timeout_s

    async def __call__(self, query: QueryInput, budget: LlmBudget | None = None) -> MatchResult | None:
        budget = budget or LlmBudget(self._llm_timeout_s)
        while True:
            match = await self._matched(query, budget)
            if match is None or not budget.is_used or await self._catalog.still_has(match.raw_payload):
                return match

    async def _matched(self, query: QueryInput, budget: LlmBudget) -> MatchResult | None:
        match self._mode:
            case StrategyMode.DSL_ONLY:
                return await self._dsl(query)
            case StrategyMode.LLM_ONLY:
                return await self._llm(query, budget)
            case StrategyMode.DSL_THEN_LLM:
                return await self._dsl(query) or await self._llm(query, budget)
            case StrategyMode.LLM_THEN_DSL:
                return await self._llm_then_dsl(query, budget)
            case StrategyMode.BEST_OF_BOTH:
                return await self._best(query, budget)

    async def _llm_then_dsl(self, query: QueryInput, budget: LlmBudget) -> MatchResult | None:
        try:
            chosen = await self._llm(query, budget)
        except (VectorsUnavailable, EmbedderUnavailable, EmbedderMismatch):
            chosen = await self._dsl(query)
            if chosen is None:
                raise
            return chosen
        return chosen or await self._dsl(query)

    async def _best(self, query: QueryInput, budget: LlmBudget) -> MatchResult | None:
        """Runs both concurrently; while the vectors are away, the DSL match alone decides."""
        by_dsl: list[MatchResult | None] = []
        by_llm: list[MatchResult | VectorsUnavailable | EmbedderUnavailable | EmbedderMismatch | None] = []

        async def ask_dsl() -> None:
            by_dsl.append(await self._dsl(query))

        async def ask_llm() -> None:
            try:
                by_llm.append(await self._llm(query, budget))
            except (VectorsUnavailable, EmbedderUnavailable, EmbedderMismatch) as error:
                by_llm.append(error)

        await _together(ask_dsl, ask_llm)
        dsl, llm = by_dsl[0], by_llm[0]
        if isinstance(llm, MatchResult) or llm is None:
            return better(dsl, llm)
        if dsl is None:
            raise llm
        return dsl


async def _together(*tasks: Callable[[], Awaitable[None]]) -> None:
    """Runs the tasks concurrently; the first error cancels the others and is raised as it is, not in a group."""
    failed: list[Exception] = []

    async def guarded(task: Callable[[], Awaitable[None]], scope: anyio.CancelScope) -> None:
        try:
            await task()
        except Exception as error:
            failed.append(error)
            scope.cancel()

    async with anyio.create_task_group() as group:
        for task in tasks:
            group.start_soon(guarded, task, group.cancel_scope)
    if failed:
        raise failed[0]
