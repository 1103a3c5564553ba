"""Reads a course from disk: its exercises, the points for its tests, and its released files."""

from .content import (
    BEGIN_SOLUTION,
    END_SOLUTION,
    Course,
    find_root,
    TABLES,
    graded_files,
    load_course,
    words_of,
)
from .ways import mistake_sentences
from .todo import refuse_unfinished
