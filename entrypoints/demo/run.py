"""Runs the demo: the story against a service that lives as long as it does, or a service with the same lessons."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import anyio
import httpx
import msgspec

from application.learner.ports import LessonFilter
from entrypoints.cli.failures import ExitCode, Failure
from entrypoints.cli.listening import check_free
from entrypoints.cli.remote import remote_service
from entrypoints.cli.terminal import console
from entrypoints.demo import samples
from entrypoints.demo.folder import FolderTaken, remove, serving_folder, story_folder
from entrypoints.demo.narrator import Narrator
from entrypoints.demo.service import HOST, ServiceFailed, ServiceProcess
from entrypoints.demo.story import Story, seed
from memorygrid_incorporator.pipeline.incorporator_hook import IncorporatorHookClient

_WIDEST = 100


def tell_story(base: Path, *, keep: bool) -> None:
    """Tells the story in a new folder below `base`. Raises `Failure` where an expectation does not come true.

    The folder goes afterwards, unless `keep`, or the story did not come out well.
    """
    started = time.monotonic()
    told = Narrator(console(widest=_WIDEST))
    told.title("MemoryGrid: agents that learn from what went wrong")
    told.say("Lessons are recorded, reviewed by people, matched to problems, tried out, and repaired when they fail.")
    folder = story_folder(base)
    try:
        with _interruptible(), _started(folder) as service:
            told.say(f"Everything below is real: a service at {service.url}, with databases of its own in {folder}.")
            anyio.run(_told, service.url, told)
    except KeyboardInterrupt:
        remove(folder)
        raise
    if told.broken:
        raise Failure(f"{told.broken} expectations did not come true; see {folder}", ExitCode.NO)
    told.title(f"All {told.kept} expectations came true, in {time.monotonic() - started:.1f} s.")
    told.say("Go on by yourself:")
    command = _command()
    told.commands([f"{command} demo --serve" if command == "memorygrid" else "make run", f"{command} --help"])
    if not keep:
        remove(folder)


def serve(base: Path, *, port: int, fresh: bool) -> None:
    """Serves the sample lessons on `port` until interrupted. What happens is kept for the next time, unless `fresh`."""
    told = Narrator(console(widest=_WIDEST))
    another = "--port" if _command() == "memorygrid" else "make run PORT=…, or --port"
    check_free(HOST, port, otherwise=another)
    try:
        folder = serving_folder(base, fresh=fresh)
    except FolderTaken as error:
        raise Failure(str(error), ExitCode.USAGE) from error
    with _interruptible(), _started(folder, port=port, with_llm=True) as service:
        try:
            anyio.run(_seeded, service.url, told)
            _introduce(told, service.url, folder)
            code = service.wait()
        except KeyboardInterrupt:
            told.say("Stopped.")
            return
    raise Failure(f"the service ended by itself with {code}; see {folder / 'service.log'}", ExitCode.UNREACHABLE)


def _command() -> str:
    """The command line, as it can be called where this runs: in a checkout, maybe without its environment activated."""
    return ".venv/bin/memorygrid" if Path("Makefile").is_file() else "memorygrid"


async def _told(url: str, told: Narrator) -> None:
    async with remote_service(url, None, trust_env=False) as service, httpx.AsyncClient(trust_env=False) as client:
        hook = IncorporatorHookClient(url, api_key="", client=client)
        try:
            await Story(service, hook, told).tell()
        except httpx.HTTPError as error:
            raise Failure(str(error), ExitCode.NO) from error


async def _seeded(url: str, told: Narrator) -> None:
    async with remote_service(url, None, trust_env=False) as service:
        known = await service.lessons(LessonFilter())
        if known:
            told.say(f"{len(known)} lessons are here from the last time (start anew with --fresh).")
        else:
            await seed(service, told)


@contextmanager
def _started(folder: Path, *, port: int = 0, with_llm: bool = False) -> Iterator[ServiceProcess]:
    try:
        with ServiceProcess(folder, port=port, with_llm=with_llm) as service:
            yield service
    except ServiceFailed as error:
        raise Failure(str(error), ExitCode.UNREACHABLE) from error


@contextmanager
def _interruptible() -> Iterator[None]:
    """Lets SIGTERM end the demo as Ctrl-C does, so that its service ends with it."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _introduce(told: Narrator, url: str, folder: Path) -> None:
    alert = samples.alerts()[0]
    body = msgspec.json.encode(
        {
            "session_id": "s1",
            "problem_solving_step_ref": "step-1",
            "problem_type": alert.problem_type,
            "current_task_context": {key: value for key, value in alert.current_task_context.items() if key != "alert"},
        }
    ).decode()
    outcome = '{"session_id":"s1","problem_solving_step_ref":"step-1","result_flag":"success"}'
    told.title(f"MemoryGrid serves on {url} until Ctrl-C. Its databases, rules and log are in {folder}.")
    told.say("Ask what to do, report how it went, and look at the numbers:")
    told.commands(
        [
            f"curl {url}/incorporator/invoke -H 'Content-Type: application/json' -d '{body}'",
            f"curl {url}/incorporator/outcome -H 'Content-Type: application/json' -d '{outcome}'",
            f"curl {url}/feedback/metrics/usage",
            f"curl {url}/lessons/review/queue",
        ]
    )
    told.say("Or by the command line:")
    command = _command()
    told.commands([f"{command} --url {url} lessons list", f"{command} --url {url} match {alert.problem_type}"])
