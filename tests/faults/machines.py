"""How the state machines run: many long stories in the long form, the same few each time in the short one."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from tests.faults.tally import LONG


def run(machine: type[RuleBasedStateMachine], *, examples: int, steps: int) -> None:
    """Runs so many stories of so many steps; fails with the shortest that it finds, in the long form."""
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            derandomize=not LONG,
            phases=tuple(Phase) if LONG else (Phase.generate,),
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
