"""The settings as a table and as an example file, read from the source of `entrypoints/settings.py`."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from enum import Enum
from typing import Any, NamedTuple, get_type_hints

import msgspec

from entrypoints import settings as source
from entrypoints.settings import Settings
from tools.docs.environment import bare_environment
from tools.docs.markdown import WRITTEN, code, page, table
from tools.docs.settings_words import GROUPS, WORDS


class Setting(NamedTuple):
    """`allowed` and `default` are written as in the environment; an empty default means none."""

    variable: str
    field: str
    allowed: str
    default: str


def settings() -> list[Setting]:
    """All of them, in the source's order."""
    with bare_environment():
        defaults = Settings()
    hints = get_type_hints(Settings)
    return [
        Setting(variable, field, _allowed(hints[field], reader), _shown(getattr(defaults, field)))
        for field, variable, reader in _declared()
    ]


def settings_page() -> str:
    known = {one.variable: one for one in settings()}
    parts = []
    for title, variables in GROUPS.items():
        rows = [_row(known[name]) for name in variables if name in known]
        parts += [f"## {title}", table(["variable", "what it does", "default"], rows)]
    return page(
        WRITTEN,
        "# Settings",
        "Settings are environment variables. They are read once, at the start, and checked together: a start with an "
        "unusable value ends with one message that names every offending variable and what it allows. An empty "
        "variable counts as unset.",
        "The Learner's service reads the same variables; it ignores those of matching, feedback and escalation.",
        *parts,
        "## For the hook client",
        table(
            ["variable", "what it does", "default"],
            [["`MG_API_KEY`", "The key that the hook client sends when it is given no `api_key`.", ""]],
        ),
        "An example of all of them is in `config/env.example`.",
    )


def env_example() -> str:
    known = {one.variable: one for one in settings()}
    lines = ["# Every setting with its default. Take the # away from those that you change.", ""]
    for title, variables in GROUPS.items():
        lines += [f"# --- {title} ---", ""]
        for name in (name for name in variables if name in known):
            one = known[name]
            lines += textwrap.wrap(
                WORDS[name].replace("`", ""), 110, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False
            )
            lines += [f"# Allowed: {one.allowed.replace('`', '')}"]
            lines += [f"#{name}={one.default}", ""]
    return "\n".join(lines)


def _row(one: Setting) -> list[str]:
    allowed = "" if one.allowed == "text" else f"<br>*Allowed:* {one.allowed}"
    return [code(one.variable), WORDS[one.variable] + allowed, code(one.default) if one.default else ""]


def _declared() -> Iterator[tuple[str, str, ast.expr]]:
    """Field, variable and reader of each `field: type = _env("VARIABLE", reader, default)`."""
    tree = ast.parse(inspect.getsource(source))
    (body,) = (node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Settings")
    for node in body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Call) and isinstance(node.target, ast.Name):
            variable, reader, _ = node.value.args
            assert isinstance(variable, ast.Constant)
            yield node.target.id, str(variable.value), reader


def _allowed(hint: Any, reader: ast.expr) -> str:
    if isinstance(hint, type) and issubclass(hint, Enum):
        return ", ".join(code(str(one.value)) for one in hint)
    if isinstance(reader, ast.Call) and isinstance(reader.func, ast.Name):
        least, most = (ast.unparse(one).replace("_", "") for one in reader.args)
        kind = {"whole": "whole number", "number": "number"}[reader.func.id]
        return f"a {kind} from {_number(least)} to {_number(most)}"
    return _KINDS.get(ast.unparse(reader), "text")


def _number(text: str) -> str:
    return f"{eval(text):,}" if "<<" in text else f"{float(text):,g}"  # noqa: S307 - a literal of our own source


_KINDS = {
    "str": "text",
    "dsn": "a database's address",
    "address": "an http(s) address",
    "keys": "keys, between commas",
    "actions": "names, between commas",
    "webhook_secret": "`whsec_` and base64",
}


def _shown(value: object) -> str:
    if value is None or isinstance(value, msgspec.Struct):
        return ""
    if isinstance(value, Enum):
        return str(value.value)
    return f"{value:g}" if isinstance(value, float) else str(value)
