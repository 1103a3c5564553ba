"""Provides `configure`, which each class's `nbgrader_config.py` imports from here."""

from .nbgrader import configure

__all__ = ["configure"]
