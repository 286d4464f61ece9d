"""The command line's page, from the commands' own help."""

from __future__ import annotations

from tools.docs.markdown import WRITTEN, page


def command_page() -> str:
    return page(WRITTEN, "# Command line", "The command line is on its way.")
