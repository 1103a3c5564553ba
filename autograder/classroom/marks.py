"""Reads a class's graders from `graders.csv`, and stores their entries in `marked.csv`.

The points and comments themselves are in nbgrader's gradebook, which does not record who entered
them. Therefore, `marked.csv` contains the history of all entries made with `autograder mark`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from ..errors import UserError
from .people import Roster
from .tables import change_table, read_table

MARKED_FILE, GRADERS_FILE = "marked.csv", "graders.csv"
_GRADERS_COLUMNS = ("question", "grader")


@dataclass(frozen=True, slots=True)
class Mark:
    """An entry that a grader made.

    `question` is `exercise/question`, or empty if the entry is about the whole assignment.
    """

    student: str
    assignment: str
    question: str
    points: str
    comment: str
    answer: str
    by: str
    at: str


_COLUMNS = tuple(field.name for field in fields(Mark))


def read_marks(class_folder: Path) -> tuple[Mark, ...]:
    """Returns graders' entries, oldest first; raises `UserError` for a malformed table."""
    return tuple(Mark(**row) for row in read_table(class_folder / MARKED_FILE, _COLUMNS))


def keep_mark(class_folder: Path, mark: Mark) -> None:
    change_table(class_folder / MARKED_FILE, _COLUMNS, lambda rows: [*rows, asdict(mark)])


class Graders:
    """Finds an answer's grader: the question's grader or, if it has none, the student's grader."""

    def __init__(self, by_question: Mapping[str, str], roster: Roster) -> None:
        self._by_question, self._roster = by_question, roster

    @property
    def names(self) -> frozenset[str]:
        of_people = {person.grader for person in self._roster.people}
        return frozenset({*self._by_question.values(), *of_people} - {""})

    def of(self, student: str, question: str) -> str:
        """Returns the grader of an answer to `exercise/question`, or "" if there is none."""
        exercise = question.partition("/")[0]
        if found := self._by_question.get(question) or self._by_question.get(exercise):
            return found
        person = self._roster.person(student)
        return person.grader if person else ""


def read_graders(class_folder: Path, roster: Roster) -> Graders:
    """Returns a class's graders; `graders.csv` assigns graders to exercises and questions.

    A question is written as `exercise/question`. Raises `UserError` if an exercise or question
    occurs twice.
    """
    path = class_folder / GRADERS_FILE
    found: dict[str, str] = {}
    for row in read_table(path, _GRADERS_COLUMNS):
        question = row["question"].strip()
        if question in found:
            raise UserError(f"{path}: {question!r} occurs twice: remove one of the rows")
        found[question] = row["grader"].strip()
    return Graders(found, roster)
