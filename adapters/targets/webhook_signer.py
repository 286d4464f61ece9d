"""Signatures of webhooks by the Standard Webhooks specification."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac

from domain.errors import InvalidConfiguration


class WebhookSigner:
    """Signs deliveries by the Standard Webhooks specification (symmetric, `v1`)."""

    def __init__(self, secret: str) -> None:
        """`secret` is `whsec_` and base64, or base64 alone. Raises `InvalidConfiguration`."""
        try:
            self._key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
        except (binascii.Error, ValueError) as error:
            raise InvalidConfiguration("MG_WEBHOOK_SECRET: expected whsec_ followed by base64") from error

    def headers(self, message_id: str, timestamp: int, body: bytes) -> dict[str, str]:
        signed = f"{message_id}.{timestamp}.".encode() + body
        signature = base64.b64encode(hmac.digest(self._key, signed, hashlib.sha256)).decode()
        return {
            "webhook-id": message_id,
            "webhook-timestamp": str(timestamp),
            "webhook-signature": f"v1,{signature}",
        }
