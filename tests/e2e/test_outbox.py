"""Escalations are delivered, whatever becomes of the process that owes them."""

from __future__ import annotations

import threading

from standardwebhooks.webhooks import Webhook

from tests.e2e.calls import answered, failed, promoted
from tests.e2e.conftest import StartService
from tests.e2e.http_target import Delivery, RecordingTarget, delivering_to
from tests.e2e.service import until

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def test_a_process_killed_between_the_answer_and_the_delivery_delivers_after_its_restart_with_the_same_key(
    start_service: StartService,
) -> None:
    release = threading.Event()

    def hang_once(_delivery: Delivery, number: int) -> int:
        if number == 1:
            release.wait(30)
        return 200

    with RecordingTarget(hang_once) as review:
        service = start_service(delivering_to(review=review.url))
        with service.client() as client:
            lesson_id = promoted(client)
            entry = failed(client, 1)[0]
        until(lambda: review.deliveries)
        service.kill()
        release.set()
        service.start()
        until(lambda: len(review.deliveries) > 1, 30)
        with service.client() as client:
            [escalation] = until(
                lambda: [one for one in answered(client.get("/escalations")) if one["state"] == "delivered"]
            )

    keys = {delivery.headers["idempotency-key"] for delivery in review.deliveries}
    assert keys == {escalation["id"]}
    assert review.deliveries[-1].body == {
        "lesson_skill_id": lesson_id,
        "feedback_entry_id": entry["id"],
        "reason": "1 failed outcomes in review round 1",
    }


def test_a_target_that_is_down_gets_the_delivery_when_it_is_back(start_service: StartService) -> None:
    with RecordingTarget(lambda _delivery, number: 503 if number < 3 else 204) as engine:
        service = start_service(delivering_to(engine=engine.url))
        with service.client() as client:
            lesson_id = promoted(client)
            failed(client, 1)
            [escalation] = until(
                lambda: [one for one in answered(client.get("/escalations")) if one["state"] == "delivered"], 20
            )

    assert escalation["attempts"] == 3
    assert len({delivery.headers["idempotency-key"] for delivery in engine.deliveries}) == 1
    payload = {"lesson_skill_id": lesson_id, "failure_count": 1}
    assert engine.deliveries[-1].body == {"event_type": "lesson_remediation", "payload": payload}


def test_the_reference_receiver_accepts_a_signed_delivery(start_service: StartService) -> None:
    with RecordingTarget() as review:
        service = start_service(
            {
                **delivering_to(review=review.url),
                "MG_WEBHOOK_SECRET": SECRET,
                "MG_HIL_AUTH_HEADER": "Bearer for-the-reviewers",
            }
        )
        with service.client() as client:
            promoted(client)
            failed(client, 1)
        [delivery] = until(lambda: review.deliveries)

    Webhook(SECRET).verify(delivery.raw, delivery.headers)
    assert delivery.headers["authorization"] == "Bearer for-the-reviewers"


def test_a_hanging_target_delays_neither_the_outcome_nor_the_other_target(start_service: StartService) -> None:
    release = threading.Event()

    def hang(_delivery: Delivery, _number: int) -> int:
        release.wait(30)
        return 200

    with RecordingTarget(hang) as review, RecordingTarget() as engine:
        service = start_service(delivering_to(review=review.url, engine=engine.url))
        with service.client() as client:
            promoted(client)
            entries = failed(client, 5)
        until(lambda: len(engine.deliveries) == 5, 5)
        release.set()

    assert [entry["failures_seen"] for entry in entries] == [1, 2, 3, 4, 5]


def test_a_retry_during_the_last_attempt_brings_another_attempt(start_service: StartService) -> None:
    release = threading.Event()

    def hang_once(_delivery: Delivery, number: int) -> int:
        if number == 1:
            release.wait(30)
        return 503 if number == 1 else 200

    with RecordingTarget(hang_once) as review:
        service = start_service({**delivering_to(review=review.url), "MG_ESCALATION_MAX_ATTEMPTS": "1"})
        with service.client() as client:
            promoted(client)
            failed(client, 1)
            until(lambda: review.deliveries)
            [escalation] = answered(client.get("/escalations"))
            retried = answered(client.post(f"/escalations/{escalation['id']}/retry"))
            assert (retried["state"], retried["attempts"]) == ("pending", 0)
            release.set()
            [escalation] = until(
                lambda: [one for one in answered(client.get("/escalations")) if one["state"] != "pending"]
            )

    assert (escalation["state"], escalation["attempts"]) == ("delivered", 1)
    assert {delivery.headers["idempotency-key"] for delivery in review.deliveries} == {escalation["id"]}
    assert len(review.deliveries) == 2


def test_a_service_that_is_stopped_during_a_delivery_leaves_it_to_the_next_one_at_once(
    start_service: StartService,
) -> None:
    release = threading.Event()

    def hang_once(_delivery: Delivery, number: int) -> int:
        if number == 1:
            release.wait(30)
        return 200

    with RecordingTarget(hang_once) as review:
        service = start_service(delivering_to(review=review.url))
        with service.client() as client:
            promoted(client)
            failed(client, 1)
        until(lambda: review.deliveries)
        service.stop()
        service.start()
        until(lambda: len(review.deliveries) > 1, 5)
        release.set()
