"""The `Idempotency-Key` header: who asked for what under which key, so that a repeated request has no second effect."""

from __future__ import annotations

import hashlib
import re

import msgspec
from litestar.types import Scope

from application.shared.ports import Clock, IdempotencyRecord
from domain.errors import FieldError, InvalidInput
from entrypoints.http.access import Caller

HEADER = "Idempotency-Key"

_NAME = HEADER.lower().encode()
_KEY = re.compile(rb"[ -~]{1,255}")
_canonical = msgspec.json.Encoder(order="deterministic")


def idempotency_record(
    scope: Scope, caller: Caller, route: str, body: object, clock: Clock
) -> IdempotencyRecord | None:
    """The record of a keyed request, None without a key. Its scope is the caller and the route.

    The fingerprint is of the decoded body, so that spacing, the order of fields and unknown fields do not matter.
    """
    keys = [value for name, value in scope["headers"] if name == _NAME]
    if not keys:
        return None
    if len(keys) > 1 or not _KEY.fullmatch(keys[0]):
        message = "must be one, of 1 to 255 printable ASCII characters"
        raise InvalidInput(f"the header {HEADER} {message}", [FieldError(HEADER, message)])
    return IdempotencyRecord(
        scope=f"{caller.name} {route}",
        key=keys[0].decode("ascii"),
        fingerprint=hashlib.sha256(_canonical.encode(body)).hexdigest(),
        at=clock.now(),
    )
