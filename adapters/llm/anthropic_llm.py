"""The `Llm` port over the Anthropic API: time limit, retries, circuit breaker, and what to do without when refused."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import anyio

from adapters.api_calls import HEADER_SAFE, ApiCalls
from adapters.circuit_breaker import CircuitBreaker
from adapters.llm.messages_api import Message, MessagesApiError, Option
from adapters.per_event_loop import PerEventLoop
from adapters.retry_policy import RetryPolicy
from application.shared.ports import Llm, LlmPrompt, LlmReply
from domain.errors import LlmUnavailable

if TYPE_CHECKING:
    from adapters.llm.anthropic_sdk import AnthropicMessages

logger = logging.getLogger(__name__)

_WHAT: Final = "The language model"
_OPEN_S: Final = 30.0


class AnthropicLlm(Llm):
    """Asks one model. Cheap to construct: `open`, or else the first question, imports the SDK, which takes seconds.

    May be used in several event loops.

    `api_key` is the only credential: without one nothing is asked, whatever the environment holds. `base_url` None
    means the public API. HTTP proxies are taken from the environment.
    """

    def __init__(
        self,
        *,
        api_key: str | None,
        model: str,
        base_url: str | None = None,
        retries: RetryPolicy | None = None,
        circuit: CircuitBreaker | None = None,
    ) -> None:
        self._key = (api_key or "").strip()
        self._model = model
        self._base_url = base_url
        self._calls = ApiCalls(
            _WHAT,
            LlmUnavailable,
            retries=retries or RetryPolicy(),
            circuit=circuit or CircuitBreaker(_WHAT, LlmUnavailable),
        )
        self._clients = PerEventLoop(self._connect)
        self._options: frozenset[Option] = frozenset({"output_config", "thinking"})

    def problem(self) -> str | None:
        if not self._key:
            return "There is no language model to ask: ANTHROPIC_API_KEY is not set."
        if HEADER_SAFE.fullmatch(self._key) is None:
            return "The language model cannot be asked: ANTHROPIC_API_KEY has characters that no key has."
        return self._calls.problem()

    async def open(self) -> None:
        if self.problem() is None:
            with suppress(LlmUnavailable):
                await self._connected(anyio.current_time() + _OPEN_S)

    async def ask(self, prompt: LlmPrompt, timeout_s: float) -> LlmReply:
        if (problem := self.problem()) is not None:
            raise LlmUnavailable(problem)
        deadline = anyio.current_time() + timeout_s
        client = await self._connected(deadline)
        if anyio.current_time() >= deadline:
            raise LlmUnavailable("No time was left to ask the language model.")

        async def attempt() -> Message:
            return await self._accepted(client, prompt, self._options)

        message = await self._calls(attempt, deadline=deadline, timeout_s=timeout_s)
        if message.refused:
            raise LlmUnavailable("The language model declined to answer this prompt.")
        return message.reply()

    async def aclose(self) -> None:
        """Closes the running event loop's connections; other loops close theirs when they end."""
        await self._clients.aclose()

    def _connect(self) -> AnthropicMessages:
        from adapters.llm.anthropic_sdk import AnthropicMessages  # noqa: PLC0415 - slow: see there

        return AnthropicMessages(api_key=self._key, model=self._model, base_url=self._base_url)

    async def _connected(self, deadline: float) -> AnthropicMessages:
        """This loop's client by the deadline. A failure here is not the model's and not held against it."""
        try:
            with anyio.fail_after(deadline - anyio.current_time()):
                return await self._clients.current()
        except TimeoutError as error:
            raise LlmUnavailable("The Anthropic SDK was not loaded in time.") from error
        except Exception as error:
            detail = f"The Anthropic SDK cannot be used ({type(error).__name__}). Check ANTHROPIC_BASE_URL and proxies."
            raise LlmUnavailable(detail) from error

    async def _accepted(self, client: AnthropicMessages, prompt: LlmPrompt, options: frozenset[Option]) -> Message:
        """The message, asked for without the options that are refused. Where that helps, it stays so."""
        try:
            message = await client.send(prompt, options=options)
        except MessagesApiError as error:
            refused = error.refused_option(sent=options)
            if refused is None:
                raise
        else:
            self._keep_to(options)
            return message
        return await self._accepted(client, prompt, options - {refused})

    def _keep_to(self, options: frozenset[Option]) -> None:
        for refused in self._options - options:
            logger.warning("The language model's API refuses `%s`; it is asked without from now on.", refused)
        self._options &= options
