"""The feedback database in memory."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import msgspec

from application.feedback.ports import (
    EntryFilter,
    EntryPage,
    FeedbackStore,
    KeptAnswers,
    RecordSelection,
    Reported,
    ReportOutcome,
)
from application.shared.ports import IdempotencyRecord, IdFactory
from domain.errors import UnknownEntry
from domain.feedback.entry import FeedbackEntry, OutcomeReport, no_selection, reported
from domain.feedback.escalation import Escalation, due_escalations
from domain.feedback.metrics import Counters, counted, total
from tests.fakes.cursors import page
from tests.fakes.fake_outbox import FakeOutbox, Lease
from tests.fakes.idempotency import KeptAnswers as Kept
from tests.fakes.reachable import Reachable


class FakeKeptAnswers(KeptAnswers):
    """`kept` is what the store has kept."""

    def __init__(self) -> None:
        self.kept = Kept()

    async def erase_mentions(self, text: str) -> None:
        self.kept.blank_mentions(text)


class FakeFeedbackStore(Reachable, FeedbackStore):
    """Every command is carried out in one go, once it has been reached. See `Reachable` for how it fails."""

    def __init__(self, *, outbox: FakeOutbox, new_id: IdFactory) -> None:
        super().__init__()
        self._outbox = outbox
        self._new_id = new_id
        self._entries: dict[int, FeedbackEntry] = {}
        self._stored = 0
        self._counters: dict[tuple[str, int], Counters] = {}
        self.answers = FakeKeptAnswers()
        self._answers = self.answers.kept

    async def record(self, command: RecordSelection) -> bytes | None:
        await self.reached("record")
        earlier = self._answers.find(command.request)
        if earlier is not None:
            return earlier
        msgspec.json.encode(command.entry)
        if any(entry.id == command.entry.id for entry in self._entries.values()):
            raise ValueError(f"two entries with the id {command.entry.id}")
        self._stored += 1
        self._entries[self._stored] = command.entry
        self._count(command.entry, counted(command.entry))
        self._answers.keep(command.request)
        return None

    async def report(self, command: ReportOutcome) -> Reported:
        await self.reached("report")
        earlier = self._answers.find(command.request)
        if earlier is not None:
            return Reported(entry=msgspec.json.decode(earlier, type=FeedbackEntry))
        number = self._meant(command.report)
        before = self._entries[number]
        after = reported(before, command.report, at=command.at)
        counters = self._count(after, counted(after) - counted(before))
        after = msgspec.structs.replace(after, failures_seen=counters.lesson_failures)
        self._entries[number] = after
        if command.request is not None:
            self._answers.keep(msgspec.structs.replace(command.request, answer=msgspec.json.encode(after)))
        return Reported(entry=after, escalations=self._escalated(command, after, counters))

    async def answered(self, request: IdempotencyRecord) -> bytes | None:
        await self.reached("answered")
        return self._answers.find(request)

    async def get(self, entry_id: str) -> FeedbackEntry:
        await self.reached("get")
        for entry in self._entries.values():
            if entry.id == entry_id:
                return entry
        raise UnknownEntry(f"no feedback entry has the id {entry_id!r}")

    async def page(self, where: EntryFilter, limit: int, cursor: str | None) -> EntryPage:
        await self.reached("page")
        rows = [(number, entry) for number, entry in self._entries.items() if _fits(entry, where)]
        entries, following = page(rows, limit, cursor)
        return EntryPage(entries=entries, next_cursor=following)

    async def counters(self, lesson_id: str | None = None) -> Mapping[str, Counters]:
        await self.reached("counters")
        lessons = {of for of, _ in self._counters if lesson_id in (None, of)}
        return {one: total(found for (of, _), found in self._counters.items() if of == one) for one in lessons}

    async def round_counters(self, lesson_id: str, review_round: int) -> Counters:
        await self.reached("round_counters")
        return self._counters.get((lesson_id, review_round), Counters())

    async def prune(self, before: datetime, limit: int) -> int:
        await self.reached("prune")
        old = [number for number, entry in self._entries.items() if entry.updated_at < before][:limit]
        for number in old:
            del self._entries[number]
        return len(old)

    async def forget_requests(self, before: datetime) -> None:
        await self.reached("forget_requests")
        self._answers.forget_older(before)

    def _meant(self, report: OutcomeReport) -> int:
        """The number of the entry that the report is about."""
        of_step = {
            number: entry
            for number, entry in self._entries.items()
            if entry.session_id == report.session_id
            and entry.problem_solving_step_ref == report.problem_solving_step_ref
            and report.outcome_id in (None, entry.transaction_log_ref)
        }
        if not of_step:
            raise no_selection(report)
        return max(of_step)

    def _count(self, entry: FeedbackEntry, change: Counters) -> Counters:
        key = (entry.lesson_skill_id, entry.review_round)
        self._counters[key] = self._counters.get(key, Counters()) + change
        return self._counters[key]

    def _escalated(self, command: ReportOutcome, entry: FeedbackEntry, counters: Counters) -> list[Escalation]:
        policy = command.policy
        if policy is None:
            return []
        due = due_escalations(entry, counters, policy, at=command.at, new_id=self._new_id)
        lease = Lease(owner=command.owner, until=command.leased_until)
        return self._outbox.write(due, {one.id: lease for one in due if one.path in policy.in_process})


def _fits(entry: FeedbackEntry, where: EntryFilter) -> bool:
    return (
        where.lesson_skill_id in (None, entry.lesson_skill_id)
        and where.session_id in (None, entry.session_id)
        and where.result_flag in (None, entry.result_flag)
    )
