"""A course on disk becomes records: its exercises, what tests are worth, what is released."""

from .content import (
    BEGIN_SOLUTION,
    END_SOLUTION,
    Course,
    find_root,
    graded_files,
    load_course,
)
from .todo import refuse_unfinished

__all__ = [
    "BEGIN_SOLUTION",
    "END_SOLUTION",
    "Course",
    "find_root",
    "graded_files",
    "load_course",
    "refuse_unfinished",
]
