"""Writes the generated parts of the documentation: `python -m tools.docs`, or `--check` to see what has fallen behind."""
