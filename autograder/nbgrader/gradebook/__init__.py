"""Writes results into nbgrader's gradebook, in SQLite or PostgreSQL, and reads the gradebook."""

from .human_entries import cells_to_grade, enter_grade, human_work
from .lateness import (
    class_duedates,
    class_lateness,
    class_penalty,
    lateness_report,
    set_extension,
    take_late_days,
)
from .others import graded_elsewhere
from .recording import RecordSummary, record
