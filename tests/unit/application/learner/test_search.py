"""Search: text matches and similarity, in the order of `docs/matching.md`, of what is promoted and of nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from application.learner.ports import LessonFilter
from application.learner.search import Found, SearchKind, SearchResult
from domain.errors import EmbedderUnavailable, StoreUnavailable, VectorsUnavailable
from domain.learner.lesson import Bin, Decision
from tests.fakes.system import Learner


async def learner_with(*lessons: dict[str, Any], kind: SearchKind = SearchKind.HYBRID) -> Learner:
    """A Learner with these promoted lessons, the first one the oldest."""
    learner = Learner(kind=kind)
    for fields in lessons:
        await learner.promoted(**{"body": "", **fields})
    return learner


def titles(result: SearchResult) -> list[str]:
    return [found.hit.title for found in result.found]


def scores(found: Sequence[Found]) -> list[float]:
    return [one.hit.score for one in found]


async def test_a_text_match_in_title_or_body_scores_1() -> None:
    learner = await learner_with(
        {"title": "How to retry uploads"}, {"title": "Storage", "body": "Then Retry  uploads"}, {"title": "Retry"}
    )
    result = await learner.search("retry uploads", Bin.SKILLS, 10)
    first = result.found[0].hit
    assert (first.title, first.score, first.text_match) == ("How to retry uploads", 1.0, True)
    assert 0 < first.similarity < 1
    assert [(one.hit.title, one.hit.text_match) for one in result.found[1:]] == [("Retry", False), ("Storage", False)]


async def test_a_match_is_found_whatever_its_case_and_form() -> None:
    learner = await learner_with({"title": "Die STRASSE"}, {"title": "Other", "body": "The ﬁle"})
    assert titles(await learner.search("straße", Bin.SKILLS, 1)) == ["Die STRASSE"]
    found = (await learner.search("FILE", Bin.SKILLS, 1)).found
    assert [(one.hit.title, one.hit.text_match) for one in found] == [("Other", True)]


async def test_every_other_lesson_scores_its_similarity_in_0_to_1() -> None:
    learner = await learner_with({"title": "Retry uploads"}, {"title": "Retry downloads tomorrow"})
    result = await learner.search("uploads retry", Bin.SKILLS, 10)
    assert titles(result) == ["Retry uploads", "Retry downloads tomorrow"]
    for found in result.found:
        assert not found.hit.text_match
        assert 0 < found.hit.score == found.hit.similarity <= 1
    assert result.found[0].hit.score == pytest.approx(1.0, abs=1e-6)


async def test_what_has_nothing_in_common_with_the_query_is_no_hit() -> None:
    learner = await learner_with({"title": "Pricing tiers"}, {"title": "Retry"})
    assert titles(await learner.search("retry", Bin.SKILLS, 10)) == ["Retry"]


async def test_the_best_section_speaks_for_the_lesson() -> None:
    learner = await learner_with(
        {"title": "A", "body": "# One\n\nwords about nothing much here\n\n# Two\n\nexponential backoff"},
        {"title": "B", "body": "exponential growth of words about nothing much here"},
    )
    assert titles(await learner.search("backoff exponential", Bin.SKILLS, 10)) == ["A", "B"]


async def test_a_bin_is_searched_alone_and_none_is_both() -> None:
    learner = await learner_with({"title": "Retry one"}, {"title": "Retry two", "bin": Bin.KNOWLEDGE})
    assert titles(await learner.search("retry", Bin.SKILLS, 10)) == ["Retry one"]
    assert titles(await learner.search("retry", Bin.KNOWLEDGE, 10)) == ["Retry two"]
    assert sorted(titles(await learner.search("retry", None, 10))) == ["Retry one", "Retry two"]


async def test_equal_scores_go_by_similarity_then_title_match_then_newest_promotion_then_id() -> None:
    learner = await learner_with(
        {"title": "Other words", "body": "retry"},
        {"title": "Retry"},
        {"title": "Retry"},
        {"title": "retry now or never or later"},
    )
    found = (await learner.search("retry", Bin.SKILLS, 10)).found
    assert scores(found) == [1.0] * 4
    assert [one.hit.title for one in found] == ["Retry", "Retry", "Other words", "retry now or never or later"]
    assert found[0].copy.promoted_at > found[1].copy.promoted_at
    learner.clock.advance(-2)
    twin = await learner.promoted(title="Retry", body="")
    again = (await learner.search("retry", Bin.SKILLS, 10)).found
    assert [one.copy.promoted_at for one in again[:2]] == [again[0].copy.promoted_at] * 2
    assert again[1].copy.id == twin.id


async def test_no_more_hits_than_asked_for_and_those_are_the_best() -> None:
    learner = await learner_with(*({"title": f"Retry {n}"} for n in range(60)))
    every = titles(await learner.search("retry 7", Bin.SKILLS, 100))
    assert len(every) == 60
    for limit in (1, 2, 5, 59):
        assert titles(await learner.search("retry 7", Bin.SKILLS, limit)) == every[:limit]
    assert titles(await learner.search("retry 7", Bin.SKILLS, 0)) == []


async def test_however_many_are_equally_similar_the_newest_comes_first() -> None:
    learner = await learner_with(*({"title": "Retry uploads"} for _ in range(150)))
    newest = (await learner.store.page(LessonFilter(), 1, None)).lessons[0]
    for limit in (1, 10):
        found = (await learner.search("uploads retry", Bin.SKILLS, limit)).found
        assert (found[0].copy.id, len(found)) == (newest.id, limit)


async def test_lessons_without_similarity_are_not_fetched_to_the_last() -> None:
    learner = await learner_with(*({"title": "Pricing"} for _ in range(150)), {"title": "Retry uploads"})
    learner.vectors.calls.clear()
    assert titles(await learner.search("uploads retry", Bin.SKILLS, 10)) == ["Retry uploads"]
    assert learner.vectors.calls["nearest"] == 1


async def test_a_match_beyond_the_nearest_still_has_its_exact_similarity() -> None:
    titles_of = ["x y z wretryx", *(f"uploads {'y ' * n}" for n in range(60))]
    learner = await learner_with(*({"title": title, "body": "uploads retry"} for title in titles_of))
    every = (await learner.search("uploads", Bin.SKILLS, 100)).found
    learner.vectors.calls.clear()
    few = (await learner.search("uploads", Bin.SKILLS, 3)).found
    assert learner.vectors.calls["nearest"] == 1
    assert list(few) == list(every[:3])


async def test_the_same_search_has_the_same_answer() -> None:
    learner = await learner_with(*({"title": f"Retry {n % 3}"} for n in range(20)))
    first = await learner.search("retry", None, 10)
    assert all([await learner.search("retry", None, 10) == first for _ in range(5)])


async def test_while_the_index_is_away_text_matches_are_found_and_the_reason_is_told() -> None:
    learner = await learner_with({"title": "Retry uploads"}, {"title": "Uploads that retry"})
    learner.vectors.away = True
    result = await learner.search("retry", Bin.SKILLS, 10)
    assert titles(result) == ["Uploads that retry", "Retry uploads"]
    assert scores(result.found) == [1.0, 1.0]
    assert result.degraded == "the fake vector index is away"
    learner.vectors.away = False
    learner.embedder.away = True
    assert (await learner.search("retry", Bin.SKILLS, 10)).degraded == "the fake embedder is away"
    learner.embedder.away = False
    assert (await learner.search("retry", Bin.SKILLS, 10)).degraded is None


async def test_a_store_that_is_away_is_an_error() -> None:
    learner = await learner_with({"title": "Retry"})
    learner.store.away = True
    with pytest.raises(StoreUnavailable):
        await learner.search("retry", None, 10)


async def test_what_another_process_disabled_is_no_hit_and_takes_nobodys_place() -> None:
    first = await learner_with({"title": "Retry, the second best hit"}, {"title": "Retry"}, {"title": "Retry "})
    second = Learner(store=first.store)
    assert titles(await second.search("retry", Bin.SKILLS, 1)) == ["Retry "]
    for of in [found.copy.id for found in (await first.search("retry", None, 2)).found]:
        await first.decided(await first.store.get(of), Decision.DISABLE)
    assert titles(await second.search("retry", Bin.SKILLS, 1)) == ["Retry, the second best hit"]
    assert titles(await second.search("the retry", Bin.SKILLS, 1)) == ["Retry, the second best hit"]


@pytest.mark.parametrize("kind", SearchKind)
async def test_what_is_gone_is_not_offered_to_the_model_and_takes_nobodys_place(kind: SearchKind) -> None:
    first = await learner_with(*({"title": f"Retry {n}"} for n in range(14)), kind=kind)
    second = Learner(store=first.store, kind=kind)
    await second.catalog.refresh()
    best = [found.copy.id for found in (await first.search.most_similar("retry", 3)).found]
    for of in best:
        await first.decided(await first.store.get(of), Decision.DISABLE)
    found = (await second.search.most_similar("retry", 10)).found
    assert len(found) == 10
    assert not {one.copy.id for one in found} & set(best)


async def test_what_an_index_still_holds_of_others_takes_nobodys_place() -> None:
    learner = await learner_with({"title": "Retry but less similar"})
    vector = (await learner.embedder.embed(["retry"]))[0]
    stale = (await learner.store.changes_since(0, learner.embedder.name, 1)).promoted[0].vectors
    assert stale is not None
    others = [
        type(stale)(lesson_id=f"stale {n}", bin=Bin.SKILLS, embedder=stale.embedder, dimension=64, count=1, data=vector)
        for n in range(200)
    ]
    await learner.vectors.apply(others, [], 1)
    assert titles(await learner.search("retry", Bin.SKILLS, 1)) == ["Retry but less similar"]
    assert titles(await learner.search.most_similar("retry", 10)) == ["Retry but less similar"]


async def test_the_model_is_offered_both_bins_whatever_the_cosine() -> None:
    learner = await learner_with({"title": "Retry"}, {"title": "Pricing", "bin": Bin.KNOWLEDGE})
    found = (await learner.search.most_similar("retry", 10)).found
    assert [(one.hit.title, one.hit.bin) for one in found] == [("Retry", Bin.SKILLS), ("Pricing", Bin.KNOWLEDGE)]
    assert found[1].hit.similarity == found[1].hit.score == 0.0
    assert not found[0].hit.text_match


async def test_the_model_is_offered_the_most_similar_first_and_no_more_than_asked_for() -> None:
    learner = await learner_with(*({"title": f"Retry {'x ' * n}"} for n in range(20)), kind=SearchKind.VECTOR)
    found = (await learner.search.most_similar("retry", 10)).found
    similarities = [one.hit.similarity for one in found]
    assert len(found) == 10
    assert similarities == sorted(similarities, reverse=True)


async def test_words_reorder_the_most_similar_in_a_hybrid_search_only() -> None:
    lessons = [*({"title": f"common {n}"} for n in range(8)), {"title": "rare x y"}, {"title": "nothing"}]
    hybrid = await (await learner_with(*lessons)).search.most_similar("common rare", 10)
    plain = await (await learner_with(*lessons, kind=SearchKind.VECTOR)).search.most_similar("common rare", 10)
    assert titles(hybrid)[0] == "rare x y"
    assert titles(plain).index("rare x y") == 8
    assert {one.hit.similarity for one in hybrid.found} == {one.hit.similarity for one in plain.found}


async def test_with_no_promoted_lesson_nothing_is_embedded() -> None:
    learner = Learner()
    await learner.injected()
    assert (await learner.search.most_similar("retry", 10)).found == ()
    assert learner.embedder.embedded == []


async def test_without_similarities_the_model_can_be_offered_nothing() -> None:
    learner = await learner_with({"title": "Retry"})
    learner.vectors.away = True
    with pytest.raises(VectorsUnavailable):
        await learner.search.most_similar("retry", 10)
    learner.embedder.away = True
    with pytest.raises(EmbedderUnavailable):
        await learner.search.most_similar("retry", 10)
