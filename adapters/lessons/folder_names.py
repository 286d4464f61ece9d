"""The names of the lessons' folders, so that one lesson's are found without listing everybody's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from adapters.lessons.directory import Directory
from domain.learner.lesson import Bin

Bins = Mapping[Bin, Directory]

_DIGEST = 8


class FolderNames:
    """By the digest that a name ends with. Reading 100,000 names takes a tenth of a second: it is done once, and again
    after anybody else has been at work in the folder, which its revision and the bins' own dates tell.
    """

    def __init__(self) -> None:
        self._names: dict[Bin, dict[str, list[str]]] = {}
        self._read_at: dict[Bin, tuple[bytes | None, int]] = {}

    def read(self, bins: Bins, revision: bytes | None) -> None:
        """Brings the names up to date. Until `keep` says that all went well, they are not relied on again."""
        read_at, self._read_at = self._read_at, {}
        for bin, directory in bins.items():
            if read_at.get(bin) != (revision, directory.changed_at()):
                self._names[bin] = _by_digest(directory.names())

    def keep(self, bins: Bins, revision: bytes) -> None:
        """The names are those of the folder at this revision."""
        self._read_at = {bin: (revision, directory.changed_at()) for bin, directory in bins.items()}

    def ending(self, bin: Bin, digests: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Each digest with each name that ends with it."""
        names = self._names[bin]
        return ((digest, name) for digest in digests for name in names.get(digest, ()))

    def add(self, bin: Bin, name: str) -> None:
        """A folder of that name is there now."""
        known = self._names[bin].setdefault(name[-_DIGEST:], [])
        if name not in known:
            known.append(name)

    def discard(self, bin: Bin, name: str) -> None:
        """It is there no more."""
        known = self._names[bin].get(name[-_DIGEST:], [])
        if name in known:
            known.remove(name)


def _by_digest(names: Sequence[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for name in names:
        if name[-_DIGEST - 1 : -_DIGEST] == "-":
            found[name[-_DIGEST:]].append(name)
    return dict(found)
