"""What a reviewer says with a decision."""

from __future__ import annotations

import msgspec


class Said(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`version` is the one seen; another one in the store refuses the decision."""

    reviewer: str | None = None
    note: str | None = None
    version: int | None = None
