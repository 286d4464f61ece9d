"""The lessons folder: `<root>/<bin>/<name>/SKILL.md`, one file a promoted lesson.

The folder is derived from the object store and says in `.catalog-revision` which revision it reflects. Processes may
share it: one at a time applies a change, and the revision is written last, so that whatever was cut short is applied
again. Other folders in the root are left alone: a lesson's own has a name that ends with the lesson's digest and a file
that gives the lesson's id.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from adapters.lessons.directory import Directory, open_directory
from adapters.lessons.folder_names import Bins, FolderNames
from adapters.one_at_a_time import OneAtATime
from application.learner.ports import LessonFiles
from domain.errors import StoreUnavailable
from domain.learner import agent_skill
from domain.learner.lesson import Bin, PromotedLesson

_FILE = "SKILL.md"
_LONGEST_REVISION = 32
_REVISION = ".catalog-revision"
_HEAD = 8_192
_ATTEMPTS = 3
_HINTS = {
    errno.ENOSPC: "make room on the disk",
    errno.EDQUOT: "the user's disk quota is used up",
    errno.EACCES: "let the service's user write there, or set MG_LESSONS_ROOT to a folder where it may",
    errno.EPERM: "let the service's user write there, or set MG_LESSONS_ROOT to a folder where it may",
    errno.EROFS: "set MG_LESSONS_ROOT to a folder that can be written",
    errno.ENOTDIR: "a file or a symbolic link stands where a folder belongs; move it away",
    errno.ELOOP: "a symbolic link stands where a folder belongs; move it away",
    errno.EISDIR: "a folder stands where a file belongs; move it away",
}

Place = tuple[Bin, str]


class SkillFolder(LessonFiles):
    """Nothing is created before the first change is applied. Each call is one hop to a worker thread.

    Whoever is cancelled does not wait for a file system that hangs: the call runs on, and the next one after it.
    """

    def __init__(self, root: str | Path, *, lock_timeout_s: float = 10.0) -> None:
        self._root = Path(root).absolute()
        self._lock_timeout_s = lock_timeout_s
        self._turns = OneAtATime()
        self._names = FolderNames()

    async def revision(self) -> int:
        return await self._turns.in_thread(self._read_revision)

    async def apply(self, put: Sequence[PromotedLesson], remove: Sequence[str], revision: int) -> None:
        await self._turns.in_thread(partial(self._apply, tuple(put), tuple(remove), revision))

    def _read_revision(self) -> int:
        with _explained(self._root):
            try:
                with open_directory(self._root) as root:
                    return int(root.read(_REVISION, _LONGEST_REVISION) or b"0")
            except (FileNotFoundError, ValueError):
                return 0

    def _apply(self, put: Sequence[PromotedLesson], remove: Sequence[str], revision: int) -> None:
        with _explained(self._root), ExitStack() as opened:
            root = opened.enter_context(open_directory(self._root, create=True))
            root.claim(self._lock_timeout_s)
            root.tidy()
            bins = {bin: opened.enter_context(self._bin(root, bin)) for bin in Bin}
            self._names.read(bins, root.read(_REVISION, _LONGEST_REVISION))
            self._do_all(bins, put, remove)
            for directory in (*bins.values(), root):
                directory.sync()
            reflected = b"%d\n" % revision
            root.replace(_REVISION, reflected)
            self._names.keep(bins, reflected)

    @contextmanager
    def _bin(self, root: Directory, bin: Bin) -> Iterator[Directory]:
        with _explained(self._root / bin.value), root.child(bin.value, create=True) as directory:
            yield directory

    def _do_all(self, bins: Bins, put: Sequence[PromotedLesson], remove: Sequence[str]) -> None:
        """Does everything that can be done, then raises for the first thing that could not."""
        found = self._folders(bins, {*remove, *(copy.id for copy in put)})
        work: list[Callable[[], None]] = [
            *(partial(self._take_away, bins, found.get(lesson_id, ())) for lesson_id in remove),
            *(partial(self._put, bins, copy, found.get(copy.id, ())) for copy in put),
        ]
        failures = [failure for each in work if (failure := _failure_of(each)) is not None]
        if failures:
            raise failures[0]

    def _folders(self, bins: Bins, lesson_ids: set[str]) -> dict[str, list[Place]]:
        """Where each of the lessons has a folder now."""
        digests = {digest: lesson_id for lesson_id in lesson_ids for digest in _digests(lesson_id)}
        found: dict[str, list[Place]] = {}
        for bin, directory in bins.items():
            for digest, name in self._names.ending(bin, digests):
                with _explained(self._root / bin.value / name):
                    owner = _owner(directory, name, digests[digest])
                if owner in lesson_ids and digest in _digests(owner):
                    found.setdefault(owner, []).append((bin, name))
        return found

    def _put(self, bins: Bins, copy: PromotedLesson, earlier: Sequence[Place]) -> None:
        """Writes the lesson's file, then removes those under other names, so that there is always one."""
        directory = bins[copy.bin]
        with _explained(self._root / copy.bin.value / agent_skill.skill_name(copy.title, copy.id)):
            attempt = _attempt_for(copy, directory)
            name = agent_skill.skill_name(copy.title, copy.id, attempt)
            with directory.child(name, create=True) as folder:
                folder.tidy()
                folder.replace(_FILE, agent_skill.render(copy, attempt).encode())
            self._names.add(copy.bin, name)
        self._take_away(bins, [place for place in earlier if place != (copy.bin, name)])

    def _take_away(self, bins: Bins, places: Sequence[Place]) -> None:
        for bin, name in places:
            with _explained(self._root / bin.value / name):
                bins[bin].remove(name, _FILE)
                if not bins[bin].holds(name):
                    self._names.discard(bin, name)


def _attempt_for(copy: PromotedLesson, directory: Directory) -> int:
    """The first attempt at a name that no other lesson and nobody's link or file has.

    A folder of that name whose file names no lesson is one of ours that somebody has damaged.
    """
    for attempt in range(_ATTEMPTS):
        name = agent_skill.skill_name(copy.title, copy.id, attempt)
        if not directory.holds(name) or (
            directory.is_directory(name) and _owner(directory, name, copy.id) in (None, copy.id)
        ):
            return attempt
    raise FileExistsError(errno.EEXIST, "something else has every name that the lesson's folder could have")


def _digests(lesson_id: str) -> list[str]:
    return [agent_skill.digest(lesson_id, attempt) for attempt in range(_ATTEMPTS)]


def _owner(directory: Directory, name: str, unfinished: str) -> str | None:
    """The id of the lesson whose folder that is, if it is one; `unfinished` where its file is not written yet."""
    if not directory.is_directory(name):
        return None
    with directory.child(name) as folder:
        if not folder.holds(_FILE):
            return unfinished
        head = folder.read(_FILE, _HEAD)
    return None if head is None else agent_skill.lesson_id(head.decode(errors="replace"))


def _failure_of(work: Callable[[], None]) -> StoreUnavailable | None:
    try:
        work()
    except StoreUnavailable as failure:
        return failure
    return None


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Says where in the lessons folder what went wrong, and what helps."""
    try:
        yield
    except OSError as error:
        hint = _HINTS.get(error.errno or 0)
        reason = f"{error.strerror or error} ({hint})" if hint else f"{error.strerror or error}"
        raise StoreUnavailable(f"the lessons folder cannot be used: {path}: {reason}") from error
