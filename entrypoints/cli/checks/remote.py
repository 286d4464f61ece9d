"""A check-up of a service at an address, by what it says of itself."""

from __future__ import annotations

from collections.abc import AsyncIterator

from application.feedback.ports import EscalationFilter
from domain.feedback.escalation import State
from entrypoints.cli.checks.findings import Finding, Level, of_check, of_failed
from entrypoints.cli.failures import ExitCode, Failure
from entrypoints.cli.service import Service


async def check_up_of(service: Service) -> AsyncIterator[Finding]:
    """What the service says, as far as the key may know. Raises `Failure` where it does not answer at all."""
    try:
        checks = await service.checks()
    except Failure as failure:
        if failure.code is not ExitCode.UNREACHABLE or not failure.answered:
            raise
        yield Finding(name="service", level=Level.BAD, found=failure.message, advice="See its log.")
        return
    yield Finding(name="service", level=Level.OK, found=f"{service.place} serves")
    for name, problem in checks.items():
        yield of_check(name, problem, vital=False)
    if not checks:
        yield Finding(name="access", level=Level.ATTENTION, found="the details need a key", advice="Set MG_API_KEY.")
        return
    try:
        failed = await service.escalations(EscalationFilter(state=State.FAILED))
    except Failure as failure:
        yield Finding(name="escalations", level=Level.ATTENTION, found=failure.message)
    else:
        yield of_failed(len(failed))
