"""A course on disk becomes records: its exercises, what tests are worth, what is released."""

from .content import (
    BEGIN_SOLUTION,
    END_SOLUTION,
    Course,
    find_root,
    TABLES,
    graded_files,
    load_course,
)
from .sentences import mistake_sentences
from .todo import refuse_unfinished

__all__ = [
    "BEGIN_SOLUTION",
    "END_SOLUTION",
    "TABLES",
    "Course",
    "find_root",
    "graded_files",
    "load_course",
    "mistake_sentences",
    "refuse_unfinished",
]
