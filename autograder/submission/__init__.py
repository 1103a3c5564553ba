"""What students submit, found and read: one module text per exercise, or what is wrong with it."""

from .find import Found, Skipped, Submission, find_submissions, submission_at
from .missing import about_strange
from .notebook import module_of_notebook
from .read import SubmittedExercise, is_submitted, read_exercise, submission_digest, unreadable
from .unanswered import is_unanswered

__all__ = [
    "SubmittedExercise",
    "Found",
    "Skipped",
    "Submission",
    "about_strange",
    "find_submissions",
    "is_submitted",
    "is_unanswered",
    "module_of_notebook",
    "read_exercise",
    "submission_at",
    "submission_digest",
    "unreadable",
]
