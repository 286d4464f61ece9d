"""A sentence model on the machine's own processor, through ONNX Runtime. Nothing is downloaded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from adapters.embedders.calibration import measured_floor, texts_to_calibrate_with
from adapters.embedders.last_failure import LastFailure
from adapters.embedders.numpy_means import NumpyMeans
from adapters.embedders.onnx_folder import SentenceModel, find_model
from adapters.embedders.unit_vectors import unit_vectors
from adapters.one_at_a_time import OneAtATime
from domain.errors import EmbedderUnavailable

if TYPE_CHECKING:
    from adapters.embedders.onnx_session import OnnxSession

_AT_ONCE: Final = 16
"""Texts; other callers get their turn in between."""


class OnnxEmbedder(NumpyMeans):
    """Loads the model with its first use, in a thread. Texts beyond the model's window are cut off at its end."""

    def __init__(self, model_path: str = "") -> None:
        """`model_path` is a folder with a sentence model; empty means the packaged one.

        Raises `InvalidConfiguration`.
        """
        self._model: SentenceModel = find_model(model_path)
        self._floor = self._model.relevance_floor
        self._turns = OneAtATime()
        self._session: OnnxSession | None = None
        self._last = LastFailure()

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def dimension(self) -> int:
        return self._model.dimension

    @property
    def relevance_floor(self) -> float:
        """The packaged model's, or what `open` measures for another one: see `calibration`. 0 until then."""
        return self._floor or 0.0

    def problem(self) -> str | None:
        return self._last.detail

    async def open(self) -> None:
        """Loads the model."""
        if self._session is None or self._floor is None:
            vectors = await self.embed(texts_to_calibrate_with())
            self._floor = self._floor or measured_floor(vectors)

    async def embed(self, texts: Sequence[str]) -> Sequence[bytes]:
        """Texts of about the same length are computed together, which saves padding."""
        order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
        vectors: dict[int, bytes] = {}
        for start in range(0, len(order), _AT_ONCE):
            some = order[start : start + _AT_ONCE]
            found = await self._turns.in_thread(lambda some=some: self._embed([texts[at] for at in some]))  # type: ignore[misc]
            vectors.update(zip(some, found, strict=True))
        return [vectors[at] for at in range(len(texts))]

    def _embed(self, texts: Sequence[str]) -> list[bytes]:
        with self._last.noted():
            return self._computed(texts)

    def _computed(self, texts: Sequence[str]) -> list[bytes]:
        if self._session is None:
            self._session = self._loaded()
        try:
            matrix = self._session.run(texts)
        except Exception as error:
            raise EmbedderUnavailable(f"The model {self.name} failed: {type(error).__name__}.") from error
        if matrix.shape != (len(texts), self.dimension):
            raise EmbedderUnavailable(
                f"The model {self.name} gave {matrix.shape[-1]} dimensions, its configuration says {self.dimension}."
            )
        return unit_vectors(matrix, f"The model {self.name}")

    def _loaded(self) -> OnnxSession:
        from adapters.embedders.onnx_session import OnnxSession  # noqa: PLC0415 - of an extra, and slow to import

        try:
            return OnnxSession(self._model)
        except Exception as error:
            detail = f"The model {self.name} cannot be loaded from {self._model.model}: {type(error).__name__}."
            raise EmbedderUnavailable(detail) from error
