"""What a stranger finds with --help: every command's examples work, and every option says what it is."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any

import pytest
import typer.main

from entrypoints.cli.main import app, hoisted
from entrypoints.cli.options import EVERYWHERE
from tests.unit.cli.conftest import Cli

ROOT: Any = typer.main.get_command(app)


def _commands(group: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, f"{path}{name} ")
        else:
            yield f"{path}{name}", command


COMMANDS = dict(_commands(ROOT))


EXAMPLES = [
    (name, example)
    for name, command in COMMANDS.items()
    for example in re.findall(r"^- `(.+?)`(?= \(|$)", command.epilog or "", re.MULTILINE)
]


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_has_an_example_of_its_own(name: str) -> None:
    assert any(of == name and f"memorygrid {name}" in example for of, example in EXAMPLES)
    assert COMMANDS[name].epilog.endswith(EVERYWHERE)


@pytest.mark.parametrize(("name", "example"), EXAMPLES)
def test_every_example_is_a_command_that_is_understood(name: str, example: str) -> None:
    first = re.split(r" \|\|? ", example)[0]
    words = [word for word in shlex.split(first) if not re.match(r"[A-Z_]+=", word)]
    assert words[0] == "memorygrid"
    command, rest = ROOT, hoisted(words[1:])
    while hasattr(command, "commands"):
        context = command.make_context(command.name, list(rest))
        _, command, rest = command.resolve_command(context, [*context._protected_args, *context.args])
    command.make_context(command.name, list(rest))


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_argument_and_option_says_what_it_is_in_sentences(name: str) -> None:
    for one in COMMANDS[name].params:
        assert one.help is not None, one.name
        assert re.fullmatch(r"[A-Z].{8,}[.]", one.help, re.DOTALL), (one.name, one.help)


def test_the_help_names_the_lists_that_ids_come_from_and_how_a_service_is_named(cli: Cli) -> None:
    shown = " ".join(cli("review", "approve", "--help").stdout.split())
    assert "as the lists show them" in shown
    assert "--url and --api-key choose a service" in shown
