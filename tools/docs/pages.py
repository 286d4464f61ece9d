"""Which files are generated, and from what."""

from __future__ import annotations

from pathlib import Path

from tools.docs.commands import command_page
from tools.docs.errors import errors_page
from tools.docs.hook import hook_page
from tools.docs.http_api import http_page, openapi_json
from tools.docs.measured import with_figures
from tools.docs.picture import loop_picture
from tools.docs.settings import env_example, settings_page


def generated(root: Path) -> dict[Path, str]:
    """Every generated file with its text as it should be."""
    docs = root / "docs"
    found = {
        docs / "images" / "loop.svg": loop_picture(),
        docs / "reference" / "settings.md": settings_page(),
        docs / "reference" / "http-api.md": http_page(),
        docs / "reference" / "openapi.json": openapi_json(),
        docs / "reference" / "errors.md": errors_page(),
        docs / "reference" / "hook-client.md": hook_page(),
        docs / "reference" / "cli.md": command_page(),
        root / "config" / "env.example": env_example(),
    }
    filled = ("matching.md", "deploy.md", "how-to/langgraph.md", "how-to/anthropic.md")
    for page in (docs / name for name in filled if (docs / name).is_file()):
        found[page] = with_figures(page.read_text(encoding="utf-8"), root / "tests" / "bench" / "results")
    return found
