"""Brings downloads from learning platforms and code classrooms into nbgrader's layout."""

from .collect import CollectOptions, CollectReport, collect
from .downloaded import Refused
from .logins import read_logins
from .placing import EARLIER, Collected, Ends, Outcome
from .times import Times, read_times
from .transaction import Undone, undo

__all__ = [
    "EARLIER",
    "CollectOptions",
    "CollectReport",
    "Collected",
    "Ends",
    "Outcome",
    "Refused",
    "Times",
    "Undone",
    "collect",
    "read_logins",
    "read_times",
    "undo",
]
