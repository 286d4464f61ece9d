"""Faults on purpose: kills, stopped servers, full disks, hanging neighbours, while real clients use the real service.

`FAULTS=long` chooses the long form; `FAULTS_RESULTS=<file>` keeps what was counted, for `tests.faults.table`.
"""
