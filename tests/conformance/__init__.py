"""Runs a black-box suite, which starts the service by itself in folders of its own, on other engines than the default.

`python -m tests.conformance SUITE postgres+pgvector …`; `make conformance SUITE=…` does it on every engine.
"""
