"""How lessons are shown to people."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from rich.text import Text

from domain.learner.lesson import Status
from entrypoints.cli.lesson_files.kept import without_kept
from entrypoints.cli.terminal import moment, on_one_line, plain, print_fields, print_table, say
from entrypoints.http.lesson_wire import LessonAnswer, LogAnswer, QueueItem

_STYLES = {Status.PROMOTED: "green", Status.PENDING_REVIEW: "yellow", Status.REJECTED: "red", Status.DISABLED: "red"}


def status(lesson: LessonAnswer) -> Text:
    return Text(lesson.status.value, _STYLES[lesson.status])


def lesson_table(lessons: Sequence[LessonAnswer]) -> None:
    rows = [
        (one.id, status(one), one.bin.value, on_one_line(one.title), str(one.version), moment(one.updated_at))
        for one in lessons
    ]
    print_table(["Id", "Status", "Bin", "Title", "Version", "Updated (UTC)"], rows, whole=["Id"])


def queue_table(queue: Sequence[QueueItem]) -> None:
    rows = [
        (one.id, one.bin.value, on_one_line(one.title), on_one_line(one.reason), counts(one), moment(one.updated_at))
        for one in queue
    ]
    print_table(["Id", "Bin", "Title", "Reason", "Outcomes", "Since (UTC)"], rows, whole=["Id"])


def counts(item: QueueItem) -> str:
    """A flagged lesson's outcomes in this review round; empty for one that has just come in."""
    if item.feedback is msgspec.UNSET:
        return ""
    return ", ".join(f"{item.feedback.get(flag, 0)} {flag}" for flag in ("success", "failure", "pending"))


def lesson_sheet(lesson: LessonAnswer) -> None:
    """The lesson in full."""
    own = without_kept(lesson.dsl_payload)
    payload = "" if own is None else msgspec.json.encode(own).decode()
    print_fields(
        [
            ("Title", plain(on_one_line(lesson.title), "bold")),
            ("Id", lesson.id),
            ("Bin", lesson.bin.value),
            ("Status", status(lesson)),
            ("Version", f"{lesson.version}, review round {lesson.review_round}"),
            ("Tags", on_one_line(", ".join(lesson.tags))),
            ("Payload", payload),
            ("Source", on_one_line(lesson.source)),
            ("Created", f"{moment(lesson.created_at)} UTC"),
            ("Updated", f"{moment(lesson.updated_at)} UTC"),
        ]
    )
    say()
    say(lesson.body)


def log_table(log: Sequence[LogAnswer]) -> None:
    rows = [(moment(one.at), one.event.value, on_one_line(one.actor), on_one_line(_details(one.detail))) for one in log]
    print_table(["At (UTC)", "Event", "By", "Detail"], rows)


def _details(detail: dict[str, object]) -> str:
    def shown(value: object) -> str:
        return value if isinstance(value, str) else msgspec.json.encode(value).decode()

    return "; ".join(f"{name}: {shown(value)}" for name, value in detail.items())
