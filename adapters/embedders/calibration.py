"""How similar texts must be, for a model that nobody has measured, before one is likely to answer the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

#: A problem as somebody reports it, and the lesson that answers it; each pair is from another field than all others.
PAIRS: Final = (
    ("uploading the quarterly report keeps failing with a timeout", "Retry uploads with exponential backoff"),
    ("customer asks which plan includes single sign-on", "Pricing tiers and what each plan contains"),
    ("two transactions block each other and one is rolled back", "Resolve deadlocks by taking locks in one order"),
    ("browser warns that the site's certificate has expired", "Renew TLS certificates before they run out"),
    ("our newsletter ends up in the spam folder", "Set up SPF, DKIM and DMARC for outgoing mail"),
    ("the loaf is dense and did not rise", "Check the yeast and let bread dough proof longer"),
    ("leaves of the tomato plants turn yellow from below", "Feed nitrogen to tomatoes and water them evenly"),
    (
        "training stops because the graphics card has no memory left",
        "Lower the batch size when the GPU runs out of memory",
    ),
    ("passenger wants money back for a cancelled flight", "Refund rules for flights that were called off"),
    ("rear wheel rubs against the brake pad", "Centre a bicycle's brake caliper and true the wheel"),
    (
        "invoice shows the wrong VAT rate for a client abroad",
        "Reverse charge: value added tax across borders",
    ),
    ("the patient forgot to take the evening tablet", "What to do about a missed dose of medication"),
    ("radiator stays cold although the heating is on", "Bleed air from a radiator"),
    ("pupils mix up its and it's in their essays", "Teach the apostrophe: possessives and contractions"),
    ("the tenant has not paid rent for two months", "Send a formal reminder before ending a lease"),
    ("espresso runs through too fast and tastes sour", "Grind coffee finer and tamp it evenly"),
)


def texts_to_calibrate_with() -> list[str]:
    """The reports, then the lessons in the same order."""
    reports, lessons = zip(*PAIRS, strict=True)
    return [*reports, *lessons]


def measured_floor(vectors: Sequence[bytes]) -> float:
    """Half-way between what half of the reports have with their lesson, and what nearly all have at most with others.

    For all-MiniLM-L6-v2 that is 0.37, where measurements allow 0.36 to 0.5. `vectors` are those of
    `texts_to_calibrate_with`, of length 1.
    """
    matrix = np.array([np.frombuffer(vector, "<f4") for vector in vectors], np.float64)
    cosines = matrix[: len(PAIRS)] @ matrix[len(PAIRS) :].T
    own = float(np.median(np.diagonal(cosines)))
    others = float(np.percentile(np.max(cosines - 2 * np.eye(len(PAIRS)), axis=1), 95))
    return min(max((own + others) / 2, 0.0), 0.99)
