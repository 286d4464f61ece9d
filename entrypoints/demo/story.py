"""The story: lessons come in, are reviewed, help, fail, are repaired and help again."""

from __future__ import annotations

import anyio

from application.learner.ports import LessonFilter
from domain.feedback.metrics import Usage
from domain.learner.lesson import Bin, Decision, LessonEdit
from entrypoints.cli.said import Said
from entrypoints.cli.service import Service
from entrypoints.demo import samples
from entrypoints.demo.narrator import Narrator
from entrypoints.demo.samples import Alert
from entrypoints.http.lesson_wire import LessonAnswer, QueueItem
from memorygrid_incorporator.pipeline.incorporator_hook import ApplierOutcome, IncorporatorHookClient

_THRESHOLD = 3
_FAILING = "KubeJobFailed"
_UNKNOWN = Alert(
    problem_type="CoffeeMachineEmpty",
    current_task_context={"alert": "The coffee machine on the third floor has run out of beans."},
    lesson_title="",
)
_REPAIR = (
    "Run kubectl -n {namespace} describe job {job}. If a CronJob controls it, deleting it does not help: correct the "
    "CronJob's template and wait for its next run. Else correct the cause, and remove the job."
)


async def seed(service: Service, told: Narrator) -> list[LessonAnswer]:
    """Imports the sample lessons and approves every one of them."""
    lessons = await service.inject(samples.lessons())
    for lesson in lessons:
        await service.decide(lesson.id, Decision.APPROVE, Said(reviewer="demo", version=lesson.version))
    told.expect(not await service.queue(), f"{len(lessons)} sample lessons are imported and approved")
    return lessons


