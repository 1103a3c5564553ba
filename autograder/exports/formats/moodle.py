"""Writes Moodle's offline grading worksheets, one for each assignment.

Moodle reads the columns Identifier, Grade, Last modified (grade) and Feedback comments. The number
in `Participant 12345` identifies a student in only one assignment. Moodle therefore accepts only a
copy of its own worksheet: download the worksheet from the assignment, and use it as the roster.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

from ...errors import UserError
from ...escaping import for_file_name, for_html
from ...records import QuestionResult, SubmissionResult, SubmissionStatus, Verdict
from ...results.last import keys_of, results_of
from ...results.manual import HumanWork
from ...results.wording import VERDICT_WORDS, grader_texts, penalty_text, points_text
from ..class_grades import Grades
from ..export_tables import Exported, number, same_number, write_csv
from ..roster import Platform, Roster, Row, label, match_grades

DEFAULT = "grades.moodle"

_IDENTIFIER, _NAME, _GRADE, _MAXIMUM = "Identifier", "Full name", "Grade", "Maximum Grade"
_CAN_CHANGE, _COMMENT = "Grade can be changed", "Feedback comments"
_COLUMNS = (
    *(_IDENTIFIER, _NAME, "Email address", "Status", _GRADE, _MAXIMUM, _CAN_CHANGE),
    *("Last modified (submission)", "Last modified (grade)", _COMMENT),
)


def write(grades: Grades, path: Path) -> Exported:
    """Writes a folder with a readable worksheet for each assignment, without identifiers."""
    for name in grades.assignments:
        write_csv(chain([_COLUMNS], _new_rows(grades, name)), path / for_file_name(name, ".csv"))
    note = (
        "these worksheets have no identifiers, so Moodle accepts none of them: download the "
        "assignment's grading worksheet and pass it as --roster"
    )
    return Exported(path, (note,) if grades.results else (), waits=bool(grades.results))


def write_with_roster(grades: Grades, path: Path, roster: Roster) -> Exported:
    """Writes a copy of Moodle's own worksheet, with grades and comments added."""
    roster.must_be_of(Platform.MOODLE)
    graded = grades.results
    names = sorted(grades.assignments)
    if len(names) > 1:
        raise UserError(
            f"{roster.path} is the worksheet for one assignment, but there are results for "
            f"{', '.join(names)}: choose one with --assignment"
        )
    own = {student: place for place, (student, _) in enumerate(keys_of(graded))}
    columns = [*roster.columns, *([] if _COMMENT in roster.columns else [_COMMENT])]
    matching = match_grades(roster, grades)
    rows: list[Sequence[str]] = [[roster.headings.get(column, column) for column in columns]]
    doubts: dict[str, None] = {}  # a set that keeps its order
    for position, person in enumerate(roster.people):
        assignment = names[0] if names else ""
        student = matching.name_of(position, assignment)
        result = graded[own[student]] if student in own else None
        if student is None:
            row = dict(person)
        elif result is None:
            before = person.get(_GRADE, "")
            row = {**person, _GRADE: grades.missing_cell(student, assignment, before)}
        else:
            row = {**person, **_judged(result, grades.human)}
        rows.append([row.get(column, "") for column in columns])
        if result is not None:
            doubts |= dict.fromkeys(_doubts(person, result))
    for student in matching.left_over:
        row = _new_row(graded[own[student]], grades.human)
        rows.append([row.get(column, "") for column in columns])
    target = path / for_file_name(names[0], ".csv") if names and path.suffix != ".csv" else path
    waits = bool(matching.doubts or doubts)
    return Exported(write_csv(rows, target), (*matching.notes, *doubts), waits)


def _new_rows(grades: Grades, assignment: str) -> Iterator[list[str]]:
    for result in results_of(grades.results, lambda key: key[1] == assignment):
        row = _new_row(result, grades.human)
        yield [row.get(column, "") for column in _COLUMNS]


def _new_row(result: SubmissionResult, human: HumanWork) -> dict[str, str]:
    return {
        _NAME: result.student,
        _MAXIMUM: number(result.max_score),
        _CAN_CHANGE: "Yes",
        **_judged(result, human),
    }


def _judged(result: SubmissionResult, human: HumanWork) -> Mapping[str, str]:
    """Returns the cells for the grade and the comment, or no cells if the grader failed."""
    if result.status is SubmissionStatus.FAILED:
        return {}
    return {_GRADE: number(result.score), _COMMENT: _comment(result, human)}


def _comment(result: SubmissionResult, human: HumanWork) -> str:
    """Returns the comment with all text escaped, because Moodle shows it as HTML."""
    lines = [penalty_text(human.penalty(result))]
    for exercise, question in result.questions():
        by_hand = grader_texts(human.of(result, exercise.exercise, question.question))
        lines.append(" ".join([f"{exercise.exercise}/{_question(question)}", *by_hand]))
    return "<br>".join(for_html(" ".join(line.split())) for line in lines if line)


def _question(question: QuestionResult) -> str:
    points = points_text(question.score, question.max_score)
    text = f"{question.question}: {points}. {VERDICT_WORDS[question.verdict]}."
    if question.hint and question.verdict is not Verdict.CORRECT:
        text += f" {question.hint}"
    return text


def _doubts(person: Row, result: SubmissionResult) -> Iterable[str]:
    theirs = person.get(_MAXIMUM, "").strip()
    if theirs and not same_number(theirs, result.max_score):
        yield (
            f"the maximum grade is {theirs} in Moodle and {number(result.max_score)} here: change "
            "it there; otherwise, the grades mean something different"
        )
    if person.get(_CAN_CHANGE, "Yes").strip() == "No":
        yield f"Moodle says that the grade of {label(person)} can't be changed"
