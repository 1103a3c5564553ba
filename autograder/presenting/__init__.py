"""What every page, table and notebook about results shares: words, names, order, answers."""

from .answers import Answers, read_answers, same_code, source_of
from .files import replace_file
from .human import HumanGrade, HumanWork, with_human_work
from .names import folder_name, handed_in, nbgrader_problem
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
    "Answers",
    "HumanGrade",
    "HumanWork",
    "amount",
    "exercise_advice",
    "folder_name",
    "handed_in",
    "latest",
    "nbgrader_problem",
    "read_answers",
    "readable",
    "readable_test",
    "reasons_to_look",
    "replace_file",
    "same_code",
    "source_of",
    "with_human_work",
    "shortened",
]
