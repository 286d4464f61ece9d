"""The table at a run's end counts each test of a contract suite once, for its port and its adapter."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from application.feedback import ports as feedback
from application.learner import ports as learner
from application.shared import ports as shared
from tests.contract.table import port_of, suite_of

HERE = Path(__file__).parent
SUITES = sorted({suite_of(path) for path in HERE.rglob("test_*.py") if path != Path(__file__)})
SUITE = """
import pytest
from tests.contract.parameters import over

@pytest.fixture(params=over(["fake", "real"]))
def store(request):
    yield request.param
    assert "teardown" not in request.node.name

def test_passes(store): pass
@pytest.mark.parametrize("text", ["fake", "real"])
def test_passes_with_other_parameters(store, text): pass
def test_fails_in_its_teardown(store): pass
def test_fails(store): assert store == "fake"
@pytest.fixture
def server(store): pytest.skip("there is none")
def test_is_skipped(store, server): pass
def test_is_of_no_adapter(): pass
"""


@pytest.mark.parametrize("suite", SUITES)
def test_a_suite_is_named_after_its_port(suite: str) -> None:
    assert any(hasattr(module, port_of(suite)) for module in (feedback, learner, shared))


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_test_counts_once_whatever_the_number_of_workers(tmp_path: Path, workers: str) -> None:
    (tmp_path / "test_odd_store.py").write_text(SUITE)
    options = ["-c", os.devnull, "--rootdir", str(tmp_path), "-p", "no:cacheprovider", "-p", "tests.contract.table"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "-n", workers, str(tmp_path)],
        cwd=HERE.parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    at = lines.index(["port", "adapter", "passed", "failed", "skipped"])
    assert lines[at + 1 : at + 3] == [["OddStore", "fake", "4", "1", "1"], ["OddStore", "real", "3", "2", "1"]]
