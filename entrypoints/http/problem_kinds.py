"""The kinds of problem that the service answers with: one table from an error's code to status, title and advice."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class Kind(msgspec.Struct, frozen=True):
    """What every error of one code has in common; `retry_after` in seconds where trying again may help."""

    status: int
    title: str
    advice: str
    retry_after: int | None = None


_SHORTLY = "Try again shortly: the service recovers by itself."

TABLE: Mapping[str, Kind] = {
    "invalid-input": Kind(
        400,
        "The request is not of the documented shape",
        "Correct what `errors` names: each has a place (a JSON path, or a parameter's name) and what it takes.",
    ),
    "bad-request": Kind(
        400, "The request cannot be understood", "Send valid HTTP, and the whole of the body that was announced."
    ),
    "unauthenticated": Kind(
        401, "A valid key is needed", "Send a key of MG_API_KEYS in the header Authorization: Bearer <key>."
    ),
    "forbidden": Kind(
        403,
        "Access is not allowed",
        "Use a key whose role may do this. Without any keys set, the service answers clients on its own machine only: "
        "set MG_API_KEYS.",
    ),
    "unknown-path": Kind(404, "There is nothing at this path", "See /schema for the paths that there are."),
    "not-found": Kind(404, "Not found", "Check the id."),
    "no-match": Kind(
        404,
        "No promoted lesson applies",
        "Go on as you would without a lesson. GET /incorporator/misses shows which lessons are worth writing, and "
        "POST /incorporator/match why nothing matched.",
    ),
    "no-selection": Kind(
        404,
        "Nothing was selected for this step and session",
        "Call POST /incorporator/invoke for this step and session first, then report with the same two ids.",
    ),
    "unknown-entry": Kind(404, "No feedback entry has this id", "Take the id from GET /feedback."),
    "unknown-lesson": Kind(404, "No lesson has this id", "Take the id from GET /lessons."),
    "answer-erased": Kind(
        404,
        "The first answer under this key was erased with its lesson",
        "The first request had its effect, and this one had none. Use a new key for a new request.",
    ),
    "unknown-escalation": Kind(404, "No escalation has this id", "Take the id from GET /escalations."),
    "method-not-allowed": Kind(
        405, "This path does not take this method", "The header Allow names the methods that it takes."
    ),
    "conflict": Kind(409, "The present state does not allow this", "Read the present state, then decide anew."),
    "stale-version": Kind(
        409, "The lesson has moved on", "Read the lesson again, and decide on the version that you then see."
    ),
    "decision-not-allowed": Kind(
        409, "The lesson's status does not allow this decision", "The detail names the decisions that it allows."
    ),
    "request-in-progress": Kind(
        409, "The same request is being worked on", "Repeat it with the same Idempotency-Key.", retry_after=1
    ),
    "body-too-large": Kind(413, "The body is too large", "Send less at once, or raise MG_MAX_BODY_BYTES."),
    "unsupported-media-type": Kind(
        415, "The body must be JSON", "Send it as application/json in UTF-8, and not compressed."
    ),
    "idempotency-key-reused": Kind(
        422,
        "The idempotency key came before with another body",
        "Use a new key for a new request; only a repetition has the key of the first.",
    ),
    "overloaded": Kind(
        429, "Too many requests are waiting", "Wait as long as Retry-After says, and send less at once.", retry_after=1
    ),
    "headers-too-large": Kind(431, "The request's line and headers are too large", "Send fewer or shorter ones."),
    "internal-fault": Kind(
        500, "A fault of the service", "Tell whoever runs the service the `id`: its log has the reason under it."
    ),
    "unavailable": Kind(503, "Something that the service needs does not answer", _SHORTLY, retry_after=1),
    "store-unavailable": Kind(503, "A database does not answer", _SHORTLY, retry_after=1),
    "vectors-unavailable": Kind(503, "The vector index does not answer", _SHORTLY, retry_after=1),
    "embedder-unavailable": Kind(503, "The embedder does not answer", _SHORTLY, retry_after=1),
    "llm-unavailable": Kind(503, "The language model does not answer", _SHORTLY, retry_after=1),
    "delivery-failed": Kind(503, "An escalation's target does not answer", _SHORTLY, retry_after=1),
    "embedder-mismatch": Kind(
        503,
        "The stored vectors came from another embedder",
        "Whoever runs the service goes back to that embedder, or runs `memorygrid reindex`.",
        retry_after=60,
    ),
    "too-busy": Kind(503, "Too many requests are in flight", "Wait as long as Retry-After says.", retry_after=1),
    "not-ready": Kind(503, "Requests cannot be served just now", _SHORTLY, retry_after=5),
    "timed-out": Kind(
        504,
        "The request took too long",
        "Whether it had an effect is not known: repeat it with the same Idempotency-Key.",
    ),
}
