"""The `configure` that nbgrader configurations of classes import, since version 1.0."""

from .nbgrader import configure

__all__ = ["configure"]
