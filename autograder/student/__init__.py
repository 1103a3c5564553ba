"""What students run: checks in the notebook, checks and progress of a folder.

Needs no sandbox, ships nothing hidden, and works on every system that torch works on.
"""

from .display import LOOKS, as_text, body_of, headline, readable
from .folder import check_folder, status, trace_folder
from .hints import Hint, afterwards, next_hint
from .notebook import check, hint, trace
from .results import CheckedExercise, CheckedQuestion, CheckedTest, Place, Progress, Standing
from .submitting import what_to_submit
from .watch import saved_exercises

__all__ = [
    "LOOKS",
    "CheckedExercise",
    "CheckedQuestion",
    "CheckedTest",
    "Hint",
    "Place",
    "Progress",
    "Standing",
    "afterwards",
    "as_text",
    "body_of",
    "check",
    "check_folder",
    "headline",
    "hint",
    "next_hint",
    "readable",
    "saved_exercises",
    "status",
    "trace",
    "trace_folder",
    "what_to_submit",
]
