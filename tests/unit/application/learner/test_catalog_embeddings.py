"""The catalog's embeddings: made where they are missing, in one batch, and kept for the copy that they are of."""

from __future__ import annotations

from collections.abc import Sequence

from application.learner.embed import EmbedLessons
from application.learner.ports import StoredVectors
from domain.learner.lesson import Decision
from domain.learner.sections import texts_to_embed
from tests.fakes.examples import copy
from tests.fakes.system import Learner
from tests.fakes.unsteady import UnsteadyEmbedder
from tests.unit.application.learner.catalogs import Slow, crowd, similar


async def test_copies_without_embeddings_are_embedded_and_kept() -> None:
    learner = Learner()
    (one,) = await crowd(learner.store, 1)
    await learner.catalog.refresh()
    assert learner.embedder.embedded == texts_to_embed(one.title, one.body)
    second = Learner(store=learner.store)
    await second.catalog.refresh()
    assert second.embedder.embedded == []
    assert await similar(second) == ["Lesson 0"]


async def test_all_texts_of_a_call_are_embedded_in_one_batch() -> None:
    calls: list[int] = []

    class Counting(UnsteadyEmbedder):
        async def embed(self, texts: Sequence[str]) -> Sequence[bytes]:
            calls.append(len(texts))
            return await super().embed(texts)

    copies = [copy(title="One", body="# A\n\na\n\n# B\n\nb"), copy(title="Two", body=""), copy(title="Three", body="c")]
    stored = await EmbedLessons(embedder=Counting())(copies)
    assert calls == [6]
    assert [one.count for one in stored] == [3, 1, 2]
    embedder = UnsteadyEmbedder()
    for of, one in zip(copies, stored, strict=True):
        assert one.data == b"".join(await embedder.embed(texts_to_embed(of.title, of.body)))
        assert (one.embedder, one.dimension, one.bin) == (embedder.name, embedder.dimension, of.bin)


async def test_embeddings_of_a_copy_that_was_replaced_meanwhile_are_not_kept_for_the_new_one() -> None:
    embedder = Slow()
    first = Learner()
    first.embedder.away = True
    before = await first.promoted(title="Retry uploads")
    second = Learner(store=first.store, embedder=embedder)

    async def edit() -> None:
        await first.decided(before, Decision.EDIT, title="Wait for the storage")

    embedder.meanwhile.append(edit)
    await second.catalog.refresh()
    second.watch.stir()
    assert await similar(second) == ["Wait for the storage"]
    delta = await first.store.changes_since(0, embedder.name, 10)
    (item,) = delta.promoted
    assert item.vectors is not None
    texts = texts_to_embed("Wait for the storage", before.body)
    assert item.vectors.data == b"".join(await embedder.embed(texts))


async def test_stored_vectors_name_their_lesson() -> None:
    (stored,) = await EmbedLessons(embedder=UnsteadyEmbedder())([copy()])
    assert isinstance(stored, StoredVectors)
    assert stored.lesson_id == copy().id
