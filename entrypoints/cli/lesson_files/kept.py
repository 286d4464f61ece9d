"""What an import keeps in a lesson's `dsl_payload` so that the export gives the same file back.

It has no `action`, so a lesson is applied as if it were not there; people who edit a lesson do not see it.
"""

from __future__ import annotations

from domain.values import JsonObject

RUNBOOK = "runbook"
_KEYS = ("agent_skill", RUNBOOK)


def without_kept(payload: JsonObject | None) -> JsonObject | None:
    """The payload that is the lesson's own; None where there is no other."""
    own = {name: value for name, value in (payload or {}).items() if name not in _KEYS}
    return own or (None if payload is None or set(payload) & set(_KEYS) else payload)


def with_kept(own: JsonObject | None, before: JsonObject | None) -> JsonObject | None:
    """An edited payload together with what was kept in the one before."""
    kept = {name: value for name, value in (before or {}).items() if name in _KEYS}
    return {**(own or {}), **kept} if kept else own