class Story:
    """Told chapter by chapter, in order: each builds on the one before. Raises `Failure` and `httpx.HTTPError`."""

    def __init__(self, service: Service, hook: IncorporatorHookClient, told: Narrator) -> None:
        self._service = service
        self._hook = hook
        self._told = told
        self._alerts = samples.alerts()
        self._step = 0

    async def tell(self) -> None:
        await self.lessons_come_in()
        await self.a_person_reviews()
        await self.alerts_find_their_lessons()
        await self.nothing_applies()
        await self.a_lesson_fails()
        await self.a_person_repairs_it()
        await self.the_numbers()

    async def lessons_come_in(self) -> None:
        told = self._told
        told.chapter("Lessons come in")
        lessons = await self._service.inject(samples.lessons())
        told.say(
            f"{len(lessons)} lessons are imported over the API (POST /lessons/batch): runbooks of the "
            "prometheus-operator project. An agent could have written them just as well."
        )
        early = await self._ask(self._alert(_FAILING))
        told.expect(early is None, "Nobody has reviewed them yet, so none of them matches: invoke answers 404")

    async def a_person_reviews(self) -> None:
        told = self._told
        told.chapter("A person reviews them")
        queue = await self._service.queue()
        shown = [[one.title, _BINS[one.bin], one.reason, "yes" if one.dsl_payload else "no"] for one in queue[:5]]
        told.say("The review queue (GET /lessons/review/queue):")
        told.show(["Lesson", "Goes to", "Reason", "Own action"], [*shown, [f"and {len(queue) - len(shown)} more"]])
        for one in queue:
            await self._service.decide(one.id, Decision.APPROVE, Said(reviewer="demo", version=one.version))
        told.expect(not await self._service.queue(), "All of them are approved. From now on they match")

    async def alerts_find_their_lessons(self) -> None:
        told = self._told
        told.chapter("Agents meet problems and ask")
        told.say("An agent that is on call gets this alert, and asks for a lesson (POST /incorporator/invoke):")
        told.quote(self._alert(_FAILING).text)
        outcomes = [(alert, await self._follow(alert)) for alert in self._alerts]
        one = next(outcome for alert, outcome in outcomes if alert.problem_type == _FAILING)
        if one is not None:
            told.say(f"The answer is one action ({one.action}) and how to do it, with this alert's own names in it:")
            told.quote(one.instruction)
        told.say(
            "The agent does so, and reports a success (POST /incorporator/outcome). "
            f"The same with all {len(outcomes)} sample alerts:"
        )
        told.show(_FINDINGS, [_found(alert, outcome) for alert, outcome in outcomes])
        right = sum(_title(outcome) == alert.lesson_title for alert, outcome in outcomes)
        told.expect(right == len(outcomes), f"{right} of {len(outcomes)} alerts found the runbook that they link to")
        self._explain_how(outcomes)

    def _explain_how(self, outcomes: list[tuple[Alert, ApplierOutcome | None]]) -> None:
        fallbacks = {one.match_result.fallback_reason for _, one in outcomes if one is not None} - {None}
        self._told.point("rule", "config/dsl_match_rules.json says where this kind of problem is looked up. No model.")
        self._told.point(
            "similar",
            "there is no rule. A language model would choose among the ten most similar lessons; here there is none, "
            "so the most similar one is taken if it is similar enough, and the answer says so "
            f"(fallback_reason: {', '.join(map(str, fallbacks))}).",
        )
        self._told.point(
            "apply_recommended_lesson",
            "the lesson names no action of its own, and no model puts one into words: the agent reads the lesson.",
        )

    async def nothing_applies(self) -> None:
        told = self._told
        told.chapter("What nobody has learned yet")
        told.quote(_UNKNOWN.text)
        answer = await self._ask(_UNKNOWN)
        told.expect(answer is None, "No lesson is about this: invoke answers 404, and the agent goes on by itself")
        missed = await self._missed(_UNKNOWN.problem_type)
        told.expect(missed, "It is counted (GET /incorporator/misses): the lessons that are worth writing")

    async def a_lesson_fails(self) -> None:
        told = self._told
        told.chapter("A lesson stops working")
        told.say(
            "The failed job belongs to a CronJob now. Deleting it, as the lesson says, does not help: it comes back."
        )
        alert = self._alert(_FAILING)
        for number in range(1, _THRESHOLD + 1):
            await self._follow(alert, error=f"job {alert.current_task_context['job']} has failed again")
            told.say(f"Agent {number} does what the lesson says, and reports a failure.")
        queue = await self._service.queue()
        self._show_flagged(queue)
        told.expect(
            [one.title for one in queue] == [alert.lesson_title],
            f"With failure {_THRESHOLD} the lesson is back in the review queue, with its reason and its counts",
        )
        still = await self._ask(alert)
        told.expect(still is not None, "Until somebody decides it still matches (MG_REVIEWER_PATH_MODE=human_only)")

    def _show_flagged(self, queue: list[QueueItem]) -> None:
        flags = ("success", "failure", "pending")
        rows = [[one.title, one.reason, *(str((one.feedback or {}).get(flag, 0)) for flag in flags)] for one in queue]
        self._told.show(["Lesson", "Reason", "Success", "Failure", "Pending"], rows)

    async def a_person_repairs_it(self) -> None:
        told = self._told
        told.chapter("A person repairs it")
        alert = self._alert(_FAILING)
        for one in await self._service.queue():
            payload = {**(one.dsl_payload or {}), "instruction_template": _REPAIR}
            said = Said(reviewer="demo", note="jobs of a CronJob come back", version=one.version)
            after = await self._service.edit(one.id, LessonEdit(dsl_payload=payload), said)
            told.say(f"POST /lessons/{{id}}/edit: version {one.version} becomes {after.version}, promoted again.")
        repaired = await self._follow(alert)
        if repaired is not None:
            told.say("The next agent gets:")
            told.quote(repaired.instruction)
        works = repaired is not None and "CronJob" in repaired.instruction and not await self._service.queue()
        told.expect(works, "The repaired lesson matches, works, and is out of review")

    async def the_numbers(self) -> None:
        told = self._told
        told.chapter("What is known now")
        usage = await self._service.usage()
        titles = {one.id: one.title for one in await self._service.lessons(LessonFilter())}
        most_used = sorted(usage.by_lesson.items(), key=lambda item: -item[1].usage_count)[:4]
        rows = [[titles.get(lesson_id, lesson_id), *_counts(of_one)] for lesson_id, of_one in most_used]
        told.say("The metrics (GET /feedback/metrics/usage), of the lessons used most and of all:")
        told.show(_METRICS, [*rows, [f"all {len(usage.by_lesson)} that were used", *_counts(usage.overall)]])
        told.expect(
            usage.overall.failure == _THRESHOLD and usage.overall.success == len(self._alerts) + 1,
            "Every report has been counted, each once",
        )

    def _alert(self, problem_type: str) -> Alert:
        return next(one for one in self._alerts if one.problem_type == problem_type)

    async def _ask(self, alert: Alert) -> ApplierOutcome | None:
        """Invokes and reports nothing."""
        self._step += 1
        return await self._hook.invoke(
            session_id="demo",
            problem_solving_step_ref=f"step-{self._step}",
            problem_type=alert.problem_type,
            current_task_context=alert.current_task_context,
            on_no_match=None,
        )

    async def _follow(self, alert: Alert, *, error: str | None = None) -> ApplierOutcome | None:
        """Invokes, and reports a success, or a failure with `error`."""
        self._step += 1
        async with self._hook.step(
            session_id="demo",
            problem_solving_step_ref=f"step-{self._step}",
            problem_type=alert.problem_type,
            current_task_context=alert.current_task_context,
        ) as step:
            if error is not None:
                step.fail(detail={"error": error})
        return step.outcome

    async def _missed(self, problem_type: str) -> bool:
        """Whether the miss is counted; that happens off the request's path, so a moment later."""
        for _ in range(_PATIENCE):
            if problem_type in {one.problem_type for one in await self._service.misses(limit=100)}:
                return True
            await anyio.sleep(0.1)
        return False


def _title(outcome: ApplierOutcome | None) -> str:
    return "" if outcome is None else str(outcome.match_result.raw_payload["title"])


def _found(alert: Alert, outcome: ApplierOutcome | None) -> list[str]:
    if outcome is None:
        return [alert.problem_type, "nothing", ""]
    match = outcome.match_result
    by = "rule" if match.matcher_used == "dsl" else f"similar {match.confidence:.2f}"
    return [alert.problem_type, by, outcome.action]


def _counts(usage: Usage) -> list[str]:
    rate = "" if usage.success_rate is None else f"{usage.success_rate:.0%}"
    return [str(usage.success), str(usage.failure), str(usage.pending), rate]


_BINS = {Bin.SKILLS: "Skills store", Bin.KNOWLEDGE: "Knowledge Base"}
_FINDINGS = ["Alert", "Found by", "Action"]
_METRICS = ["Lesson", "Success", "Failure", "Pending", "Success rate"]
_PATIENCE = 50
