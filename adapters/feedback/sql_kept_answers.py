"""The answers that the feedback database keeps for repeated keys, on SQLAlchemy."""

from __future__ import annotations

from adapters.feedback.batch import REQUESTS
from adapters.sql.database import Database
from application.feedback.ports import KeptAnswers


class SqlKeptAnswers(KeptAnswers):
    def __init__(self, *, database: Database) -> None:
        self._database = database

    async def erase_mentions(self, text: str) -> None:
        await REQUESTS.blank_mentions_in_portions(self._database, text)
