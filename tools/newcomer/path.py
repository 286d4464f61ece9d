"""The steps, in order: try the demo, look around, import, review, ask, fail, repair, ask again."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tools.newcomer.machine import Api, Terminal, Unexpected
from tools.newcomer.material import Alert, Material

#: With `both`, a lesson that keeps failing goes back to review and matches no more until somebody decides.
SETTINGS = {"MG_REVIEWER_PATH_MODE": "both", "MG_FAILURE_THRESHOLD_X": "3"}
_FAILURES = 3


class Walk:
    """Times each step and says what came of it."""

    def __init__(self, write: Callable[[str], object] = sys.stdout.write) -> None:
        self._write = write
        self._began = time.monotonic()

    def step(self, name: str, work: Callable[[], str]) -> None:
        """Raises `Unexpected` where the step goes wrong."""
        began = time.monotonic()
        said = work()
        self._say(name, time.monotonic() - began, said)

    def end(self) -> None:
        self._say("all", time.monotonic() - self._began, "")

    def _say(self, name: str, seconds: float, said: str) -> None:
        self._write(f"{name:<24}{seconds:8.1f} s  {said}".rstrip() + "\n")
        sys.stdout.flush()


class Newcomer:
    """Somebody with `memorygrid` (the program's path) and some lessons."""

    def __init__(self, walk: Walk, terminal: Terminal, program: Path, material: Material) -> None:
        self._walk = walk
        self._terminal = terminal
        self._program = program
        self._material = material
        self._steps = 0
        self._url: list[str] = []

    def go(self) -> None:
        """From the demo to the repaired lesson. Raises `Unexpected`."""
        step = self._walk.step
        step("memorygrid demo", lambda: self._cli("demo").rstrip().split("All ")[-1].split(",")[0])
        step("memorygrid doctor", lambda: _levels(self._json("doctor")))
        with self._terminal.serving([self._program, "serve", "--port", "0"], SETTINGS) as url:
            self._url = ["--url", url]
            api = Api(url)
            step("lessons import", self._imported)
            step("review approve --all", self._approved)
            step("doctor of the service", lambda: _levels(self._json("doctor")))
            right: list[Alert] = []
            step(f"match {len(self._material.alerts)} alerts", lambda: self._matched(api, right))
            alert = right[0]
            step("let one lesson fail", lambda: self._failed(api, alert))
            step("repair it", lambda: self._repaired(alert))
            step("see it match again", lambda: self._helped(api, alert))
            step("feedback stats", self._numbers)

    def _imported(self) -> str:
        said = self._cli("lessons", "import", self._material.lessons).strip()
        expect(said.startswith(f"{self._material.number} imported"), said)
        again = self._cli("lessons", "import", self._material.lessons).strip()
        expect(again.startswith(f"0 imported, {self._material.number} known"), again)
        return f"{said}; the same file again: nothing new"

    def _approved(self) -> str:
        lines = self._cli("review", "approve", "--all", "--yes").splitlines()
        expect(len(lines) == self._material.number and self._json("review", "list") == [], f"{len(lines)} approved")
        return f"{len(lines)} approved, nothing awaits review"

    def _matched(self, api: Api, right: list[Alert]) -> str:
        """Fills `right` with the alerts whose lesson an agent was given."""
        ranks: Counter[str] = Counter()
        for alert in self._material.alerts:
            body = self._body(alert)
            candidates = api.post("/incorporator/match", body)["candidates"]
            titles = [one["title"] for one in candidates]
            ranks["first"] += titles[:1] == [alert.title]
            ranks["among ten"] += alert.title in titles
            answer = api.post("/incorporator/invoke", body)
            if answer is None:
                ranks["none"] += 1
            elif answer["match_result"]["raw_payload"]["title"] == alert.title:
                right.append(alert)
        expect(bool(right), "no alert got its lesson")
        return (
            f"{ranks['first']} have their lesson first, {ranks['among ten']} among the ten candidates; "
            f"agents got it {len(right)} times, another one "
            f"{len(self._material.alerts) - len(right) - ranks['none']} times, none {ranks['none']} times"
        )

    def _failed(self, api: Api, alert: Alert) -> str:
        for _ in range(_FAILURES):
            expect(self._report(api, alert, "failure") == alert.title, "the lesson does not match")
        (waiting,) = self._json("review", "list")
        expect(waiting["title"] == alert.title, f"{waiting['title']} awaits review instead of {alert.title}")
        expect(_title(api.post("/incorporator/invoke", self._body(alert))) != alert.title, "it still matches")
        states = Counter(one["state"] for one in self._json("escalations", "list"))
        return f"{alert.title!r}: {waiting['reason']}; it matches no more; escalations: {_counted(states)}"

    def _repaired(self, alert: Alert) -> str:
        (waiting,) = self._json("review", "list")
        better = self._terminal.folder / "better.md"
        better.write_text(waiting["body"] + "\n\n## Since the last incident\n\nCheck the new dashboard first.\n")
        said = self._cli("review", "edit", waiting["id"], "--body-file", better, "--note", "what we learned", "--yes")
        expect("+Check the new dashboard first." in said, said)
        expect(self._json("review", "list") == [], "something still awaits review")
        return f"{alert.title!r} is edited, its difference shown, promoted again"

    def _helped(self, api: Api, alert: Alert) -> str:
        expect(self._report(api, alert, "success") == alert.title, "the repaired lesson does not match")
        (found,) = [one for one in self._json("lessons", "list", "-q", alert.title) if one["title"] == alert.title]
        return f"{found['title']!r} in version {found['version']}, review round {found['review_round']}: success"

    def _numbers(self) -> str:
        usage = self._json("feedback", "stats")["overall"]
        expect(usage["failure"] == _FAILURES and usage["success"] == 1, str(usage))
        return _counted({name: usage[name] for name in ("success", "failure", "pending")})

    def _report(self, api: Api, alert: Alert, flag: str) -> str | None:
        """Asks, reports, and answers the title of the lesson that was given."""
        body = self._body(alert)
        answer = api.post("/incorporator/invoke", body)
        said = {name: body[name] for name in ("session_id", "problem_solving_step_ref")}
        expect(api.post("/incorporator/outcome", {**said, "result_flag": flag}) is not None, "no such selection")
        return _title(answer)

    def _body(self, alert: Alert) -> dict[str, Any]:
        self._steps += 1
        return {
            "session_id": "newcomer",
            "problem_solving_step_ref": f"step-{self._steps}",
            "problem_type": alert.problem_type,
            "current_task_context": alert.context,
        }

    def _cli(self, *arguments: str | Path) -> str:
        return self._terminal.run(self._program, *self._url, *arguments)

    def _json(self, *arguments: str | Path) -> Any:
        return json.loads(self._cli(*arguments, "--json"))


def expect(holds: bool, otherwise: str) -> None:
    """Raises `Unexpected` where it does not hold."""
    if not holds:
        raise Unexpected(otherwise)


def _title(answer: Any) -> str | None:
    return None if answer is None else str(answer["match_result"]["raw_payload"]["title"])


def _levels(findings: list[dict[str, Any]]) -> str:
    return _counted(Counter(one["level"] for one in findings))


def _counted(counts: dict[str, int]) -> str:
    def each() -> Iterator[str]:
        for name, count in counts.items():
            yield f"{count} {name}"

    return ", ".join(each())
