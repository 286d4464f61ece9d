"""The settings, as users import them."""

from entrypoints.settings import Settings

__all__ = ["Settings"]
