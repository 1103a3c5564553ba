"""What students run: checks in the notebook, checks and progress of a folder.

Needs no sandbox, ships nothing hidden, and works on every system that torch works on.
"""

from .display import readable
from .folder import check_folder, status
from .hints import Hint, next_hint
from .notebook import check
from .results import CheckedExercise, CheckedQuestion, CheckedTest, Progress, Standing
from .watch import saved_exercises

__all__ = [
    "CheckedExercise",
    "CheckedQuestion",
    "CheckedTest",
    "Hint",
    "Progress",
    "Standing",
    "check",
    "check_folder",
    "next_hint",
    "readable",
    "saved_exercises",
    "status",
]
