"""The command line's page, from the commands' own help."""

from __future__ import annotations

import os
import subprocess
import sys

from tools.docs.markdown import WRITTEN, page


def command_page() -> str:
    return page(WRITTEN, "# Command line", "The command line is on its way.")
