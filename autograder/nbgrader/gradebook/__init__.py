"""nbgrader's gradebook, in SQLite or PostgreSQL: filled from results, read back."""

from .reading import human_work
from .recording import Note, RecordSummary, record, record_into

__all__ = ["Note", "RecordSummary", "human_work", "record", "record_into"]
