"""At the end of a test run: which port's contract was kept by which adapter, in how many tests.

A pytest plugin. Each test of a contract suite says its port and adapter in its reports, so that the table is the same
however many workers the tests are spread over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.contract.parameters import Adapter

_SUITES = Path(__file__).parent
_PROPERTY = "contract"
_COLUMNS = ("passed", "failed", "skipped")

Row = tuple[str, str]


def suite_of(path: Path) -> str:
    """The suite that a module is of: its own name, or that of the folder that a long suite is spread over."""
    return path.parent.name if path.parent.parent == _SUITES else path.stem


def port_of(suite: str) -> str:
    """The port that a suite is about: `test_vector_index` is about `VectorIndex`, as a folder `vector_index` is."""
    return suite.removeprefix("test_").title().replace("_", "")


def adapter_of(item: pytest.Function) -> str | None:
    """The adapter that a test is run over."""
    names = item.callspec.params.values() if hasattr(item, "callspec") else ()
    return next((str(one) for one in names if isinstance(one, Adapter)), None)


def pytest_itemcollected(item: pytest.Item) -> None:
    if isinstance(item, pytest.Function) and (adapter := adapter_of(item)) is not None:
        item.user_properties.append((_PROPERTY, [port_of(suite_of(item.path)), adapter]))


class ContractTable:
    """Counts the tests of each port and adapter. A test counts once: what fails in any phase has failed."""

    def __init__(self) -> None:
        self._rows: dict[str, Row] = {}
        self._results: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        row = next((value for name, value in report.user_properties if name == _PROPERTY), None)
        if not isinstance(row, (list, tuple)):
            return
        port, adapter = row
        self._rows[report.nodeid] = (port, adapter)
        if report.failed:
            self._results[report.nodeid] = "failed"
        elif report.skipped or report.when == "call":
            self._results.setdefault(report.nodeid, report.outcome)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self._rows:
            return
        terminalreporter.section("contract suites: port, adapter, tests")
        for line in table(self._rows.values(), ((self._rows[test], of) for test, of in self._results.items())):
            terminalreporter.line(line)


def table(rows: Iterable[Row], results: Iterable[tuple[Row, str]]) -> list[str]:
    """The lines of the table, sorted by port and adapter."""
    counts = Counter(results)
    lines: list[tuple[str, ...]] = [("port", "adapter", *_COLUMNS)]
    lines += [(*row, *(str(counts[row, column]) for column in _COLUMNS)) for row in sorted(set(rows))]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    names, numbers = slice(None, 2), slice(2, None)
    return [
        "  ".join([*map(str.ljust, line[names], widths[names]), *map(str.rjust, line[numbers], widths[numbers])])
        for line in lines
    ]


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # with several workers, the process that they report to
        config.pluginmanager.register(ContractTable(), "contract table")
