"""Where the nbgrader configuration of a class finds `configure`, since version 1.0."""

from .nbgrader import configure

__all__ = ["configure"]
