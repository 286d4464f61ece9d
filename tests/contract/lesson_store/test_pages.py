"""Pages of lessons, and their filters."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from application.learner.ports import (
    LessonChange,
    LessonFilter,
    LessonStore,
)
from domain.errors import InvalidInput
from domain.learner.lesson import Bin, Status
from domain.learner.log import LogEntry
from tests.contract.lesson_store.stories import (
    TAGS,
    added,
    everything,
    many,
    promote,
)
from tests.contract.paging import all_pages
from tests.fakes.clock import CountingIds
from tests.fakes.examples import (
    EXPANDING,
    injected,
    lesson,
    log_entry,
)


async def test_pages_are_newest_first_and_end(lessons: LessonStore) -> None:
    new = many(7)
    await added(lessons, *new)
    for limit in (1, 2, 3, 6, 7, 8):
        assert await everything(lessons, limit=limit) == new[::-1]
    assert (await lessons.page(LessonFilter(), 7, None)).next_cursor is None


async def test_cursors_stay_where_they_are_while_lessons_are_added_and_decided(lessons: LessonStore) -> None:
    new = many(9)
    await added(lessons, *new[:4])
    seen: list[str] = []
    cursor: str | None = None
    for fresh in new[4:]:
        page = await lessons.page(LessonFilter(), 1, cursor)
        seen.extend(one.id for one in page.lessons)
        cursor = page.next_cursor
        await added(lessons, fresh)
        await promote(lessons, fresh)
        if cursor is None:
            break
    assert seen == [one.id for one in new[3::-1]]


@pytest.mark.parametrize("cursor", ["nonsense", "", "-1", "é", "\U0001f9ea", "MQ==", "before-x", "A" * 5000, "null"])
async def test_a_cursor_that_is_none_of_ours_is_refused(lessons: LessonStore, cursor: str) -> None:
    await added(lessons, *many(3))
    with pytest.raises(InvalidInput):
        await lessons.page(LessonFilter(), 2, cursor)
    with pytest.raises(InvalidInput):
        await lessons.queue(2, cursor)
    with pytest.raises(InvalidInput):
        await lessons.log_page(many(1)[0].id, 2, cursor)


async def test_a_log_is_read_page_by_page_oldest_first(lessons: LessonStore) -> None:
    one, other = many(2)
    entries = [log_entry(lesson_id=one.id, detail={"number": number}) for number in range(7)]
    await lessons.add([injected(other), LessonChange(lesson=one, expected=None, log=entries)])
    for limit in (1, 2, 6, 7, 8):

        async def read(cursor: str | None, limit: int = limit) -> tuple[Sequence[LogEntry], str | None]:
            page = await lessons.log_page(one.id, limit, cursor)
            assert len(page.entries) <= limit
            return page.entries, page.next_cursor

        assert await all_pages(read) == entries
    assert list(await lessons.log(one.id)) == entries
    assert (await lessons.log_page(one.id, 7)).next_cursor is None


async def test_all_of_a_log_of_several_pages_is_read(lessons: LessonStore) -> None:
    (one,) = many(1)
    entries = [log_entry(lesson_id=one.id, detail={"number": number}) for number in range(2_001)]
    await lessons.add([LessonChange(lesson=one, expected=None, log=entries)])
    assert list(await lessons.log(one.id)) == entries


async def test_all_filters_hold_together(lessons: LessonStore) -> None:
    one, other, third, fourth = many(4)
    other = msgspec.structs.replace(other, bin=Bin.KNOWLEDGE)
    third = msgspec.structs.replace(third, tags=("billing", "uploads"))
    await added(lessons, one, other, third, fourth)
    fourth = await promote(lessons, fourth)
    assert await everything(lessons, LessonFilter(bin=Bin.KNOWLEDGE)) == [other]
    assert await everything(lessons, LessonFilter(status=Status.PROMOTED)) == [fourth]
    assert await everything(lessons, LessonFilter(tag="billing")) == [third]
    both = LessonFilter(status=Status.PENDING_REVIEW, bin=Bin.SKILLS, tag="uploads", text="storage")
    assert await everything(lessons, both, limit=1) == [third, one]
    assert await everything(lessons, LessonFilter(tag="billing", bin=Bin.KNOWLEDGE)) == []


@pytest.mark.parametrize("tag", TAGS)
async def test_a_tag_is_found_exactly(lessons: LessonStore, tag: str) -> None:
    new_id = CountingIds(1)
    await added(lessons, *(lesson(id=new_id(), tags=("first", one)) for one in TAGS))
    assert [found.tags for found in await everything(lessons, LessonFilter(tag=tag))] == [("first", tag)]
    assert len(await everything(lessons, LessonFilter(tag="first"))) == len(TAGS)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("STRASSE", ["title"]),
        ("straße", ["title"]),
        ("ﬁle", ["body"]),
        ("FILE", ["body"]),
        ("100%", ["title"]),
        ("0%_", ["title"]),
        ("%", ["title"]),
        ("_", ["title"]),
        ("\\", ["body"]),
        ("e", ["body", "title"]),
        ("nowhere", []),
    ],
)
async def test_text_is_found_in_title_or_body_whatever_its_case_and_form(
    lessons: LessonStore, text: str, found: list[str]
) -> None:
    new_id = CountingIds(1)
    await added(
        lessons,
        lesson(id=new_id(), title="Die Straße 100%_", body="x", source="title"),
        lesson(id=new_id(), title="x", body="A file, a \\ and more", source="body"),
    )
    assert [one.source for one in await everything(lessons, LessonFilter(text=text))] == found


@pytest.mark.parametrize("text", EXPANDING)
async def test_text_that_grows_by_normalising_is_found_whatever_its_length(lessons: LessonStore, text: str) -> None:
    (holding,) = many(1, body=text * 10_000)
    await added(lessons, holding)
    assert await everything(lessons, LessonFilter(text=text * 10_000)) == [holding]
    assert await everything(lessons, LessonFilter(text=text * 9_999 + "%")) == []
