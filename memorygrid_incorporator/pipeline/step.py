"""What the block inside `hook.step(...)` holds: what to execute, and its verdict on how that went."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Literal

from memorygrid_incorporator.pipeline.texts import described
from memorygrid_incorporator.pipeline.wire import ApplierOutcome, FailureClass, OutcomeBody

_log = logging.getLogger(__name__)


class Step:
    """One step of a pipeline, from the lesson that was selected for it to the report of how it went.

    `outcome` is what to execute, or None where no lesson applies: then nothing is reported. A block that says nothing
    has succeeded where it ends, and failed where it raises. `succeed()` and `fail()` decide otherwise; the last one
    holds, also where the block raises after it.
    """

    def __init__(self, *, session_id: str, problem_solving_step_ref: str, outcome: ApplierOutcome | None) -> None:
        self.session_id = session_id
        self.problem_solving_step_ref = problem_solving_step_ref
        self.outcome = outcome
        self._verdict: OutcomeBody | None = None

    def succeed(self) -> None:
        """Report a success, whatever the block does next."""
        self._verdict = self._body("success")

    def fail(self, *, failure_class: FailureClass | None = None, detail: Mapping[str, object] | None = None) -> None:
        """Report a failure, whatever the block does next.

        `failure_class` says whose fault it is: the `lesson`'s (so also without one), which counts towards its
        escalation, or the `infrastructure`'s, which does not. `detail` is any JSON object. What cannot be
        sent of it is no reason to report nothing: a text that says so is sent in its place, and a warning logged.
        """
        self._verdict = self._body("failure", failure_class, detail)

    def closing_body(self, error: BaseException | None = None) -> OutcomeBody | None:
        """What to report about a block that ended, with `error` where it raised; None where there is nothing to say.

        An interruption (a cancellation, Ctrl-C, an exit) is no fault of the lesson, so its class is `infrastructure`.
        A block that is abandoned because its generator is closed has not ended: its selection stays pending.
        """
        if self.outcome is None or isinstance(error, GeneratorExit):
            return None
        if self._verdict is not None:
            return self._verdict
        if error is None:
            return self._body("success")
        failure_class: FailureClass | None = None if isinstance(error, Exception) else "infrastructure"
        return self._body("failure", failure_class, {"error": described(error)})

    def _body(
        self,
        result_flag: Literal["success", "failure"],
        failure_class: FailureClass | None = None,
        detail: Mapping[str, object] | None = None,
    ) -> OutcomeBody:
        return OutcomeBody(
            problem_solving_step_ref=self.problem_solving_step_ref,
            session_id=self.session_id,
            result_flag=result_flag,
            outcome_id=None if self.outcome is None else self.outcome.id,
            failure_class=failure_class,
            detail=detail,
        )


@contextmanager
def hiding_nothing(step: Step) -> Iterator[None]:
    """Log what goes wrong with a report, where raising it would hide the error that the report is about."""
    try:
        yield
    except Exception as error:
        _log.warning(
            "the failure of step %r in session %r was not reported: %s",
            step.problem_solving_step_ref,
            step.session_id,
            described(error),
        )
