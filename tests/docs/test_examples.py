"""Every example in the documentation is run, or says why it is not.

A page is one story: its blocks run in order, in a folder of their own with the project's rules file. Shell commands
and Python programs run against a real service, which the page starts with `uvicorn …`; where a block names the service
and the page has not started one, it is there with its defaults. A block with a title is a file of that name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.blocks import PROJECT, Block, blocks_of, name_of, pages
from tests.docs.checks import check_output, check_shape
from tests.docs.shell import Done, Shell

_SERVE = "uvicorn memorygrid_incorporator.main:app --port 8001 --log-level warning"
_TARGETS = set(re.findall(r"^([a-z-]+):", (PROJECT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
_RUN = {"bash", "python"}
_SHOWN = {"", "json", "text"}


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    opened = Shell(tmp_path)
    yield opened
    opened.close()


_WITH_EXAMPLES = [page for page in pages() if page.is_file() and blocks_of(page)]


@pytest.mark.parametrize("page", _WITH_EXAMPLES, ids=name_of)
def test_the_examples_of_a_page_work(page: Path, shell: Shell) -> None:
    last = Done("", [])
    for block in blocks_of(page):
        if "not run" not in block.said:
            last = _run(block, shell, last)


def _run(block: Block, shell: Shell, last: Done) -> Done:
    if block.title:
        shell.write(block.title, block.text)
    if block.language in _RUN and ":8001" in block.text and not shell.has_service:
        shell.run(_SERVE, block.place)
    if block.language == "bash":
        return _checked(shell.run(block.text, block.place), block)
    if block.language == "python" and not block.title:
        return _checked(shell.python(block.text, block.place), block)
    if "output" in block.said:
        check_output(block.text, last.output, block.language, block.place)
    if "shape" in block.said:
        check_shape(block.said["shape"], block.text)
    return last


def _checked(done: Done, block: Block) -> Done:
    expected = block.said.get("status")
    wrong = [one for one in done.statuses if (str(one) != expected if expected else one >= 400)]
    assert not wrong, f"{block.place}: a request was answered with {wrong}:\n{done.output}"
    return done


@pytest.mark.parametrize("page", _WITH_EXAMPLES, ids=name_of)
def test_every_block_is_checked_or_says_why_not(page: Path) -> None:
    for block in blocks_of(page):
        checked = {"output", "shape"} & block.said.keys() or block.title or _names_targets(block)
        assert block.language in _RUN or "not run" in block.said or (block.language in _SHOWN and checked), block.place


def _names_targets(block: Block) -> bool:
    """Whether the block is a list of the project's own make targets."""
    found = [re.match(r"make ([a-z-]+)", line) for line in block.text.splitlines() if line.strip()]
    return all(one is not None and one[1] in _TARGETS for one in found)


@pytest.mark.parametrize("page", _WITH_EXAMPLES, ids=name_of)
def test_a_request_whose_answer_is_not_shown_fails_aloud(page: Path) -> None:
    """One that is dropped, kept in a variable or a file, or piped on."""
    for block in blocks_of(page):
        for line in block.text.splitlines() if block.language == "bash" else ():
            if re.search(r"\$\(curl |\| curl |\bcurl .*(-o /dev/null|\| |> )", line):
                assert "curl -sS --fail-with-body " in line, f"{block.place}: {line}"


def test_a_reason_is_a_sentence() -> None:
    for page in _WITH_EXAMPLES:
        for block in blocks_of(page):
            assert len(block.said.get("not run", "a good reason")) > 10, block.place
