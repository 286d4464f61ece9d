"""Pages: as many items as asked for, read in steps, and never more bytes than is good."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import msgspec

from application.feedback.ports import EntryFilter, EntryPage, FeedbackStore
from application.learner.ports import LessonChange
from entrypoints.http.app import create_incorporator_app, create_learner_app
from tests.fakes.clock import CountingIds
from tests.fakes.examples import injected, lesson, log_entry
from tests.fakes.fake_lesson_store import FakeLessonStore
from tests.unit.http.clients import client_of, options
from tests.unit.http.examples import ENTRY
from tests.unit.http.stubs import Stub, incorporator_services, learner_services


class NumberedEntries:
    """So many entries, each with a context of so many bytes; the cursor is the number of the next."""

    def __init__(self, count: int, size: int = 1) -> None:
        self.read: list[int] = []
        self._count = count
        self._context: dict[str, object] = {"x": "x" * size}

    async def page(self, where: EntryFilter, limit: int, cursor: str | None) -> EntryPage:
        start = int(cursor or 0)
        end = min(start + limit, self._count)
        self.read.append(end - start)
        entries = [self._entry(number) for number in range(start, end)]
        return EntryPage(entries=entries, next_cursor=str(end) if end < self._count else None)

    def _entry(self, number: int) -> Any:
        return msgspec.structs.replace(ENTRY, usage_count=number, selection_context=self._context)


async def pages_of(entries: NumberedEntries, url: str) -> list[Sequence[int]]:
    """The numbers of the entries, page after page."""
    stub = Stub()
    services = replace(incorporator_services(stub), feedback=cast("FeedbackStore", entries))
    app = create_incorporator_app(services, None, options(stub))
    found: list[Sequence[int]] = []
    async with client_of(app) as client:
        while url:
            answer = await client.get(url)
            found.append([entry["usage_count"] for entry in answer.json()])
            url = answer.links.get("next", {}).get("url", "")
    return found


async def test_the_review_queue_is_read_to_its_end_page_after_page() -> None:
    new_id = CountingIds(1)
    waiting = [lesson(id=new_id()) for _ in range(77)]
    store, stub = FakeLessonStore(), Stub()
    await store.add([injected(one) for one in waiting])
    app = create_learner_app(replace(learner_services(stub), lessons=store), options(stub))
    pages, url = [], "/lessons/review/queue?limit=35"
    async with client_of(app) as client:
        while url:
            answer = await client.get(url)
            pages.append([one["id"] for one in answer.json()])
            url = answer.links.get("next", {}).get("url", "")
        assert (await client.get("/lessons/review/queue?cursor=nonsense")).status_code == 400
    assert [len(page) for page in pages] == [35, 35, 7]
    assert [one for page in pages for one in page] == [one.id for one in waiting]


async def test_a_log_comes_in_pages_of_a_hundred_unless_others_are_asked_for() -> None:
    one, store, stub = lesson(), FakeLessonStore(), Stub()
    entries = [log_entry(lesson_id=one.id, detail={"number": number}) for number in range(230)]
    await store.add([LessonChange(lesson=one, expected=None, log=entries)])
    app = create_learner_app(replace(learner_services(stub), lessons=store), options(stub))
    async with client_of(app) as client:
        for query, sizes in (("", [100, 100, 30]), ("?limit=200", [200, 30]), ("?limit=1000", [230])):
            pages, url = [], f"/lessons/{one.id}/log{query}"
            while url:
                answer = await client.get(url)
                pages.append([entry["detail"]["number"] for entry in answer.json()])
                url = answer.links.get("next", {}).get("url", "")
            assert [len(page) for page in pages] == sizes
            assert [number for page in pages for number in page] == list(range(230))
        for query in ("limit=0", "limit=1001", "cursor=nonsense", "q=x"):
            assert (await client.get(f"/lessons/{one.id}/log?{query}")).status_code == 400


async def test_a_page_has_what_was_asked_for_whatever_the_steps() -> None:
    for count, limit in ((0, 10), (1, 1), (31, 32), (32, 32), (33, 32), (100, 70), (200, 100), (150, 1000)):
        entries = NumberedEntries(count)
        pages = await pages_of(entries, f"/feedback?limit={limit}")
        assert [number for page in pages for number in page] == list(range(count))
        assert [len(page) for page in pages[:-1]] == [limit] * (len(pages) - 1)
        assert max(entries.read) <= 32


async def test_a_page_of_large_items_ends_sooner_and_the_next_goes_on() -> None:
    entries = NumberedEntries(200, size=1_000_000)
    pages = await pages_of(entries, "/feedback?limit=1000")
    assert [number for page in pages for number in page] == list(range(200))
    assert {len(page) for page in pages[:-1]} == {32}
