from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from tests.e2e.service import INCORPORATOR, Service

UPLOAD_RULE = {"problem_type": "flaky_upload", "target_bin": "skills_base", "query": "retry uploads", "min_score": 0.0}

StartService = Callable[..., Service]


@pytest.fixture
def start_service(tmp_path: Path) -> Iterator[StartService]:
    """Starts services in the test's folder (or `home`) and ends them with the test."""
    started: list[Service] = []

    def start(
        env: Mapping[str, str] | None = None,
        app: str = INCORPORATOR,
        rules: Sequence[Mapping[str, object]] = (UPLOAD_RULE,),
        home: Path | None = None,
        options: Sequence[str] = (),
    ) -> Service:
        service = Service(home or tmp_path, env, app, options)
        service.write_rules(rules)
        started.append(service)
        return service.start()

    yield start
    for service in started:
        service.kill()
