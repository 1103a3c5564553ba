"""nbgrader's gradebook, in SQLite or PostgreSQL: filled from results, and read back."""

from .arrivals import class_duedates, class_lateness, set_extension
from .others import graded_elsewhere
from .reading import human_work
from .recording import Note, RecordSummary, record, record_into

__all__ = [
    "Note",
    "RecordSummary",
    "class_duedates",
    "class_lateness",
    "graded_elsewhere",
    "human_work",
    "record",
    "record_into",
    "set_extension",
]
