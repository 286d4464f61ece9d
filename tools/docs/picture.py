"""The loop as a picture: boxes and arrows in SVG, with plain fonts and colours that can be told apart in grey."""

from __future__ import annotations

from typing import NamedTuple

_WIDTH, _HEIGHT = 900, 410
_BOX_W, _BOX_H = 168, 76


class Box(NamedTuple):
    x: int
    y: int
    title: str
    lines: tuple[str, ...]
    fill: str


_LEARNER, _INCORPORATOR, _HOST = "#e3eefc", "#e6f4e6", "#fdf0d5"

_BOXES = (
    Box(36, 86, "Review", ("a person promotes,", "edits or rejects"), _LEARNER),
    Box(256, 86, "Promoted lessons", ("Skills store,", "Knowledge Base"), _LEARNER),
    Box(476, 86, "Match", ("rules, then similarity", "and language model"), _INCORPORATOR),
    Box(696, 86, "Apply", ("action and", "instruction"), _INCORPORATOR),
    Box(696, 268, "Your pipeline", ("executes the action,", "sees how it went"), _HOST),
    Box(476, 268, "Feedback", ("an entry per selection,", "counters per lesson"), _INCORPORATOR),
    Box(256, 268, "Escalate", ("after 3 failures", "of one lesson"), _INCORPORATOR),
)


class Arrow(NamedTuple):
    start: tuple[int, int]
    end: tuple[int, int]
    label: str
    at: tuple[int, int]
    anchor: str = "middle"


_ARROWS = (
    Arrow((204, 124), (256, 124), "", (0, 0)),
    Arrow((424, 124), (476, 124), "", (0, 0)),
    Arrow((644, 124), (696, 124), "", (0, 0)),
    Arrow((780, 162), (780, 268), "answer of invoke", (772, 220), "end"),
    Arrow((696, 306), (644, 306), "outcome", (670, 260)),
    Arrow((476, 306), (424, 306), "", (0, 0)),
    Arrow((120, 306), (120, 162), "back to review,", (128, 226), "start"),
    Arrow((120, 40), (120, 86), "inject: agents and people write lessons", (130, 60), "start"),
    Arrow((560, 40), (560, 86), "invoke: a problem, at a step", (570, 60), "start"),
)


def loop_picture() -> str:
    """The whole picture as SVG."""
    fonts = 'font-family="Helvetica, Arial, sans-serif" font-size="13"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" {fonts}>',
        "<title>The loop: review, promote, match, apply, execute, report, escalate, review again</title>",
        '<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto">',
        '<path d="M0 0 L10 5 L0 10 z" fill="#444"/></marker></defs>',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" rx="10" fill="#ffffff"/>',
        *map(_box, _BOXES),
        *map(_arrow, _ARROWS),
        '<path d="M256 306 H120" fill="none" stroke="#444" stroke-width="1.6"/>',
        _text(128, 244, "or disabled at once", "start", "#444"),
        *_legend(),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _box(box: Box) -> str:
    middle = box.x + _BOX_W // 2
    place = f'x="{box.x}" y="{box.y}" width="{_BOX_W}" height="{_BOX_H}"'
    frame = f'<rect {place} rx="8" fill="{box.fill}" stroke="#444" stroke-width="1.2"/>'
    style = 'text-anchor="middle" font-size="15" font-weight="bold" fill="#111"'
    title = f'<text x="{middle}" y="{box.y + 24}" {style}>{box.title}</text>'
    lines = [_text(middle, box.y + 44 + 18 * n, line, "middle", "#333") for n, line in enumerate(box.lines)]
    return "\n".join([frame, title, *lines])


def _arrow(arrow: Arrow) -> str:
    (x1, y1), (x2, y2) = arrow.start, arrow.end
    line = f'<path d="M{x1} {y1} L{x2} {y2}" stroke="#444" stroke-width="1.6" marker-end="url(#tip)"/>'
    return line + (_text(*arrow.at, arrow.label, arrow.anchor, "#444") if arrow.label else "")


def _text(x: int, y: int, text: str, anchor: str, fill: str) -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="{fill}">{text}</text>'


def _legend() -> list[str]:
    names = ((_LEARNER, "Learner"), (_INCORPORATOR, "Incorporator"), (_HOST, "host"))
    found = []
    for number, (fill, name) in enumerate(names):
        x = 36 + 120 * number
        found.append(f'<rect x="{x}" y="376" width="16" height="16" rx="3" fill="{fill}" stroke="#444"/>')
        found.append(_text(x + 24, 389, name, "start", "#444"))
    return found
