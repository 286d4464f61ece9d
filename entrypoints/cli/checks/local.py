"""A check-up of the stores and everything else that the settings name, from this process."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

from application.feedback.ports import EscalationFilter
from application.shared.ports import LlmPrompt
from domain.errors import EmbedderMismatch, InvalidConfiguration, MemoryGridError
from domain.feedback.escalation import State
from entrypoints.apps import close_incorporator
from entrypoints.cli.checks.databases import Databases, DatabaseState
from entrypoints.cli.checks.databases import State as Schema
from entrypoints.cli.checks.findings import ADVICE, NO_RULES_FILE, Finding, Level, of_check, of_failed, of_vectors
from entrypoints.cli.local import local_container
from entrypoints.container import IncorporatorContainer
from entrypoints.escaping import escaped
from entrypoints.misspelt import misspelt
from entrypoints.settings import Settings, VectorBackend

_ASK_S = 20.0
_WORDS = {
    Schema.UP_TO_DATE: (Level.OK, "is up to date", None),
    Schema.MISSING: (Level.ATTENTION, "is not there yet", "Nothing: it is made with the first start."),
    Schema.OLDER: (Level.BAD, "is of an older version", "Run `memorygrid db upgrade`."),
    Schema.NEWER: (Level.BAD, "is of a newer version", "Update the program."),
}


async def check_up(*, ask_llm: bool) -> AsyncIterator[Finding]:
    """Finds out one thing after the other. Makes no database; what is derived from one catches up by this."""
    try:
        Settings()  # all of them, also those that the command line itself does without
        container = local_container()
    except InvalidConfiguration as error:
        yield Finding(name="settings", level=Level.BAD, found=error.detail, advice="Correct these variables.")
        return
    settings: Settings = container.settings()
    yield of_check("settings", None, vital=True)
    for given, meant in misspelt(os.environ).items():
        found = f"{escaped(given)} is set, but nothing reads it"
        yield Finding(name="settings", level=Level.ATTENTION, found=found, advice=f"Did you mean {meant}?")
    states = await Databases(settings).look()
    for state in states:
        yield _of_database(state)
    try:
        yield _rules(container)
        yield await _embedder(container)
        lessons, feedback = (state.state is Schema.UP_TO_DATE for state in states)
        if lessons:
            async for finding in _derived(container):
                yield finding
        elif settings.vector_backend is not VectorBackend.MEMORY:
            yield await _vectors(container)
        if feedback:
            yield await _outbox(container)
            yield await _failed(container)
        yield await _llm(container, ask=ask_llm)
    finally:
        await close_incorporator(container)


def _of_database(state: DatabaseState) -> Finding:
    if state.problem is not None:
        found = f"{state.address}: {state.problem}"
        return Finding(name=state.name, level=Level.BAD, found=found, advice=ADVICE[state.name])
    level, words, advice = _WORDS[state.state]
    return Finding(name=state.name, level=level, found=f"{state.address} {words}", advice=advice)


def _rules(container: IncorporatorContainer) -> Finding:
    settings: Settings = container.settings()
    path = settings.dsl_match_rules_path
    if not Path(path).exists():
        found = f"none: there is no file {escaped(path)} (MG_DSL_MATCH_RULES_PATH)"
        if not settings.names_rules_file:
            return Finding(name="rules", level=Level.OK, found=found)
        return Finding(name="rules", level=Level.ATTENTION, found=found, advice=NO_RULES_FILE)
    try:
        count = len(container.rules().current().all)
    except InvalidConfiguration as error:
        return Finding(name="rules", level=Level.BAD, found=error.detail, advice="Correct the file: no start without.")
    return Finding(name="rules", level=Level.OK, found=f"{count} rules in {escaped(path)}")


async def _embedder(container: IncorporatorContainer) -> Finding:
    embedder = container.learner.embedder()
    try:
        await embedder.embed(["a text to see whether it works"])
    except MemoryGridError as error:
        return of_check("embedder", error.detail, vital=True)
    return Finding(name="embedder", level=Level.OK, found=f"{embedder.name}, {embedder.dimension} dimensions")


async def _vectors(container: IncorporatorContainer) -> Finding:
    """Of an index that nothing can be put into yet: only whether it can be reached."""
    try:
        await container.learner.vectors().reach()
    except MemoryGridError as error:
        return of_vectors(error.detail, in_memory=False, vital=False)
    return Finding(name="vectors", level=Level.OK, found="can be reached")


async def _derived(container: IncorporatorContainer) -> AsyncIterator[Finding]:
    """What is derived from the object store, once it has caught up."""
    catalog = container.learner.catalog()
    in_memory = container.settings().vector_backend is VectorBackend.MEMORY
    try:
        await catalog.reconcile()
    except EmbedderMismatch as error:
        yield Finding(name="vectors", level=Level.BAD, found=error.detail, advice="Run `memorygrid reindex`.")
        return
    except MemoryGridError as error:
        yield of_vectors(error.detail, in_memory=in_memory, vital=True)
        return
    behind = catalog.problems.get("vectors")
    yield (
        of_vectors(behind, in_memory=in_memory, vital=False)
        if behind
        else Finding(name="vectors", level=Level.OK, found=f"{len(catalog)} promoted lessons")
    )
    yield of_check("lessons_folder", catalog.problems.get("lessons_folder"), vital=False)


async def _outbox(container: IncorporatorContainer) -> Finding:
    oldest = await container.outbox().oldest_pending()
    if oldest is None:
        return of_check("outbox", None, vital=False)
    waited = (container.learner.clock().now() - oldest).total_seconds()
    return of_check("outbox", f"an escalation has waited {waited:.0f} s", vital=False)


async def _failed(container: IncorporatorContainer) -> Finding:
    page = await container.outbox().page(EscalationFilter(state=State.FAILED), 1_000, None)
    return of_failed(len(page.escalations))


async def _llm(container: IncorporatorContainer, *, ask: bool) -> Finding:
    llm = container.llm()
    model = container.settings().llm_model
    problem = llm.problem()
    if problem is not None or not ask:
        found = f"{model} (not asked: --ask-llm does)"
        return of_check("llm", problem, vital=False) if problem else Finding(name="llm", level=Level.OK, found=found)
    prompt = LlmPrompt(system="Answer with the JSON object {}.", user="{}", schema={"type": "object"}, max_tokens=16)
    try:
        await llm.ask(prompt, _ASK_S)
    except MemoryGridError as error:
        advice = "See ANTHROPIC_API_KEY, MG_LLM_MODEL and ANTHROPIC_BASE_URL."
        return Finding(name="llm", level=Level.ATTENTION, found=error.detail, advice=advice)
    return Finding(name="llm", level=Level.OK, found=f"{model} answers")
