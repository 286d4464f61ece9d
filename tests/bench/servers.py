"""The servers under test, each over its own copy of a feedback database."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from tests.bench.processes import Server
from tests.bench.seeds import RULES, Lessons, dsn, feedback_file, step_of

_SERVE = ("-m", "tests.bench.serve")
_NEVER = "1000000"


def floor(work: Path) -> Server:
    """The no-op."""
    return Server([*_SERVE, "floor"], log=work / "floor.log")


def naive(work: Path, catalog: Lessons, entries: int) -> Server:
    """The LIKE scan with one ORM transaction a request."""
    feedback = _feedback(work, entries, "naive")
    environment = {
        "BENCH_LESSONS": str(catalog.file),
        "BENCH_FEEDBACK": str(feedback),
        "BENCH_RULES": str(catalog.rules),
    }
    return Server([*_SERVE, "naive"], log=work / "naive.log", environment=environment)


def service(work: Path, catalog: Lessons, entries: int, kind: str = "service", **settings: str) -> Server:
    """The service; as `kind` "staged" it times its stages. Failures never reach the threshold, so that the catalog
    stays as it is.
    """
    feedback = _feedback(work, entries, f"service-{len(list(work.iterdir()))}")
    environment = {
        "MG_TIDB_DSN": catalog.dsn,
        "MG_FEEDBACK_TIDB_DSN": dsn(feedback),
        "MG_LESSONS_ROOT": str(catalog.folder),
        "MG_DSL_MATCH_RULES_PATH": str(catalog.rules),
        "MG_FAILURE_THRESHOLD_X": _NEVER,
        "MG_API_KEYS": "",
        "ANTHROPIC_API_KEY": "",
        **settings,
    }
    return Server([*_SERVE, kind], log=feedback.with_suffix(".log"), environment=environment)


def invoke_bodies(rules: int = RULES) -> Sequence[str]:
    """A request of each problem type that has a rule. `@@` becomes a number of its own in each request."""
    return [
        f'{{"session_id":"load-@@","problem_solving_step_ref":"step-1","problem_type":"problem-{number}",'
        f'"current_task_context":{{"operation":"upload report-{number}.pdf","task":{{"file":"report.pdf",'
        f'"attempt":3,"size_mb":12.5}}}},"system_state":{{"storage_status":"degraded","free_gb":4}},'
        f'"additional_caller_data":{{"team":"reporting"}}}}'
        for number in range(rules)
    ]


def outcome_bodies(entries: int, count: int = 2_000) -> Sequence[str]:
    """Reports on seeded entries, spread evenly over all of them; one in five a failure."""
    count = min(count, entries)
    steps = (step_of(at * entries // count) for at in range(count))
    return [
        f'{{"problem_solving_step_ref":"{step}","session_id":"{session}",'
        f'"result_flag":"{"failure" if at % 5 == 0 else "success"}"}}'
        for at, (session, step) in enumerate(steps)
    ]


def _feedback(work: Path, entries: int, name: str) -> Path:
    copy = work / f"feedback-{name}.db"
    shutil.copyfile(feedback_file(entries), copy)
    return copy
