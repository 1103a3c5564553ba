"""Provides `configure` for each class's `nbgrader_config.py`, which imports it from here."""

from .nbgrader import configure

__all__ = ["configure"]
