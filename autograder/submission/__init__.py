"""Finds submissions, and reads each exercise as the text of a module, or says why it can't."""

from .intake import (
    ARCHIVES,
    CODE,
    LOOK,
    NOISE,
    FoundSubmissions,
    Submission,
    find_submissions,
    is_answer,
    missing_file_note,
    standard_name,
    submission_at,
    unused_notes,
)
from .notebook import module_of_notebook
from .opened import Stamps, is_notebook, require_unchanged, stamps_of
from .read import (
    NAMED_AS_MODULE,
    SubmittedExercise,
    answers_nothing,
    counted_files,
    is_submitted,
    read_exercise,
    submission_digest,
    unreadable,
    without_magic,
)
from .text import is_unanswered, without_copies
