"""Brings downloads from learning platforms and code classrooms into nbgrader's layout."""

from .clones import read_logins
from .collection import CollectOptions, CollectReport, collect
from .downloaded import Refused
from .issues import FoundRequest, read_asked
from .placing import Collected, Ends, Outcome, earlier_place, is_collected
from .platform_times import Times, read_times
from .platforms import CANVAS, MOODLE, Owner
from .transaction import Undone, collecting_alone, undo

__all__ = [
    "CANVAS",
    "MOODLE",
    "FoundRequest",
    "CollectOptions",
    "CollectReport",
    "Collected",
    "Ends",
    "Outcome",
    "Owner",
    "Refused",
    "Times",
    "Undone",
    "collect",
    "collecting_alone",
    "earlier_place",
    "is_collected",
    "read_asked",
    "read_logins",
    "read_times",
    "undo",
]
