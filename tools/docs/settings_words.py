"""What each setting does, in words, and the order in which they are shown. A test holds this against the source."""

from __future__ import annotations

GROUPS: dict[str, tuple[str, ...]] = {
    "Storage": ("MG_TIDB_DSN", "MG_FEEDBACK_TIDB_DSN", "MG_LESSONS_ROOT", "MG_VECTOR_BACKEND", "MG_VECTOR_DSN"),
    "Matching": (
        "MG_MATCH_STRATEGY_MODE",
        "MG_DSL_MATCH_RULES_PATH",
        "MG_SEARCH",
        "MG_FALLBACK_MIN_SIMILARITY",
        "MG_CATALOG_REFRESH_S",
    ),
    "Embedder": ("MG_EMBEDDER", "MG_EMBEDDER_URL", "MG_EMBEDDER_MODEL", "MG_EMBEDDER_API_KEY"),
    "Language model": (
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_BASE_URL",
        "MG_LLM_MODEL",
        "MG_LLM_TIMEOUT_S",
        "MG_ALLOWED_ACTIONS",
    ),
    "Feedback and escalation": (
        "MG_FAILURE_THRESHOLD_X",
        "MG_REVIEWER_PATH_MODE",
        "MG_HIL_MODE",
        "MG_HIL_BASE_URL",
        "MG_HIL_AUTH_HEADER",
        "MG_AUTO_REMEDIATION_MODE",
        "MG_WORKFLOW_ENGINE_BASE_URL",
        "MG_WORKFLOW_ENGINE_AUTH_HEADER",
        "MG_WEBHOOK_SECRET",
        "MG_ESCALATION_MAX_ATTEMPTS",
        "MG_FEEDBACK_RETENTION_DAYS",
    ),
    "Access and limits": (
        "MG_API_KEYS",
        "MG_ALLOWED_HOSTS",
        "MG_LEARNER_API",
        "MG_REQUEST_TIMEOUT_S",
        "MG_MAX_BODY_BYTES",
    ),
    "Log": ("MG_LOG_LEVEL", "MG_LOG_FORMAT"),
}

WORDS: dict[str, str] = {
    "MG_TIDB_DSN": "The object store: lessons, their log, promoted copies and embeddings. SQLite "
    "(`sqlite+aiosqlite:///./file.db`), PostgreSQL (`postgresql+asyncpg://user:password@host/name`), or MySQL, MariaDB "
    "and TiDB (`mysql+asyncmy://…` or `mysql+aiomysql://…`).",
    "MG_FEEDBACK_TIDB_DSN": "The feedback database: entries, counters, escalations, misses. The same kinds.",
    "MG_LESSONS_ROOT": "The folder that holds each promoted lesson as a `SKILL.md`.",
    "MG_VECTOR_BACKEND": "Where vectors are searched: in each process, or in a server that all share. `milvus` needs "
    "the extra `[milvus]`.",
    "MG_VECTOR_DSN": "The vector server's address, needed with `pgvector` (`postgresql://user:password@host/name`) and "
    "`milvus` (`http://host:19530`, with `user:password@`, `?token=` or `/database` where they are needed).",
    "MG_MATCH_STRATEGY_MODE": "Which matchers are asked, and in which order.",
    "MG_DSL_MATCH_RULES_PATH": "The rules file. Changes are taken up within 2 s; without the file there are no rules.",
    "MG_SEARCH": "`hybrid` lets common words reorder the 50 most similar lessons before ten are offered to the model; "
    "`vector` does not.",
    "MG_FALLBACK_MIN_SIMILARITY": "How similar a hit must be where the model's choice cannot be used; where none is, "
    "nothing matches. Unset: 0, but the embedder's own measured floor where the model cannot be asked.",
    "MG_CATALOG_REFRESH_S": "Seconds after which a process on a server database sees what others have promoted or "
    "disabled. On SQLite every request sees it.",
    "MG_EMBEDDER": "What turns texts into vectors: hashing without a model, a sentence model in the process (`onnx`, "
    "of the extra `[onnx]`), or a service (`http`). With another one than before, run `memorygrid reindex`.",
    "MG_EMBEDDER_URL": "With `http`: the address of an OpenAI-compatible embeddings service.",
    "MG_EMBEDDER_MODEL": "With `http`: the model's name there. With `onnx`: a folder with a sentence model; empty "
    "means the one that the extra brings.",
    "MG_EMBEDDER_API_KEY": "With `http`: the key, if it needs one.",
    "ANTHROPIC_API_KEY": "The language model's key. Without it nothing is asked of a model.",
    "ANTHROPIC_BASE_URL": "Another address of the Messages API, such as a gateway's.",
    "MG_LLM_MODEL": "The model's id.",
    "MG_LLM_TIMEOUT_S": "Seconds for both model calls of one request together, retries included. Must be below "
    "`MG_REQUEST_TIMEOUT_S`.",
    "MG_ALLOWED_ACTIONS": "The actions that an answer may name, between commas. A lesson's own action that is not "
    "among them counts as none, a model's as an unusable reply. `apply_recommended_lesson` is always allowed. "
    "Unset: any.",
    "MG_FAILURE_THRESHOLD_X": "Failures of one lesson, since it was last reviewed, from which on it escalates.",
    "MG_REVIEWER_PATH_MODE": "Along which paths: back to human review, disabled at once, or both.",
    "MG_HIL_MODE": "Where the human path goes: to the Learner's review queue, or to a service of yours.",
    "MG_HIL_BASE_URL": "With `http`: that service; it gets `POST /hil/flagged-lessons`.",
    "MG_HIL_AUTH_HEADER": "The `Authorization` header sent to it.",
    "MG_AUTO_REMEDIATION_MODE": "Where the auto path goes: the lesson is disabled, or a workflow engine is told.",
    "MG_WORKFLOW_ENGINE_BASE_URL": "With `http`: that engine; it gets `POST /events`.",
    "MG_WORKFLOW_ENGINE_AUTH_HEADER": "The `Authorization` header sent to it.",
    "MG_WEBHOOK_SECRET": "Signs deliveries by the Standard Webhooks specification.",
    "MG_ESCALATION_MAX_ATTEMPTS": "Attempts of one delivery before it counts as failed.",
    "MG_FEEDBACK_RETENTION_DAYS": "Entries last updated longer ago are deleted, and escalations that were delivered, "
    "superseded or given up longer ago; pending ones stay. Deleted entries stay in the counters.",
    "MG_API_KEYS": "Who may use the service: `role:key` or `name@role:key`, between commas; a key may be "
    "`sha256:` and 64 hex digits. Without any, clients on the same machine only.",
    "MG_ALLOWED_HOSTS": "Host names under which the service is reached, between commas; `*.example.org` and `*` may be "
    "used. Unset: any with keys; `localhost` and addresses without.",
    "MG_LEARNER_API": "Whether the Incorporator's service has the Learner's routes too.",
    "MG_REQUEST_TIMEOUT_S": "Seconds after which a request is answered 504.",
    "MG_MAX_BODY_BYTES": "A larger body is answered 413.",
    "MG_LOG_LEVEL": "What is logged, to standard error.",
    "MG_LOG_FORMAT": "For people, or one JSON object a line.",
}
