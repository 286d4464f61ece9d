"""Selections in the numbers that the tests of the feedback store need, and what a store then has."""

from __future__ import annotations

from collections.abc import Sequence

from application.feedback.ports import EntryFilter, FeedbackStore
from domain.feedback.entry import FailureClass, FeedbackEntry, ResultFlag
from tests.contract.paging import all_pages
from tests.fakes.clock import START, CountingIds
from tests.fakes.examples import ODD, entry, select
from tests.fakes.together import all_of

FULL = entry(
    problem_solving_step_ref=ODD,
    session_id="\U0001f9ea" * 255,
    matched_entity_type="knowledge",
    selection_query={"problem_type": ODD, "session_id": "\U0001f9ea" * 255},
    selection_context={ODD: [1, -0.5, 1e300, 2**70, True, None, {"deep": [[[{}]]]}, ""], "long": "漢" * 70_000},
    result_flag=ResultFlag.FAILURE,
    usage_count=7,
    timestamp=START.replace(microsecond=999_999),
    updated_at=START.replace(microsecond=1),
    review_round=41,
    matcher_used="llm",
    fallback_reason="llm_unavailable",
    failure_class=FailureClass.INFRASTRUCTURE,
    detail={"said": ODD, "nothing": None},
    failures_seen=12,
)
ALIKE = ["a", "A", "a ", " a", "á", "a\u0301", "ａ", "ß", "ss", "%", "_", "\\", "'", "\U0001f9ea", "a\u200d"]


def entries(count: int, **fields: object) -> list[FeedbackEntry]:
    """So many selections, each of its own step and with its own outcome."""
    new_id, new_outcome = CountingIds(1), CountingIds(2)
    return [
        entry(id=new_id(), transaction_log_ref=new_outcome(), **{"problem_solving_step_ref": f"step-{n}", **fields})
        for n in range(count)
    ]


async def recorded(store: FeedbackStore, count: int, **fields: object) -> list[FeedbackEntry]:
    found = entries(count, **fields)
    await all_of(*(store.record(select(one)) for one in found))
    return found


async def everything(store: FeedbackStore, where: EntryFilter | None = None, limit: int = 1000) -> list[FeedbackEntry]:
    """All pages in order."""

    async def read(cursor: str | None) -> tuple[Sequence[FeedbackEntry], str | None]:
        page = await store.page(where or EntryFilter(), limit, cursor)
        return page.entries, page.next_cursor

    return await all_pages(read)
