"""`python -m entrypoints.demo`: the same as `memorygrid demo`."""

import sys

from entrypoints.cli.main import main

main(["demo", *sys.argv[1:]])
