"""The one name for a JSON object whose content is somebody else's."""

from __future__ import annotations

JsonObject = dict[str, object]
