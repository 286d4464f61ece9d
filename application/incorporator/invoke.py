"""The straight line of an invoke: match, apply, record."""

from __future__ import annotations

import msgspec

from application.feedback.ports import FeedbackStore
from application.incorporator.apply import Apply
from application.incorporator.budget import LlmBudget
from application.incorporator.match import Match
from application.incorporator.ports import Misses
from application.incorporator.record import RecordFeedback
from application.learner.catalog import Catalog
from application.shared.ports import IdempotencyRecord
from domain.errors import AnswerErased, NoMatch
from domain.incorporator.outcome import ApplierOutcome, Source
from domain.incorporator.query import QueryInput


class Invoke:
    """Answers what to do about a problem, once that selection is durable.

    Where a decision has taken back or replaced the lesson while the language model put it into words, the problem is
    matched anew, as `Match` does.

    Raises `NoMatch`, `StoreUnavailable`, `Overloaded`, `KeyReused`, `AnswerErased`, `RequestInProgress`, and what
    `Match` raises.
    """

    def __init__(
        self,
        *,
        match: Match,
        apply: Apply,
        record: RecordFeedback,
        catalog: Catalog,
        store: FeedbackStore,
        misses: Misses,
        llm_timeout_s: float,
    ) -> None:
        self._match = match
        self._apply = apply
        self._record = record
        self._catalog = catalog
        self._store = store
        self._misses = misses
        self._llm_timeout_s = llm_timeout_s

    async def __call__(self, query: QueryInput, request: IdempotencyRecord | None = None) -> ApplierOutcome:
        """With an idempotency record, a repeated key answers the first outcome and has no effect."""
        if request is not None:
            earlier = await self._store.answered(request)
            if earlier is not None:
                return await self._again(msgspec.json.decode(earlier, type=ApplierOutcome))
        budget = LlmBudget(self._llm_timeout_s)
        while True:
            match = await self._match(query, budget)
            if match is None:
                self._misses.note(query.problem_type)
                raise NoMatch(
                    f"no promoted lesson applies to problem_type {query.problem_type!r}: go on as you would without one"
                )
            outcome = await self._apply(match, query, budget)
            if outcome.source is Source.DSL or await self._catalog.still_has(match.raw_payload):
                return await self._record(query, match, outcome, request)

    async def _again(self, outcome: ApplierOutcome) -> ApplierOutcome:
        """The first outcome, unless its lesson was erased while that was on its way to the store."""
        if await self._catalog.was_erased(outcome.match_result.matched_entity_id):
            raise AnswerErased("what was answered under this Idempotency-Key was erased with its lesson")
        return outcome
