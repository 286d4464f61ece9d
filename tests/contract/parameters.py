"""The names of adapters as parameters of tests, told apart from other parameters by their type."""

from __future__ import annotations

from collections.abc import Iterable


class Adapter(str):
    """An adapter's name as a test's parameter; the table at a run's end goes by it."""

    __slots__ = ()


def over(names: Iterable[str]) -> list[Adapter]:
    """The parameters of a fixture or a test that is run over these adapters."""
    return [Adapter(name) for name in names]
