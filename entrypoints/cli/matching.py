"""`memorygrid match` and `memorygrid misses`: what an agent would be told, and what nobody has learned yet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from domain.errors import InvalidInput
from domain.incorporator.match import MatcherName, MatchResult
from domain.incorporator.outcome import dsl_action
from domain.incorporator.query import QueryInput
from domain.values import JsonObject
from entrypoints.cli.failures import ExitCode, Failure
from entrypoints.cli.options import MATCHING, AsJson, Limit, examples
from entrypoints.cli.session import Session
from entrypoints.cli.terminal import moment, on_one_line, plain, print_json, print_table, remark, say

if TYPE_CHECKING:
    from application.incorporator.explain import Explanation


def register(app: typer.Typer) -> None:
    app.command(
        "match",
        rich_help_panel=MATCHING,
        epilog=examples(
            {
                "memorygrid match flaky_upload": "",
                "memorygrid match alert -c 'alert=Pod payments/checkout is crash looping' -c namespace=payments": "",
                'memorygrid match retry -c retries=3 -c \'pod={"name": "checkout"}\'': "values may be JSON",
            }
        ),
    )(match)
    app.command(
        "misses",
        rich_help_panel=MATCHING,
        epilog=examples({"memorygrid misses -n 10": "the ten lessons most worth writing"}),
    )(misses)


def match(
    context: typer.Context,
    *,
    problem_type: Annotated[
        str,
        typer.Argument(
            help="The kind of problem, as agents name it: 1 to 255 characters.",
            metavar="PROBLEM_TYPE",
            show_default=False,
        ),
    ],
    task: Annotated[
        list[str] | None,
        typer.Option(
            "--context",
            "-c",
            metavar="NAME=VALUE",
            help="Part of current_task_context, what the problem is like; may be repeated.",
        ),
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option("--data", "-d", metavar="NAME=VALUE", help="Part of additional_caller_data; may be repeated."),
    ] = None,
    llm: Annotated[
        bool,
        typer.Option(
            "--llm",
            help="Ask the language model, too, as an invoke would: that costs tokens, and up to MG_LLM_TIMEOUT_S.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Tell which lesson an invoke would find, and why: a dry run.

    Nothing is recorded. The exit code is 1 where no lesson is found. Without --llm the most similar lesson stands in
    for the model's choice, and a note says so where an invoke without a model would answer no match. The candidates are
    shown best first: the hit of the DSL rule, then those that the language model is offered. A score is 1 where title
    or body hold the whole query text, else the similarity, from 0 to 1.
    """
    query = QueryInput(
        session_id="memorygrid-match",
        problem_solving_step_ref="dry-run",
        problem_type=problem_type,
        current_task_context=_pairs(task or ()),
        additional_caller_data=_pairs(data or ()),
    )
    found = Session.of(context).ask(lambda service: service.explain(query, with_llm=llm))
    if as_json:
        print_json(found)
    else:
        _explain(found, asked=llm)
    if found.match is None:
        raise Failure(f"no promoted lesson applies to {problem_type}", ExitCode.NO)


def misses(context: typer.Context, limit: Limit = 50, as_json: AsJson = False) -> None:
    """List the kinds of problem that found no lesson, most frequent first: the lessons that are worth writing."""
    found = Session.of(context).ask(lambda service: service.misses(limit), of_feedback=True)
    if as_json:
        print_json(found)
        return
    rows = [(on_one_line(one.problem_type), str(one.count), moment(one.last_at)) for one in found]
    print_table(["Problem type", "Times", "Last (UTC)"], rows)


def _pairs(given: Sequence[str]) -> JsonObject:
    pairs: JsonObject = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not equals or not name:
            raise InvalidInput(f"{one!r} is not of the form NAME=VALUE")
        try:
            pairs[name] = msgspec.json.decode(value)
        except msgspec.DecodeError:
            pairs[name] = value
    return pairs


def _explain(found: Explanation, *, asked: bool) -> None:
    if found.match is not None:
        _say_match(found.match, certain=asked or found.match.matcher_used is MatcherName.DSL)
    if found.rule is not None:
        rule = found.rule
        say(f"Rule: {rule.target_bin.value} is searched for {rule.lookup!r}, min_score {rule.min_score:g}")
    say()
    chosen = found.match.matched_entity_id if found.match else None
    rows = [
        (
            plain(">" if one.lesson_id == chosen else "", "bold green"),
            on_one_line(one.title),
            f"{one.score:.3f}",
            f"{one.similarity:.3f}",
            "yes" if one.text_match else "no",
            one.excluded or "",
            one.lesson_id,
        )
        for one in found.candidates
    ]
    print_table(["", "Candidate", "Score", "Similarity", "Holds the rule's text", "Left out", "Id"], rows, whole=["Id"])
    for note in found.notes:
        remark(f"Note: {note.replace('add ?llm=true', '--llm asks it')}")


def _say_match(match: MatchResult, *, certain: bool) -> None:
    """`certain`: an invoke decides the same; else it asks the language model, or takes this if similar enough."""
    copy = match.raw_payload
    action = dsl_action(copy)
    say(plain(on_one_line(copy.title), "bold green"))
    how = f"matched by {match.matcher_used.value}" if certain else "the first that the language model is offered"
    why = f" ({match.fallback_reason.value})" if match.fallback_reason else ""
    say(f"{match.matched_entity_type.value} {copy.id}, {how}, confidence {match.confidence:.3f}{why}")
    if action is not None:
        say(f"Action: {on_one_line(action)}")
    else:
        say("Action: none of its own, so the language model words one")
