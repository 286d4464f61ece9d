"""The settings: environment variables, read once, checked together.

Every variable that is wrong is named in one message with what it allows. Secrets never show in a repr or a message.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, TypeVar

import msgspec

from application.learner.search import SearchKind
from domain.errors import InvalidConfiguration
from domain.feedback.escalation import PathMode
from domain.incorporator.match import StrategyMode
from domain.incorporator.outcome import ANY_ACTION, AllowedActions
from entrypoints.variables import (
    Variable,
    actions,
    address,
    dsn,
    header,
    hosts,
    keys,
    names_user,
    number,
    one_of,
    webhook_secret,
    whole,
)

_T = TypeVar("_T")


class HilMode(str, Enum):
    """Where the human path of an escalation goes."""

    LEARNER = "learner_in_process"
    HTTP = "http"


class RemediationMode(str, Enum):
    """Where the auto path of an escalation goes."""

    LEARNER = "disable_via_learner"
    HTTP = "http"


class VectorBackend(str, Enum):
    MEMORY = "memory"
    PGVECTOR = "pgvector"
    MILVUS = "milvus"


class EmbedderKind(str, Enum):
    HASHING = "hashing"
    ONNX = "onnx"
    HTTP = "http"


class Switch(str, Enum):
    ON = "on"
    OFF = "off"


class LogLevel(str, Enum):
    DEBUG = "DEBUG"
    INFO = "INFO"
    WARNING = "WARNING"
    ERROR = "ERROR"


class LogFormat(str, Enum):
    CONSOLE = "console"
    JSON = "json"


def _env(variable: str, read: Callable[[str], _T], default: _T) -> _T:
    """A field that takes its value from the environment; an unset or empty variable means the default."""
    return msgspec.field(default_factory=Variable(variable, read, default))


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The service's settings. `Settings()` reads the environment; keyword arguments take precedence over it.

    An argument is a value of its field's type, or a text as the environment would have it.

    Raises `InvalidConfiguration`, whose message names every offending variable and its allowed values.
    """

    feedback_dsn: str = _env("MG_FEEDBACK_TIDB_DSN", dsn, "sqlite+aiosqlite:///./memorygrid_feedback.db")
    lessons_dsn: str = _env("MG_TIDB_DSN", dsn, "sqlite+aiosqlite:///./memorygrid_lessons.db")
    lessons_root: str = _env("MG_LESSONS_ROOT", str, "./lessons")
    vector_backend: VectorBackend = _env("MG_VECTOR_BACKEND", one_of(VectorBackend), VectorBackend.MEMORY)
    vector_dsn: str = _env("MG_VECTOR_DSN", str, "")
    match_strategy_mode: StrategyMode = _env("MG_MATCH_STRATEGY_MODE", one_of(StrategyMode), StrategyMode.DSL_THEN_LLM)
    dsl_match_rules_path: str = _env("MG_DSL_MATCH_RULES_PATH", str, "./config/dsl_match_rules.json")
    failure_threshold: int = _env("MG_FAILURE_THRESHOLD_X", whole(1, 1_000_000), 3)
    reviewer_path_mode: PathMode = _env("MG_REVIEWER_PATH_MODE", one_of(PathMode), PathMode.HUMAN_ONLY)
    hil_mode: HilMode = _env("MG_HIL_MODE", one_of(HilMode), HilMode.LEARNER)
    hil_base_url: str = _env("MG_HIL_BASE_URL", address, "http://localhost:8000")
    hil_auth_header: str = _env("MG_HIL_AUTH_HEADER", header, "")
    auto_remediation_mode: RemediationMode = _env(
        "MG_AUTO_REMEDIATION_MODE", one_of(RemediationMode), RemediationMode.LEARNER
    )
    workflow_engine_base_url: str = _env("MG_WORKFLOW_ENGINE_BASE_URL", address, "http://localhost:9000")
    workflow_engine_auth_header: str = _env("MG_WORKFLOW_ENGINE_AUTH_HEADER", header, "")
    webhook_secret: str = _env("MG_WEBHOOK_SECRET", webhook_secret, "")
    escalation_max_attempts: int = _env("MG_ESCALATION_MAX_ATTEMPTS", whole(1, 1000), 12)
    embedder: EmbedderKind = _env("MG_EMBEDDER", one_of(EmbedderKind), EmbedderKind.HASHING)
    embedder_url: str = _env("MG_EMBEDDER_URL", address, "")
    embedder_model: str = _env("MG_EMBEDDER_MODEL", str, "")
    embedder_api_key: str = _env("MG_EMBEDDER_API_KEY", str, "")
    llm_model: str = _env("MG_LLM_MODEL", str, "claude-haiku-5-5")
    llm_timeout_s: float = _env("MG_LLM_TIMEOUT_S", number(0.1, 600), 20.0)
    anthropic_api_key: str = _env("ANTHROPIC_API_KEY", str, "")
    anthropic_base_url: str = _env("ANTHROPIC_BASE_URL", address, "")
    allowed_actions: AllowedActions = _env("MG_ALLOWED_ACTIONS", actions, ANY_ACTION)
    search: SearchKind = _env("MG_SEARCH", one_of(SearchKind), SearchKind.HYBRID)
    fallback_min_similarity: float | None = _env("MG_FALLBACK_MIN_SIMILARITY", number(0, 1), None)
    catalog_refresh_s: float = _env("MG_CATALOG_REFRESH_S", number(0.01, 3600), 1.0)
    request_timeout_s: float = _env("MG_REQUEST_TIMEOUT_S", number(0.1, 3600), 30.0)
    max_body_bytes: int = _env("MG_MAX_BODY_BYTES", whole(1024, 1 << 30), 1 << 20)
    api_keys: str = _env("MG_API_KEYS", keys, "")
    allowed_hosts: str = _env("MG_ALLOWED_HOSTS", hosts, "")
    learner_api: Switch = _env("MG_LEARNER_API", one_of(Switch), Switch.ON)
    feedback_retention_days: int | None = _env("MG_FEEDBACK_RETENTION_DAYS", whole(1, 36_500), None)
    log_level: LogLevel = _env("MG_LOG_LEVEL", one_of(LogLevel), LogLevel.INFO)
    log_format: LogFormat = _env("MG_LOG_FORMAT", one_of(LogFormat), LogFormat.CONSOLE)

    def __post_init__(self) -> None:
        problems: dict[str, str] = {}
        for name, variable in _VARIABLES.items():
            given = value = getattr(self, name)
            try:
                value = variable.value_of(given)
            except InvalidConfiguration as error:
                problems[variable.name] = error.detail
                value = variable.default
            if value is not given:
                msgspec.structs.force_setattr(self, name, value)
        contradictions = [one for one in self._contradictions() if not any(name in one for name in problems)]
        if problems or contradictions:
            listed = "".join(f"\n  - {problem}" for problem in (*problems.values(), *contradictions))
            raise InvalidConfiguration(f"the configuration is not usable, please correct:{listed}")

    @property
    def names_rules_file(self) -> bool:
        """Whether `dsl_match_rules_path` is another than the default, so that somebody means a file to be there."""
        return bool(self.dsl_match_rules_path != _VARIABLES["dsl_match_rules_path"].default)

    def _contradictions(self) -> list[str]:
        """What is wrong between several variables, each of which is right by itself."""
        problems = []
        if self.llm_timeout_s >= self.request_timeout_s:
            problems.append(
                f"MG_LLM_TIMEOUT_S: {self.llm_timeout_s:g} must be below MG_REQUEST_TIMEOUT_S "
                f"({self.request_timeout_s:g})"
            )
        try:
            _check_vector_dsn(self.vector_backend, self.vector_dsn)
        except InvalidConfiguration as error:
            backend = self.vector_backend.value
            problems.append(f"MG_VECTOR_DSN: needed with MG_VECTOR_BACKEND={backend}: {error.detail}")
        if self.embedder is EmbedderKind.HTTP and not (self.embedder_url and self.embedder_model):
            problems.append("MG_EMBEDDER_URL, MG_EMBEDDER_MODEL: both are needed with MG_EMBEDDER=http")
        problems += [
            f"{place}, {key}: only one of them can be sent as Authorization: give the address without user and password"
            for place, given, key, secret in (
                ("MG_HIL_BASE_URL", self.hil_base_url, "MG_HIL_AUTH_HEADER", self.hil_auth_header),
                (
                    "MG_WORKFLOW_ENGINE_BASE_URL",
                    self.workflow_engine_base_url,
                    "MG_WORKFLOW_ENGINE_AUTH_HEADER",
                    self.workflow_engine_auth_header,
                ),
                ("MG_EMBEDDER_URL", self.embedder_url, "MG_EMBEDDER_API_KEY", self.embedder_api_key),
            )
            if secret and names_user(given)
        ]
        return problems

    def __repr__(self) -> str:
        shown = (f"{name}={getattr(self, name)!r}" for name in self.__struct_fields__ if name not in _SECRET)
        return f"Settings({', '.join(shown)})"


#: The variable of each field.
_VARIABLES: dict[str, Variable[Any]] = {one.name: one.default_factory for one in msgspec.structs.fields(Settings)}

#: The names of all variables that the service reads.
VARIABLES = tuple(variable.name for variable in _VARIABLES.values())


def _check_vector_dsn(backend: VectorBackend, dsn: str) -> None:
    """Raises `InvalidConfiguration`. Imports nothing of a backend that is not used."""
    if backend is VectorBackend.PGVECTOR:
        from adapters.vectors.pgvector_pool import parse_pgvector_dsn  # noqa: PLC0415

        parse_pgvector_dsn(dsn)
    elif backend is VectorBackend.MILVUS:
        from adapters.vectors.milvus_connection import MilvusAddress  # noqa: PLC0415

        MilvusAddress.parse(dsn)


#: Fields that are, or may hold, a password or a key.
_SECRET = {
    "feedback_dsn",
    "lessons_dsn",
    "vector_dsn",
    "hil_base_url",
    "hil_auth_header",
    "workflow_engine_base_url",
    "workflow_engine_auth_header",
    "webhook_secret",
    "embedder_url",
    "embedder_api_key",
    "anthropic_api_key",
    "anthropic_base_url",
    "api_keys",
}
