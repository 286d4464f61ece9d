"""Two shapes that every context shares."""

from __future__ import annotations

from typing import Annotated

import msgspec

#: A JSON object whose content is somebody else's.
JsonObject = dict[str, object]

#: An id of the caller's: any Unicode but control characters; compared exactly, down to case and trailing spaces.
CallerId = Annotated[
    str, msgspec.Meta(min_length=1, max_length=255, pattern="^[^\\u0000-\\u001f\\u007f-\\u009f]+(?!\\n)$")
]
