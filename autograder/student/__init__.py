"""What students run: checks in the notebook, checks and progress of a folder.

Needs no sandbox, ships nothing hidden, and works on every system that torch works on.
"""

from .folder import check_folder, status
from .notebook import check
from .results import CheckedExercise, CheckedQuestion, CheckedTest, Progress, Standing

__all__ = [
    "CheckedExercise",
    "CheckedQuestion",
    "CheckedTest",
    "Progress",
    "Standing",
    "check",
    "check_folder",
    "status",
]
