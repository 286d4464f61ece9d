"""Feedback, as users import it."""

from domain.feedback.entry import FailureClass, ResultFlag
from domain.feedback.entry import FeedbackEntry as FeedbackDBEntry

__all__ = ["FailureClass", "FeedbackDBEntry", "ResultFlag"]
