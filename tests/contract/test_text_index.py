"""What every text index keeps to: the port's contract over the fake and the real adapters.

Another adapter joins by a line in `INDICES`. Its index is empty when it is opened.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import anyio
import pytest

from adapters.lessons.memory_text_index import MemoryTextIndex
from application.learner.ports import LessonText, TextIndex
from domain.learner.lesson import Bin
from tests.contract.parameters import over
from tests.fakes.fake_text_index import FakeTextIndex

Opener = Callable[[pytest.FixtureRequest], AbstractAsyncContextManager[TextIndex]]


@asynccontextmanager
async def _fake(_: pytest.FixtureRequest) -> AsyncIterator[TextIndex]:
    yield FakeTextIndex()


@asynccontextmanager
async def _memory(_: pytest.FixtureRequest) -> AsyncIterator[TextIndex]:
    yield MemoryTextIndex()


INDICES: dict[str, Opener] = {"fake": _fake, "memory": _memory}


@pytest.fixture(params=over(INDICES))
async def index(request: pytest.FixtureRequest) -> AsyncIterator[TextIndex]:
    async with INDICES[request.param](request) as opened:
        yield opened


def text(lesson_id: str, title: str, body: str = "", bin: Bin = Bin.SKILLS) -> LessonText:
    return LessonText(lesson_id=lesson_id, bin=bin, title=title, body=body)


async def found(index: TextIndex, query: str, bin: Bin | None = None) -> dict[str, bool]:
    hits = await index.containing(query, bin)
    assert len({hit.lesson_id for hit in hits}) == len(hits)
    return {hit.lesson_id: hit.in_title for hit in hits}


async def test_title_and_body_are_told_apart(index: TextIndex) -> None:
    lessons = [text("a", "Retry uploads", "x"), text("b", "Other", "then retry uploads."), text("c", "x", "y")]
    await index.apply(lessons, [])
    assert await found(index, "retry uploads") == {"a": True, "b": False}


async def test_a_lesson_that_has_it_in_both_is_a_title_match(index: TextIndex) -> None:
    await index.apply([text("a", "retry", "retry")], [])
    assert await found(index, "retry") == {"a": True}


async def test_it_does_not_run_over_from_title_to_body(index: TextIndex) -> None:
    await index.apply([text("a", "abc", "def")], [])
    for query in ("cd", "bcde", "c\nd"):
        assert await found(index, query) == {}


@pytest.mark.parametrize(
    ("content", "query"),
    [
        ("Straße", "STRASSE"),
        ("STRASSE", "straße"),
        ("ﬁle upload", "File Upload"),
        ("Ｆｕｌｌ width", "full WIDTH"),
        ("cafe\u0301", "CAFÉ"),
        ("ΟΔΥΣΣΕΥΣ", "οδυσσευς"),
        ("№ 5", "no 5"),
    ],
)
async def test_both_sides_are_normalised(index: TextIndex, content: str, query: str) -> None:
    await index.apply([text("a", content), text("b", "x", content)], [])
    assert await found(index, query) == {"a": True, "b": False}


@pytest.mark.parametrize(
    "query",
    [
        *"%_\"'*\\^-+:(){}[]#?.\0",
        "100%",
        "a_b",
        '"quoted"',
        "it's",
        "x AND y",
        "NOT z",
        "NEAR(a b)",
        "title: a",
        "a*",
        "--",
        "\\%",
        " ",
        "\n",
        "  two  spaces  ",
        "重试",
        "试",
        "上传失败",
        "🚀",
        "🚀🔥",
        "\U0010ffff\ufffd",
        "ab",
        "abc",
    ],
)
async def test_every_character_stands_for_itself(index: TextIndex, query: str) -> None:
    decoys = [text(f"d{number}", decoy, decoy) for number, decoy in enumerate(["axb", "1000", "quoted", "zq", "xyz"])]
    await index.apply([text("t", f"<{query}>"), text("b", "qq", f"zz {query} zz"), *decoys], [])
    hits = await found(index, query)
    assert hits["t"] is True
    assert hits["b"] is False or query in (" ", "\n")
    assert set(hits) <= {"t", "b"}


async def test_an_empty_query_is_contained_in_nothing(index: TextIndex) -> None:
    await index.apply([text("a", "title", "body"), text("b", "", "")], [])
    assert await found(index, "") == {}


async def test_a_bin_is_searched_alone(index: TextIndex) -> None:
    await index.apply([text("a", "retry"), text("b", "retry", bin=Bin.KNOWLEDGE)], [])
    assert await found(index, "retry", Bin.SKILLS) == {"a": True}
    assert await found(index, "re", Bin.KNOWLEDGE) == {"b": True}


async def test_a_lesson_is_replaced_whole(index: TextIndex) -> None:
    await index.apply([text("a", "old title", "old body")], [])
    await index.apply([text("a", "new title", "new body", Bin.KNOWLEDGE)], [])
    assert await found(index, "old") == {}
    assert await found(index, "new", Bin.KNOWLEDGE) == {"a": True}
    assert await found(index, "new", Bin.SKILLS) == {}
    assert (await index.lexical("old", ["a"]))["a"] == 0.0


async def test_what_is_removed_is_gone(index: TextIndex) -> None:
    await index.apply([text("a", "retry"), text("b", "retry")], [])
    await index.apply([], ["a", "never there"])
    assert await found(index, "retry") == {"b": True}
    assert set(await index.lexical("retry", ["a", "b"])) == {"b"}
    await index.apply([text("a", "other")], [])
    assert await found(index, "retry") == {"b": True}
    assert await found(index, "other") == {"a": True}


async def test_applying_twice_is_harmless(index: TextIndex) -> None:
    await index.apply([text("old", "retry")], [])
    for _ in range(2):
        await index.apply([text("a", "retry"), text("b", "wait")], ["old"])
    assert await found(index, "retry") == {"a": True}


async def test_a_long_body_and_a_long_query(index: TextIndex) -> None:
    chance = random.Random(1)
    body = "".join(chance.choice("abc def") for _ in range(200_000))
    await index.apply([text("a", "x", body), text("b", "x", body[:-1])], [])
    assert await found(index, body) == {"a": False}
    assert await found(index, body[1000:3000]) == {"a": False, "b": False}
    assert await found(index, "q" + body[1000:3000]) == {}


async def test_it_agrees_with_reading_every_lesson(index: TextIndex) -> None:
    chance = random.Random(5)
    reference = FakeTextIndex()
    for _ in range(8):
        put = [
            text(
                f"{chance.randrange(60):02}",
                "".join(chance.choices("ab é", k=chance.randrange(5))),
                "".join(chance.choices("abß 试", k=chance.randrange(30))),
                chance.choice(list(Bin)),
            )
            for _ in range(25)
        ]
        remove = [f"{chance.randrange(60):02}" for _ in range(8)]
        for one in (index, reference):
            await one.apply(list({lesson.lesson_id: lesson for lesson in put}.values()), remove)
        for _ in range(30):
            query = "".join(chance.choices("abSs É试", k=chance.randrange(1, 6)))
            assert await found(index, query) == await found(reference, query)


async def test_common_words_score(index: TextIndex) -> None:
    lessons = [
        text("a", "Retry the upload", "Uploads fail when the storage is degraded."),
        text("b", "Restart the scheduler", "The scheduler hangs."),
        text("c", "Upload quota", "Ask for more."),
    ]
    await index.apply(lessons, [])
    scores = await index.lexical("storage degraded upload", ["a", "b", "c", "unknown"])
    assert set(scores) == {"a", "b", "c"}
    assert scores["a"] > scores["c"] > scores["b"] == 0.0


async def test_rare_words_score_more(index: TextIndex) -> None:
    await index.apply([text(f"{number}", "upload report") for number in range(20)], [])
    await index.apply([text("rare", "flamingo report"), text("common", "upload report")], [])
    scores = await index.lexical("flamingo upload", ["rare", "common"])
    assert scores["rare"] > scores["common"] > 0.0


@pytest.mark.parametrize("query", ["", "!?", "\0", "nothing of it", "重试 🚀"])
async def test_no_common_word_scores_zero(index: TextIndex, query: str) -> None:
    await index.apply([text("a", "upload report"), text("b", "")], [])
    assert await index.lexical(query, ["a", "b"]) == {"a": 0.0, "b": 0.0}
    assert await index.lexical("upload", []) == {}


async def test_words_of_any_script_score(index: TextIndex) -> None:
    await index.apply([text("a", "Повторить загрузку отчёта"), text("b", "Перезапустить сервер")], [])
    scores = await index.lexical("загрузку отчёта", ["a", "b"])
    assert scores["a"] > scores["b"]


async def test_queries_beside_changes_see_whole_lessons(index: TextIndex) -> None:
    lessons = [text(f"{number:03}", f"retry {number}", "upload") for number in range(300)]
    await index.apply(lessons, [])

    async def change() -> None:
        for _ in range(3):
            await index.apply(lessons[:100], [])

    async def query() -> None:
        for _ in range(10):
            assert len(await found(index, "retry")) == 300
            assert len(await index.lexical("retry", [lesson.lesson_id for lesson in lessons])) == 300

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(change)
        for _ in range(4):
            tasks.start_soon(query)
