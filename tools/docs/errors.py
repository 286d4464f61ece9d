"""The error page: every type of problem with its status, and the tree of errors behind them."""

from __future__ import annotations

import inspect

from domain import errors
from entrypoints.http.problem_kinds import TABLE, Kind
from tools.docs.markdown import WRITTEN, code, page, table


def errors_page() -> str:
    rows = [_row(name, kind) for name, kind in sorted(TABLE.items(), key=lambda item: (item[1].status, item[0]))]
    return page(
        WRITTEN,
        "# Errors",
        "Every error of the service is `application/problem+json` "
        "([RFC 9457](https://www.rfc-editor.org/rfc/rfc9457)). "
        "`type` says which one it is; its last part is stable, and the code to rely on. `detail` is a sentence for "
        "people. Invalid input lists what is wrong where, in `errors`. A fault of the service (500) has an `id` that "
        "its log has too. What is no HTTP at all never reaches the service: `memorygrid serve` refuses it in the same "
        "form, plain `uvicorn` in plain text.",
        "<!-- shape: Problem -->\n\n"
        '```json\n{\n  "type": "/problems/no-match",\n  "title": "No promoted lesson applies",\n  "status": 404,\n'
        '  "detail": "no promoted lesson applies to problem_type \'unheard_of\': go on as you would without one",\n'
        '  "instance": "/incorporator/invoke"\n}\n```',
        table(["status", "type", "what it means, and what to do"], rows),
        "A 409 with `Retry-After` and a 429 or 503 may be sent again, with the same `Idempotency-Key`. The hook client "
        "does so by itself.",
        "## The tree of errors in Python",
        "`deps.*` raises these. They are in `domain/errors.py`.",
        f"<!-- not run: a drawing of the classes, taken from the module's own text -->\n\n```text\n{_tree()}\n```",
    )


def _row(name: str, kind: Kind) -> list[str]:
    retry = f" `Retry-After` says {kind.retry_after} s." if kind.retry_after is not None else ""
    advice = kind.advice.replace("<", "&lt;").replace(">", "&gt;")
    return [str(kind.status), code(f"/problems/{name}"), f"{kind.title}. {advice}{retry}"]


def _tree() -> str:
    lines = inspect.cleandoc(errors.__doc__ or "").splitlines()
    drawn = [line for line in lines if line.startswith((" ", "    ")) or "├" in line or "└" in line]
    return inspect.cleandoc("\n".join(drawn))
