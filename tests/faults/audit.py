"""The books, read over the API, and what is wrong with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import httpx

from tests.e2e.calls import answered, invoke, report
from tests.faults.load import Done


def all_pages(client: httpx.Client, path: str, **where: str) -> list[Any]:
    """Every row of a listing, page by page."""
    rows: list[Any] = []
    url, params = path, {"limit": "500", **where}
    while True:
        response = client.get(url, params=params or None)
        rows += answered(response)
        if "next" not in response.links:
            return rows
        url, params = str(response.links["next"]["url"]), {}


def recount(entries: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """What the metrics of these entries must be."""
    entries = list(entries)
    flags = Counter(entry["result_flag"] for entry in entries)
    decided = flags["success"] + flags["failure"]
    return {
        "usage_count": sum(entry["usage_count"] for entry in entries),
        "success": flags["success"],
        "failure": flags["failure"],
        "pending": flags["pending"],
        "success_rate": round(flags["success"] / decided, 3) if decided else None,
        "failure_rate": round(flags["failure"] / decided, 3) if decided else None,
    }


class Books:
    """The entries as they are now, against what clients were told."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client
        self.entries = all_pages(client, "/feedback/")
        self._by_step = Counter(entry["problem_solving_step_ref"] for entry in self.entries)
        self._by_id = {entry["id"]: entry for entry in self.entries}

    def lost(self, done: Sequence[Done]) -> list[Done]:
        """Acknowledged, and not there as it was acknowledged."""
        return [one for one in done if not self._holds(one)]

    def duplicated(self) -> list[str]:
        """Steps, each invoked and reported once, that left more behind."""
        twice = [entry["problem_solving_step_ref"] for entry in self.entries if entry["usage_count"] > 2]
        return [*twice, *(step for step, count in self._by_step.items() if count > 1)]

    def wrong(self) -> list[object]:
        """Counters that no recount gives."""
        usage = answered(self._client.get("/feedback/metrics/usage"))
        found: list[object] = []
        if usage["overall"] != recount(self.entries):
            found.append(("overall", usage["overall"], recount(self.entries)))
        for lesson_id, metrics in usage["by_lesson"].items():
            expected = recount(entry for entry in self.entries if entry["lesson_skill_id"] == lesson_id)
            if metrics != expected:
                found.append((lesson_id, metrics, expected))
        return found

    def counts_seen(self) -> list[int]:
        return sorted(entry["failures_seen"] for entry in self.entries if entry["result_flag"] == "failure")

    def _holds(self, one: Done) -> bool:
        kept = self._by_id.get(one.entry["id"])
        return (
            kept is not None
            and kept["transaction_log_ref"] == one.applied["id"]
            and kept["result_flag"] == one.flag
            and kept["failures_seen"] == one.entry["failures_seen"]
        )


def next_failure_count(client: httpx.Client) -> int:
    """The count that one more failure sees, which shows the counter behind the threshold."""
    invoke(client, "one-more")
    seen: int = report(client, "one-more")["failures_seen"]
    return seen
