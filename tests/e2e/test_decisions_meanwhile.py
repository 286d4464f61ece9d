"""People decide on a lesson while the language model is choosing it, in this process or in another one."""

from __future__ import annotations

import json
import re

import pytest

from tests.e2e.calls import UPLOAD_LESSON, answered, promoted, query
from tests.e2e.conftest import StartService
from tests.fakes.anthropic_stand_in import Answer, AnthropicStandIn, Request, message

_LESSON_ID = re.compile(r'"lesson_id":"([0-9a-f-]{36})"')


@pytest.mark.parametrize("elsewhere", [False, True], ids=["in this process", "in another process"])
@pytest.mark.parametrize(
    ("method", "decision", "status"),
    [("POST", "/disable", 200), ("POST", "/reject", 200), ("DELETE", "", 204)],
    ids=["disabled", "rejected", "erased"],
)
def test_a_lesson_that_is_taken_back_while_the_model_chooses_it_is_not_answered(
    start_service: StartService, *, elsewhere: bool, method: str, decision: str, status: int
) -> None:
    with AnthropicStandIn() as model:
        env = {
            "MG_MATCH_STRATEGY_MODE": "llm_only",
            "ANTHROPIC_API_KEY": "test-key",
            "ANTHROPIC_BASE_URL": model.url,
        }
        service = start_service(env)
        decider = start_service(env) if elsewhere else service
        with service.client() as client, decider.client() as reviewer:
            chosen = promoted(client)
            other = promoted(client, **{**UPLOAD_LESSON, "title": "Ask for an upload again"})
            decided: list[int] = []

            def choose(request: Request) -> Answer:
                """Chooses the lesson if it is offered, and decides on it meanwhile; else the other one."""
                offered = _LESSON_ID.findall(request.body["messages"][0]["content"])
                if chosen in offered:
                    decided.append(reviewer.request(method, f"/lessons/{chosen}{decision}").status_code)
                lesson_id = chosen if chosen in offered else other
                return message(json.dumps({"lesson_id": lesson_id, "confidence": 0.9}))

            model.will(choose)
            outcome = answered(client.post("/incorporator/invoke", json=query(), headers={"Idempotency-Key": "once"}))
            assert decided == [status]
            assert outcome["match_result"]["matched_entity_id"] == other
            again = answered(client.post("/incorporator/invoke", json=query(), headers={"Idempotency-Key": "once"}))
            assert again == outcome
            assert [one["lesson_skill_id"] for one in answered(client.get("/feedback"))] == [other]
