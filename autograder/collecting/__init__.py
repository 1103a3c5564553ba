"""Brings what learning platforms and code classrooms give into nbgrader's layout."""

from .collect import CollectReport, HandIn, collect
from .logins import read_logins
from .members import Refused

__all__ = ["CollectReport", "HandIn", "Refused", "collect", "read_logins"]
