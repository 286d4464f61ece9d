"""Which texts count as secrets, in each form in which they may turn up."""

from __future__ import annotations

import pytest

from entrypoints.masking import Masks, secrets_of
from entrypoints.settings import Settings

HASHED = "sha256:" + "0" * 64


@pytest.mark.parametrize(
    ("settings", "secrets"),
    [
        ({"feedback_dsn": "postgresql+asyncpg://mg:p%40ss-word@db/x"}, {"p%40ss-word", "p@ss-word"}),
        ({"lessons_dsn": "mysql+asyncmy://mg:hunter22@db:4000/x?ssl_key=abcd&charset=utf8"}, {"hunter22", "abcd"}),
        ({"lessons_dsn": "sqlite+aiosqlite:///./x.db"}, set()),
        ({"vector_dsn": "http://root:Milvus@127.0.0.1:19530"}, {"Milvus"}),
        ({"hil_base_url": "https://only-a-token@review.example"}, {"only-a-token"}),
        ({"workflow_engine_base_url": "https://u:pw123@engine.example/x"}, {"pw123"}),
        ({"embedder_url": "https://mg:k-123@e.example/v1"}, {"k-123"}),
        ({"anthropic_base_url": "https://u:pw123@gateway.example"}, {"pw123"}),
        ({"hil_auth_header": "Bearer for-reviewers"}, {"Bearer for-reviewers", "for-reviewers"}),
        ({"workflow_engine_auth_header": "plain-token"}, {"plain-token"}),
        ({"webhook_secret": "whsec_MfKQ9r8G"}, {"whsec_MfKQ9r8G", "MfKQ9r8G"}),
        ({"anthropic_api_key": "sk-ant-1"}, {"sk-ant-1"}),
        ({"embedder_api_key": "sk-emb-1"}, {"sk-emb-1"}),
        ({"api_keys": f"pipeline:key-one, ann@admin:key:two,ci@reader:{HASHED}"}, {"key-one", "key:two"}),
        ({"vector_dsn": "http://["}, {"http://["}),
    ],
)
def test_every_password_and_key_of_the_settings_is_one(settings: dict[str, str], secrets: set[str]) -> None:
    assert secrets_of(Settings(**settings)) == secrets  # type: ignore[arg-type]


def test_the_longest_is_replaced_first() -> None:
    masks = Masks(["abcd", "abcdef", "x"])
    assert masks.masked("abcdef abcd ab x") == "[secret] [secret] ab x"
    assert Masks().masked("abcd") == "abcd"
