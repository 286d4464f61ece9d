"""Variables that were most likely meant for the service, but that nothing reads."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

from entrypoints.settings import VARIABLES

_PREFIX: Final = "MG_"
_READ: Final = {*VARIABLES, "MG_URL", "MG_API_KEY"}
_ALIKE: Final = 0.85


def misspelt(names: Iterable[str]) -> dict[str, str]:
    """What each of these names was most likely meant to be. Names that are like no variable's are somebody else's."""
    unread = sorted(name for name in names if name.startswith(_PREFIX) and name not in _READ)
    meant = {name: get_close_matches(name, _READ, n=1, cutoff=_ALIKE) for name in unread}
    return {name: found[0] for name, found in meant.items() if found}
