"""The service as a library, as users import it."""

from entrypoints.library import Dependencies, LearnerDependencies, build_dependencies

__all__ = ["Dependencies", "LearnerDependencies", "build_dependencies"]
