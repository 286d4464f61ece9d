"""The only module that imports the Anthropic SDK (a second, 70 MB): import it on first use, in a thread."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from anthropic import APIConnectionError, APIStatusError, AsyncAnthropic, Timeout, omit

from adapters.llm.messages_api import Message, MessagesApiError, Option
from adapters.retry_policy import retry_after_s
from application.shared.ports import LlmPrompt

PUBLIC_API = "https://api.anthropic.com"
CONNECT_TIMEOUT_S = 5.0
THINKING_ALLOWANCE = 4096
"""Tokens that a model may think in beside the reply, where it cannot be told not to: they count as output."""

_HINTS = {
    401: "Check ANTHROPIC_API_KEY.",
    403: "Check what ANTHROPIC_API_KEY is allowed to do.",
    404: "Check MG_LLM_MODEL and ANTHROPIC_BASE_URL.",
}
_LONGEST_MESSAGE = 300


class AnthropicMessages:
    """Sends single requests. Has no retries and no time limit but that of connecting: those are the caller's.

    The key and the base URL are given explicitly, always: left out, the SDK would look for credentials and hosts in
    the environment and in files.
    """

    def __init__(self, *, api_key: str, model: str, base_url: str | None) -> None:
        self._key = api_key
        self._model = model
        self._client = AsyncAnthropic(
            api_key=api_key,
            base_url=base_url or PUBLIC_API,
            max_retries=0,
            timeout=Timeout(None, connect=CONNECT_TIMEOUT_S),
        )

    async def send(self, prompt: LlmPrompt, *, options: frozenset[Option]) -> Message:
        """One request with these options, one message. Raises `MessagesApiError`."""
        structured, thoughtless = "output_config" in options, "thinking" in options
        try:
            response = await self._client.messages.with_raw_response.create(
                model=self._model,
                max_tokens=prompt.max_tokens if thoughtless else prompt.max_tokens + THINKING_ALLOWANCE,
                system=prompt.system if structured else _with_schema(prompt),
                messages=[{"role": "user", "content": prompt.user}],
                output_config={"format": {"type": "json_schema", "schema": prompt.schema}} if structured else omit,
                thinking={"type": "disabled"} if thoughtless else omit,
            )
        except Exception as error:
            failure = self._failure(error)
            cause = None if self._holds_key(error) else error
        else:
            return _decoded(response.http_response.content)
        # Raised out here, or else an error that holds the key would become its context.
        raise failure from cause

    async def aclose(self) -> None:
        """Closes the connections."""
        await self._client.close()

    def _failure(self, error: Exception) -> MessagesApiError:
        if isinstance(error, APIStatusError):
            return self._refusal(error)
        if isinstance(error, APIConnectionError):
            host = self._client.base_url.host
            reason = self._without_key(str(error.__cause__ or error)) or type(error.__cause__).__name__
            return MessagesApiError(f"The language model's API at {host} is out of reach: {reason}.", retryable=True)
        return MessagesApiError(f"The language model could not be asked: {type(error).__name__}.", outage=False)

    def _refusal(self, error: APIStatusError) -> MessagesApiError:
        status, headers = error.status_code, error.response.headers
        said = error.api_message if isinstance(error.api_message, str) else error.response.reason_phrase
        said = " ".join(self._without_key(said).split())[:_LONGEST_MESSAGE]
        hint = f" {_HINTS[status]}" if status in _HINTS else ""
        passing = status in {408, 409, 429} or status >= 500
        return MessagesApiError(
            f"The language model's API answered {status}: {said}.{hint}",
            status=status,
            retryable=passing and headers.get("x-should-retry") != "false",
            outage=status not in {400, 413, 422},
            retry_after_s=retry_after_s(headers),
        )

    def _without_key(self, text: str) -> str:
        return text.replace(self._key, "[key]")

    def _holds_key(self, error: BaseException) -> bool:
        """Whether a log of the error would show the key: some gateways send back what they were sent."""
        return any(self._key in f"{link} {link!r}" for link in _chain(error))


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _decoded(body: bytes) -> Message:
    try:
        return msgspec.json.decode(body, type=Message)
    except (msgspec.DecodeError, RecursionError) as error:
        detail = "The language model's API sent something else than a message. Check ANTHROPIC_BASE_URL."
        raise MessagesApiError(detail, status=200) from error


def _with_schema(prompt: LlmPrompt) -> str:
    """The instructions for a model that takes the schema in words only."""
    schema = msgspec.json.encode(prompt.schema).decode()
    return f"{prompt.system}\n\nReply with one JSON object that follows this JSON schema, and nothing else:\n{schema}"
