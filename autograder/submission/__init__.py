"""Finds and reads what students submit: one module text per exercise, or what is wrong with it."""

from .find import FoundSubmissions, Submission, find_submissions, submission_at
from .intake import (
    CODE,
    LOOK,
    NOISE,
    is_answer,
    missing_file_note,
    standard_name,
    unused_notes,
)
from .notebook import module_of_notebook
from .opened import Stamps, is_notebook, require_unchanged, stamps_of
from .read import (
    NAMED_AS_MODULE,
    SubmittedExercise,
    counted_files,
    is_submitted,
    read_exercise,
    submission_digest,
    unreadable,
    without_magic,
)
from .unanswered import is_unanswered, without_copies
