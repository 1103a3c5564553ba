"""Brings what learning platforms and code classrooms give into nbgrader's layout."""

from .collect import CollectOptions, CollectReport, collect
from .downloaded import Refused
from .logins import read_logins
from .placing import EARLIER, Collected
from .times import Times, read_times

__all__ = [
    "EARLIER",
    "CollectOptions",
    "CollectReport",
    "Collected",
    "Refused",
    "Times",
    "collect",
    "read_logins",
    "read_times",
]
