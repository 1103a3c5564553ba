"""Finds and reads what students submit: one module text per exercise, or what is wrong with it."""

from .find import FoundSubmissions, SkippedEntry, Submission, find_submissions, submission_at
from .intake import (
    CODE,
    LOOK,
    NOISE,
    is_answer,
    missing_file_note,
    standard_name,
    unused_files,
    unused_notes,
)
from .notebook import module_of_notebook
from .opened import Stamps, require_unchanged, stamps_of
from .read import (
    SubmittedExercise,
    counted_files,
    is_submitted,
    read_exercise,
    submission_digest,
    unreadable,
    without_magic,
)
from .unanswered import is_unanswered, without_copies

__all__ = [
    "CODE",
    "LOOK",
    "NOISE",
    "SubmittedExercise",
    "FoundSubmissions",
    "SkippedEntry",
    "Stamps",
    "Submission",
    "missing_file_note",
    "counted_files",
    "find_submissions",
    "is_answer",
    "is_submitted",
    "is_unanswered",
    "module_of_notebook",
    "read_exercise",
    "require_unchanged",
    "stamps_of",
    "standard_name",
    "submission_at",
    "submission_digest",
    "unreadable",
    "unused_files",
    "unused_notes",
    "without_copies",
    "without_magic",
]
