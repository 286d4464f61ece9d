"""The command line's page, from the commands' own declarations."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Any

import typer.main

from entrypoints.cli.main import app
from entrypoints.cli.options import EVERYWHERE
from tools.docs.markdown import WRITTEN, code, page, table

_NAME = "memorygrid"
_OF_EVERY_PROGRAM = {"--install-completion", "--show-completion", "--help"}


def command_page() -> str:
    root: Any = typer.main.get_command(app)
    return page(
        WRITTEN,
        "# Command line",
        _plain(root.help),
        _options(root),
        "`memorygrid --install-completion` installs completion for the current shell; `--help` stands behind every "
        "command.",
        root.epilog or "",
        *_commands(root, _NAME),
    )


def _commands(group: Any, path: str) -> Iterator[str]:
    for name, command in group.commands.items():
        inside = getattr(command, "commands", None)
        if inside is None:
            yield from _command(command, f"{path} {name}")
        else:
            yield f"## {path} {name}"
            yield _plain(command.help)
            yield from _commands(command, f"{path} {name}")


def _command(command: Any, path: str) -> Iterator[str]:
    depth = "##" if path.count(" ") == 1 else "###"
    yield f"{depth} {path}"
    yield _plain(command.help)
    yield _options(command)
    yield _examples(command)


def _options(command: Any) -> str:
    rows = [_row(one) for one in command.params if not set(one.opts) & _OF_EVERY_PROGRAM]
    return table(["argument or option", "what it does", "default"], rows) if rows else ""


def _examples(command: Any) -> str:
    """What stands below the command's help, without what this page says once."""
    return str(command.epilog or "").replace(EVERYWHERE, "").strip()


def _row(one: Any) -> list[str]:
    if one.param_type_name == "argument":
        named = one.metavar if one.metavar and not one.metavar.startswith("[") else one.name.upper()
        name = str(named) + ("…" if one.nargs == -1 else "")
    else:
        name = ", ".join([*one.opts, *getattr(one, "secondary_opts", [])])
    said = [_plain(one.help), _choices(one), f"Variable: {code(one.envvar)}." if one.envvar else ""]
    return [code(name), " ".join(part for part in said if part), _default(one)]


def _choices(one: Any) -> str:
    kind = getattr(one.type_descriptor, "annotation", None)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return "One of " + ", ".join(code(str(member.value)) for member in kind) + "."
    return ""


def _default(one: Any) -> str:
    if one.required:
        return "required"
    shown = getattr(one, "show_default", True)
    if isinstance(shown, str):
        return shown
    value = one.default.value if isinstance(one.default, Enum) else one.default
    return code(str(value)) if shown and value not in (None, "", False, (), []) and not callable(value) else ""


def _plain(text: str | None) -> str:
    """Help as Markdown: what stands in pointed brackets is no tag."""
    return (text or "").strip().replace("<", "&lt;").replace(">", "&gt;")
