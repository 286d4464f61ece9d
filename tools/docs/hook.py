"""The hook client's page, from its signatures and docstrings."""

from __future__ import annotations

import inspect
from typing import Any

import msgspec

from memorygrid_incorporator.pipeline import incorporator_hook as hook
from tools.docs.markdown import WRITTEN, code, page, table

_NO_MATCH = type(inspect.signature(hook.IncorporatorHookClient.invoke).parameters["on_no_match"].default)
_METHODS = ("invoke", "report_outcome", "step", "aclose")


def hook_page() -> str:
    client = hook.IncorporatorHookClient
    return page(
        WRITTEN,
        "# Hook client",
        "`memorygrid_incorporator.pipeline.incorporator_hook` needs httpx and msgspec, nothing else. It is typed. "
        "[How to wire a pipeline](../how-to/hook-client.md) shows it at work.",
        "## IncorporatorHookClient",
        _parameters(client),
        _text(client),
        *(part for name in _METHODS for part in _method(client, name)),
        "## SyncIncorporatorHookClient",
        _text(hook.SyncIncorporatorHookClient),
        "`close()` stands for `aclose()`. The methods and their parameters are the same, not awaited.",
        "## Step",
        _text(hook.Step),
        *(part for name in ("succeed", "fail") for part in _method(hook.Step, name)),
        "## NotSendable",
        "A `ValueError`. " + _text(hook.NotSendable),
        *(part for shape in (hook.ApplierOutcome, hook.MatchResult, hook.FeedbackEntry) for part in _shape(shape)),
    )


def _method(owner: type[Any], name: str) -> list[str]:
    method = getattr(owner, name)
    return [f"### {name}", _parameters(method), _text(method)]


def _parameters(thing: Any) -> str:
    found = inspect.signature(thing).parameters.values()
    rows = [[code(one.name), _kind(one), _default(one)] for one in found if one.name != "self"]
    return table(["parameter", "type", "default"], rows) if rows else ""


def _kind(one: inspect.Parameter) -> str:
    return code(str(one.annotation).replace("Default | Literal[NoMatch.RAISE]", "any value"))


def _default(one: inspect.Parameter) -> str:
    if one.default is inspect.Parameter.empty:
        return "required"
    return "raises" if isinstance(one.default, _NO_MATCH) else code(repr(one.default))


def _text(thing: Any) -> str:
    return inspect.cleandoc(thing.__doc__ or "")


def _shape(shape: type[Any]) -> list[str]:
    rows = [[code(one.name), code(_type_name(one.type))] for one in msgspec.structs.fields(shape)]
    return [f"## {shape.__name__}", _text(shape), table(["field", "type"], rows)]


def _type_name(kind: Any) -> str:
    text = kind.__name__ if isinstance(kind, type) and not getattr(kind, "__args__", ()) else str(kind)
    for long, short in (
        ("typing.", ""),
        ("memorygrid_incorporator.pipeline.wire.", ""),
        ("datetime.datetime", "datetime"),
    ):
        text = text.replace(long, short)
    return "datetime" if text.startswith("Annotated[datetime") else text
