"""One hook, made at module level, in whatever loops and threads its process comes to have."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from memorygrid_incorporator.pipeline.incorporator_hook import IncorporatorHookClient, SyncIncorporatorHookClient
from tests.unit.pipeline.callers import QUERY
from tests.unit.pipeline.service import Service

MODULE_LEVEL_USE = """
import asyncio, sys
import {runner} as runner
from memorygrid_incorporator.pipeline.incorporator_hook import IncorporatorHookClient, SyncIncorporatorHookClient

hook = IncorporatorHookClient(sys.argv[1])
sync_hook = SyncIncorporatorHookClient(sys.argv[1])

async def run_step(step):
    await hook.invoke(session_id="s1", problem_solving_step_ref=step, problem_type="flaky_upload")
    await asyncio.gather(*(hook.report_outcome(step, "s1", succeeded=True) for _ in range(3)))

async def run_step_with_a_local_hook(step):
    local = IncorporatorHookClient(sys.argv[1])
    await local.invoke(session_id="s1", problem_solving_step_ref=step, problem_type="flaky_upload")

for number in range(3):
    runner.run(run_step(str(number)))
    runner.run(run_step_with_a_local_hook(str(number)))
sync_hook.invoke(session_id="s1", problem_solving_step_ref="4", problem_type="flaky_upload")
"""


@pytest.mark.parametrize("runner", ["asyncio", "uvloop"])
def test_a_module_level_hook_works_in_one_loop_after_another_and_leaves_nothing_open(
    service: Service, runner: str
) -> None:
    pytest.importorskip(runner)
    program = MODULE_LEVEL_USE.format(runner=runner)
    command = [sys.executable, "-W", "error", "-c", program, service.url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(service.received) == 3 * (1 + 3 + 1) + 1


def test_within_one_loop_the_connection_is_kept(service: Service) -> None:
    async def run() -> None:
        for _ in range(3):
            await hook.invoke(**QUERY)

    hook = IncorporatorHookClient(service.url)
    asyncio.run(run())
    assert len(service.connections) == 1


async def test_a_connection_that_the_service_closed_meanwhile_is_no_error(service: Service) -> None:
    async with IncorporatorHookClient(service.url, attempts=1) as hook:
        await hook.invoke(**QUERY)
        service.drop_connections()
        await asyncio.sleep(0.05)
        assert (await hook.invoke(**QUERY)).id == "outcome-1"


def test_loops_in_several_threads_share_a_hook(service: Service) -> None:
    hook = IncorporatorHookClient(service.url)
    with ThreadPoolExecutor(4) as threads:
        outcomes = list(threads.map(lambda _: asyncio.run(hook.invoke(**QUERY)), range(8)))
    assert [outcome.id for outcome in outcomes] == ["outcome-1"] * 8


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_loop_that_was_closed_without_a_shutdown_does_not_break_the_hook(service: Service) -> None:
    hook = IncorporatorHookClient(service.url)
    for _ in range(2):
        loop = asyncio.new_event_loop()
        loop.run_until_complete(hook.invoke(**QUERY))
        loop.close()
    assert asyncio.run(hook.invoke(**QUERY)).id == "outcome-1"
    del loop
    gc.collect()


async def test_a_closed_hook_opens_again_when_it_is_used_again(service: Service) -> None:
    hook = IncorporatorHookClient(service.url)
    await hook.aclose()
    async with hook:
        await hook.invoke(**QUERY)
    assert (await hook.invoke(**QUERY)).id == "outcome-1"
    await hook.aclose()
    await hook.aclose()


@pytest.mark.filterwarnings("ignore::ResourceWarning")
async def test_a_hook_that_is_forgotten_in_a_running_loop_closes_its_connections(service: Service) -> None:
    hook = IncorporatorHookClient(service.url)
    await hook.invoke(**QUERY)
    del hook
    gc.collect()
    await asyncio.sleep(0.2)
    assert [connection.fileno() for connection in service.connections] == [-1]


async def test_many_tasks_share_a_hook(service: Service) -> None:
    async with IncorporatorHookClient(service.url) as hook:
        outcomes = await asyncio.gather(*(hook.invoke(**QUERY) for _ in range(20)))
    assert len(outcomes) == 20
    assert len(set(service.idempotency_keys())) == 20


async def test_the_callers_own_client_is_used_as_it_is_and_stays_open(service: Service) -> None:
    async with httpx.AsyncClient(headers={"traceparent": "00-ab-cd-01"}) as own:
        async with IncorporatorHookClient(service.url, client=own) as hook:
            await hook.invoke(**QUERY)
        assert not own.is_closed
    assert service.received[0].headers["traceparent"] == "00-ab-cd-01"


def test_the_callers_own_synchronous_client_is_used_as_it_is_and_stays_open(service: Service) -> None:
    with httpx.Client(headers={"traceparent": "00-ab-cd-01"}) as own:
        with SyncIncorporatorHookClient(service.url, client=own) as hook:
            hook.invoke(**QUERY)
        assert not own.is_closed
    assert service.received[0].headers["traceparent"] == "00-ab-cd-01"


def test_threads_share_a_synchronous_hook(service: Service) -> None:
    with SyncIncorporatorHookClient(service.url) as hook, ThreadPoolExecutor(4) as threads:
        outcomes = list(threads.map(lambda _: hook.invoke(**QUERY), range(8)))
    assert [outcome.id for outcome in outcomes] == ["outcome-1"] * 8
