"""Where the head of somebody else's skill is kept in a lesson's `dsl_payload`; `agent_skill` keeps and uses it."""

from __future__ import annotations

from typing import Final

from domain.values import JsonObject

#: The key in the payload; its value is `{"head": text}`.
KEPT: Final = "agent_skill"


def kept_head(payload: JsonObject) -> str | None:
    """The head that an import has kept; None where there is none, or only something of that name."""
    kept = payload.get(KEPT)
    head = kept.get("head") if isinstance(kept, dict) and len(kept) == 1 else None
    return head if isinstance(head, str) and head.removeprefix("\ufeff").startswith("---") else None
