"""nbgrader's gradebook, in SQLite or PostgreSQL: filled from results, and read back."""

from .human_entries import cells_to_grade, enter_grade, human_work
from .lateness import class_duedates, class_lateness, class_penalty, set_extension
from .others import graded_elsewhere
from .recording import Note, RecordSummary, record, record_into

__all__ = [
    "Note",
    "RecordSummary",
    "cells_to_grade",
    "class_duedates",
    "class_lateness",
    "class_penalty",
    "enter_grade",
    "graded_elsewhere",
    "human_work",
    "record",
    "record_into",
    "set_extension",
]
