"""A step that is cut short: a cancellation, Ctrl-C, an exit, a generator that is closed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Generator

import anyio
import pytest

from memorygrid_incorporator.pipeline.incorporator_hook import IncorporatorHookClient, Step, SyncIncorporatorHookClient
from tests.unit.pipeline.callers import QUERY, Caller
from tests.unit.pipeline.service import Answer, Service

HANGS = Answer(delay_s=5.0, drop=True)


async def hang_in_a_step(hook: IncorporatorHookClient, begun: asyncio.Event) -> None:
    async with hook.step(**QUERY):
        begun.set()
        await asyncio.sleep(60)


async def cancelled(task: asyncio.Task[None]) -> bool:
    await asyncio.wait({task})
    return task.cancelled()


async def test_a_cancelled_step_reports_a_failure_of_the_infrastructure(service: Service) -> None:
    async with IncorporatorHookClient(service.url) as hook:
        begun = asyncio.Event()
        task = asyncio.create_task(hang_in_a_step(hook, begun))
        await begun.wait()
        task.cancel()
        assert await cancelled(task)
        (report,) = service.reports()
        assert (report["result_flag"], report["failure_class"]) == ("failure", "infrastructure")
        assert report["outcome_id"] == "outcome-1"


async def test_the_report_of_a_cancelled_step_holds_it_back_for_2_s_at_most(service: Service) -> None:
    async with IncorporatorHookClient(service.url) as hook:
        begun = asyncio.Event()
        task = asyncio.create_task(hang_in_a_step(hook, begun))
        await begun.wait()
        service.will_answer(HANGS)
        started = time.monotonic()
        task.cancel()
        assert await cancelled(task)
        assert time.monotonic() - started < 3.0


async def test_a_second_cancellation_goes_on_at_once_while_the_report_finishes(service: Service) -> None:
    begun = asyncio.Event()
    async with IncorporatorHookClient(service.url) as hook:
        task = asyncio.create_task(hang_in_a_step(hook, begun))
        await begun.wait()
        service.will_answer(Answer(delay_s=0.3, drop=True))
        started = time.monotonic()
        task.cancel()
        await asyncio.sleep(0.05)
        task.cancel()
        assert await cancelled(task)
        assert time.monotonic() - started < 0.25
    assert len(service.reports()) == 2
    assert len(set(service.idempotency_keys()[1:])) == 1


async def test_a_cancel_scope_that_keeps_cancelling_gets_its_report_too(service: Service) -> None:
    async with IncorporatorHookClient(service.url) as hook:
        with anyio.move_on_after(0.2) as scope:
            async with hook.step(**QUERY):
                await anyio.sleep(60)
        assert scope.cancelled_caught
    assert [report["failure_class"] for report in service.reports()] == ["infrastructure"]


async def test_a_cancellation_while_a_success_is_being_reported_loses_neither(service: Service) -> None:
    ended = asyncio.Event()

    async def run(hook: IncorporatorHookClient) -> None:
        async with hook.step(**QUERY):
            service.will_answer(Answer(delay_s=0.2, drop=True))
            ended.set()

    async with IncorporatorHookClient(service.url) as hook:
        task = asyncio.create_task(run(hook))
        await ended.wait()
        await asyncio.sleep(0.05)
        task.cancel()
        assert await cancelled(task)
    assert [report["result_flag"] for report in service.reports()] == ["success", "success"]
    assert len(set(service.idempotency_keys()[1:])) == 1


async def test_a_cancelled_invoke_is_cancelled_at_once(service: Service) -> None:
    service.will_answer(Answer(delay_s=1.0, drop=True))
    async with IncorporatorHookClient(service.url) as hook:
        started = time.monotonic()
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(hook.invoke(**QUERY), 0.1)
        assert time.monotonic() - started < 0.5


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, SystemExit])
def test_ctrl_c_and_an_exit_are_no_fault_of_the_lesson(service: Service, interruption: type[BaseException]) -> None:
    with SyncIncorporatorHookClient(service.url) as hook, pytest.raises(interruption), hook.step(**QUERY):
        raise interruption
    assert [report["failure_class"] for report in service.reports()] == ["infrastructure"]


def test_the_report_of_an_interruption_takes_2_s_at_most(caller: Caller, service: Service) -> None:
    def block(step: Step) -> None:
        service.will_answer(HANGS)
        raise KeyboardInterrupt

    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        caller.step(block)
    assert time.monotonic() - started < 3.0


def test_a_verdict_survives_an_interruption(caller: Caller, service: Service) -> None:
    def block(step: Step) -> None:
        step.succeed()
        raise SystemExit

    with pytest.raises(SystemExit):
        caller.step(block)
    assert [report["result_flag"] for report in service.reports()] == ["success"]


async def test_a_step_in_an_async_generator_that_is_closed_stays_pending(service: Service) -> None:
    async def lines(hook: IncorporatorHookClient) -> AsyncGenerator[str, None]:
        async with hook.step(**QUERY):
            yield "one"
            yield "two"

    async with IncorporatorHookClient(service.url) as hook:
        generator = lines(hook)
        assert await anext(generator) == "one"
        await generator.aclose()
    assert service.reports() == []


def test_a_step_in_a_generator_that_is_closed_stays_pending(service: Service) -> None:
    def lines(hook: SyncIncorporatorHookClient) -> Generator[str, None, None]:
        with hook.step(**QUERY):
            yield "one"
            yield "two"

    with SyncIncorporatorHookClient(service.url) as hook:
        generator = lines(hook)
        assert next(generator) == "one"
        generator.close()
    assert service.reports() == []
