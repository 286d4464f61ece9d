"""`memorygrid rules`: the file that says where each kind of problem is looked up."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from domain.errors import InvalidConfiguration
from domain.incorporator.rules import RuleSet
from entrypoints.cli.failures import ExitCode, Failure
from entrypoints.cli.options import AsJson, examples
from entrypoints.cli.terminal import on_one_line, print_json, print_table, remark, say
from entrypoints.escaping import escaped

app = typer.Typer(
    name="rules",
    no_args_is_help=True,
    help="Check and list the DSL matcher's rules: where each kind of problem is looked up.",
)

File = Annotated[
    Path | None, typer.Argument(help="The rules file, in JSON.", show_default="MG_DSL_MATCH_RULES_PATH", metavar="FILE")
]


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """What `check` found. `problem` is None where the file is in order."""

    file: str
    rules: int
    problem: str | None = None


@app.command(
    "check", epilog=examples({"memorygrid rules check new_rules.json": "before it takes the old file's place"})
)
def check(file: File = None, as_json: AsJson = False) -> None:
    """Check a rules file before a service reads it. The exit code is 1 where it is broken or missing.

    Of a broken file, the line and the reason are told. A local file is read, whatever --url says.
    """
    path = _path(file)
    try:
        checked = Checked(file=str(path), rules=len(_read(path).all))
    except InvalidConfiguration as error:
        checked = Checked(file=str(path), rules=0, problem=error.detail)
    if as_json:
        print_json(checked)
    if checked.problem is not None:
        raise Failure(escaped(checked.problem), ExitCode.NO)
    if not as_json:
        say(f"{checked.rules} rules in {escaped(str(path))} are in order")


@app.command("list", epilog=examples({"memorygrid rules list": ""}))
def list_rules(file: File = None, as_json: AsJson = False) -> None:
    """List the rules of a file, in the order in which they are tried. A local file is read, whatever --url says."""
    path = _path(file)
    found = _read(path).all
    if as_json:
        print_json(found)
        return
    rows = [
        (on_one_line(one.problem_type), one.target_bin.value, on_one_line(one.lookup), f"{one.min_score:g}")
        for one in found
    ]
    print_table(["Problem type", "Bin", "Looked up by", "Least score"], rows)
    remark(f"{len(found)} rules in {escaped(str(path))}")


def _path(file: Path | None) -> Path:
    if file is not None:
        return file
    from entrypoints.settings import Settings  # noqa: PLC0415 - loads the adapters

    return Path(Settings().dsl_match_rules_path)


def _read(path: Path) -> RuleSet:
    """The rules as the service reads them. Raises `InvalidConfiguration`, also where there is no such file."""
    from adapters.rules.file_rules import FileRules  # noqa: PLC0415 - other commands need none of it

    if not path.exists():
        raise InvalidConfiguration(f"there is no rules file at {path}: without one, no rules apply")
    rules = FileRules(path)
    rules.load()
    return rules.current()
