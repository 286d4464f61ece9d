"""The only module that imports ONNX Runtime and tokenizers: import it on first use, in a thread."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from adapters.embedders.onnx_folder import SentenceModel

_MOST_THREADS: Final = 4
_LONGEST_TEXT: Final = 20_000
"""Characters: far more than any window of tokens, and far less than what takes long to cut into tokens."""


class OnnxSession:
    """A loaded model. Not for several threads at once."""

    def __init__(self, model: SentenceModel) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = min(_MOST_THREADS, os.cpu_count() or 1)
        options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session = onnxruntime.InferenceSession(str(model.model), options, providers=["CPUExecutionProvider"])
        self._inputs = {node.name for node in self._session.get_inputs()}
        self._tokenizer = _tokenizer(model)
        self._padding = _padding(self._tokenizer)
        self._takes_first = model.takes_first

    def run(self, texts: Sequence[str]) -> NDArray[np.floating]:
        """float[len(texts), dimension], not normalised."""
        tokens = [self._tokenizer.encode(text[:_LONGEST_TEXT]).ids for text in texts]
        shape = len(tokens), max(map(len, tokens))
        ids, mask = np.full(shape, self._padding, np.int64), np.zeros(shape, np.int64)
        for row, of_text in enumerate(tokens):
            ids[row, : len(of_text)], mask[row, : len(of_text)] = of_text, 1
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        outputs = self._session.run(None, {name: given[name] for name in self._inputs})
        states: NDArray[np.floating] = next((one for one in outputs if one.ndim == 3), outputs[0])
        if states.ndim == 2:
            return states
        return states[:, 0] if self._takes_first else _mean(states, mask)


def _mean(states: NDArray[np.floating], mask: NDArray[np.int64]) -> NDArray[np.floating]:
    """Over the tokens that are no padding."""
    weights = mask[..., np.newaxis]
    mean: NDArray[np.floating] = (states * weights).sum(axis=1) / weights.sum(axis=1).clip(min=1)
    return mean


def _tokenizer(model: SentenceModel) -> Tokenizer:
    """Cuts texts off at the model's window, and does not pad them."""
    if model.tokenizer.suffix == ".txt":
        tokenizer = _bert(str(model.tokenizer))
    else:
        tokenizer = Tokenizer.from_file(str(model.tokenizer))
    tokenizer.enable_truncation(model.most_tokens)
    tokenizer.no_padding()
    return tokenizer


def _bert(vocabulary: str) -> Tokenizer:
    """As BERT (uncased) does it."""
    tokenizer = Tokenizer(models.WordPiece.from_file(vocabulary, unk_token="[UNK]"))  # noqa: S106
    tokenizer.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    last, first = (tokenizer.token_to_id(name) or 0 for name in ("[SEP]", "[CLS]"))
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", last), ("[CLS]", first))
    return tokenizer


def _padding(tokenizer: Tokenizer) -> int:
    """The id of the token that fills up shorter texts."""
    ids = (tokenizer.token_to_id(name) for name in ("[PAD]", "<pad>"))
    return next((one for one in ids if one is not None), 0)
