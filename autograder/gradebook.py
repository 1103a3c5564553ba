"""Provides `configure`, which classes' nbgrader configurations have imported since 1.0."""

from .nbgrader import configure

__all__ = ["configure"]
