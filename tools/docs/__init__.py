"""Writes the generated parts of the documentation: `python -m tools.docs`; `--check` names what is not up to date."""
