"""What a language model may answer."""

from __future__ import annotations

import json


def chooses(lesson_id: str | None, confidence: object = 0.8) -> str:
    return json.dumps({"lesson_id": lesson_id, "confidence": confidence})


def does(action: str = "wait", instruction: str = "Wait a minute.") -> str:
    return json.dumps({"action": action, "instruction": instruction})
