"""Results of submissions: the file, what counts, what needs a look, manual work, wording."""

from .changes import Attempts, Cause, Change, Doubt, Score
from .file import ResultsFile, read_results
from .manual import HumanGrade, HumanWork, with_human_work
from .review import latest, reasons_to_look
from .wording import (
    NEXT_STEPS,
    VERDICT_WORDS,
    amount,
    exercise_advice,
    readable,
    readable_test,
    shortened,
)

__all__ = [
    "NEXT_STEPS",
    "VERDICT_WORDS",
    "Attempts",
    "Cause",
    "Change",
    "Doubt",
    "HumanGrade",
    "HumanWork",
    "ResultsFile",
    "Score",
    "amount",
    "exercise_advice",
    "latest",
    "read_results",
    "readable",
    "readable_test",
    "reasons_to_look",
    "shortened",
    "with_human_work",
]
