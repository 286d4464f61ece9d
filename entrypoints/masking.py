"""What a log line must not hold: the configured secrets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from urllib.parse import parse_qsl, unquote, urlsplit

from entrypoints.settings import Settings

_SHOWN_INSTEAD = "[secret]"
#: Shorter ones would blot out words that have nothing to do with them.
_SHORTEST = 4
_SECRET_NAME = re.compile(r"pass|secret|key|token|pwd", re.IGNORECASE)


class Masks:
    """Replaces every secret in a text, the longest first."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        known = sorted({one for one in secrets if len(one) >= _SHORTEST}, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, known))) if known else None

    def masked(self, text: str) -> str:
        return text if self._pattern is None else self._pattern.sub(_SHOWN_INSTEAD, text)


def secrets_of(settings: Settings) -> set[str]:
    """Every password and key that the settings hold, in each form in which it may turn up in a text."""
    addresses = (
        settings.feedback_dsn,
        settings.lessons_dsn,
        settings.vector_dsn,
        settings.hil_base_url,
        settings.workflow_engine_base_url,
        settings.embedder_url,
        settings.anthropic_base_url,
    )
    found = {settings.anthropic_api_key, settings.embedder_api_key}
    found |= {settings.webhook_secret, settings.webhook_secret.removeprefix("whsec_")}
    for header in (settings.hil_auth_header, settings.workflow_engine_auth_header):
        found |= {header, header.partition(" ")[2].strip()}
    for entry in settings.api_keys.split(","):
        key = entry.partition(":")[2].strip()
        found |= {key} if not key.startswith("sha256:") else set()
    found |= {secret for address in addresses for secret in _in_address(address)}
    return found - {""}


def _in_address(address: str) -> Iterator[str]:
    """The password in an address, or the user name where that stands alone (some services take a token there)."""
    try:
        parts = urlsplit(address)
    except ValueError:
        yield address
        return
    user, _, _ = parts.netloc.rpartition("@")
    name, _, password = user.partition(":")
    for secret in (password or name, *(value for key, value in parse_qsl(parts.query) if _SECRET_NAME.search(key))):
        yield secret
        yield unquote(secret)
