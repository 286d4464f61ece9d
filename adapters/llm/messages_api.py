"""The Messages API as the policies see it: what a call gives, and how it fails. Needs no SDK."""

from __future__ import annotations

from typing import Literal

import msgspec

from adapters.api_calls import ApiError
from application.shared.ports import LlmReply

Option = Literal["output_config", "thinking"]
"""A request parameter that helps, but that some models and gateways refuse: a call can do without."""


class MessagesApiError(ApiError):
    """A call that gave no message. `status` is the HTTP status, or None where no answer came."""

    def __init__(
        self,
        detail: str,
        *,
        status: int | None = None,
        retryable: bool = False,
        outage: bool = True,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(detail, retryable=retryable, outage=outage, retry_after_s=retry_after_s)
        self.status = status

    def refused_option(self, *, sent: frozenset[Option]) -> Option | None:
        """Which of the options that were sent to blame for the refusal of this request, or None for none of them.

        `thinking` only where the API names it. `output_config` for any other refusal, since gateways word theirs
        as they like and the next try shows whether it was that.
        """
        if self.status not in {400, 422}:
            return None
        if "thinking" in sent and "thinking" in self.detail:
            return "thinking"
        return "output_config" if "output_config" in sent else None


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a message. Only those of the type `text` have a text that belongs to the reply."""

    type: str
    text: str = ""


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """What a message cost, in tokens. Those written to and read from the prompt cache are counted apart."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """What the model answered. Decoding is strict about these fields and ignores all others."""

    content: list[Block]
    stop_reason: str | None = None
    usage: Usage = msgspec.field(default_factory=Usage)

    @property
    def refused(self) -> bool:
        """Whether the model, or a safeguard before it, declined to answer."""
        return self.stop_reason == "refusal"

    def reply(self) -> LlmReply:
        """The text blocks joined, and the tokens in all. The text may be cut short or empty."""
        usage = self.usage
        return LlmReply(
            text="".join(block.text for block in self.content if block.type == "text"),
            input_tokens=usage.input_tokens
            + (usage.cache_creation_input_tokens or 0)
            + (usage.cache_read_input_tokens or 0),
            output_tokens=usage.output_tokens,
        )
