"""Recording a selection: which lesson was chosen for which step, before anybody knows how it went."""

from __future__ import annotations

import msgspec

from application.feedback.ports import FeedbackStore, RecordSelection
from application.shared.ports import IdempotencyRecord, IdFactory
from domain.feedback.entry import FeedbackEntry, ResultFlag
from domain.incorporator.match import MatchResult
from domain.incorporator.outcome import ApplierOutcome
from domain.incorporator.query import QueryInput


class RecordFeedback:
    """Stores one durable entry and moves its lesson's counters.

    Raises `StoreUnavailable`, `Overloaded`, `KeyReused`, `AnswerErased`, `RequestInProgress`.
    """

    def __init__(self, *, store: FeedbackStore, new_id: IdFactory) -> None:
        self._store = store
        self._new_id = new_id

    async def __call__(
        self,
        query: QueryInput,
        match: MatchResult,
        outcome: ApplierOutcome,
        request: IdempotencyRecord | None = None,
    ) -> ApplierOutcome:
        """The outcome once it is durable; with a repeated idempotency key the first request's outcome."""
        entry = FeedbackEntry(
            id=self._new_id(),
            problem_solving_step_ref=query.problem_solving_step_ref,
            session_id=query.session_id,
            lesson_skill_id=match.matched_entity_id,
            matched_entity_type=match.matched_entity_type.value,
            selection_query={
                "session_id": query.session_id,
                "problem_solving_step_ref": query.problem_solving_step_ref,
                "problem_type": query.problem_type,
            },
            selection_context=query.current_task_context,
            result_flag=ResultFlag.PENDING,
            usage_count=1,
            transaction_log_ref=outcome.id,
            timestamp=outcome.created_at,
            updated_at=outcome.created_at,
            review_round=match.raw_payload.review_round,
            matcher_used=match.matcher_used.value,
            fallback_reason=match.fallback_reason.value if match.fallback_reason else None,
        )
        if request is not None:
            request = msgspec.structs.replace(request, answer=msgspec.json.encode(outcome))
        earlier = await self._store.record(RecordSelection(entry=entry, request=request))
        return outcome if earlier is None else msgspec.json.decode(earlier, type=ApplierOutcome)
