"""Grades by hand from the command line: enters points, comments and answers to requests."""

from __future__ import annotations

import getpass
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ..classroom import (
    BankComment,
    Mark,
    answer_requests,
    keep_comment,
    keep_mark,
    read_bank,
    read_requests,
    utc_text,
)
from ..course import Course
from ..errors import UserError
from ..grading.sources import QuestionSelector, wanted_question
from ..records import Key
from ..results.last import results_of
from ..results.manual import QuestionKey, Request
from ..submission.class_files import existing_class
from .classes import known_student
from .courses import HERE, class_course
from .reading import last_class_results

#: the value of `points` that restores the automatic score
AUTOMATIC = "auto"


@dataclass(frozen=True, slots=True)
class EnteredMark:
    """A manual entry for one answer, and the requests that it answered."""

    mark: Mark
    answered: tuple[Request, ...]


@dataclass(frozen=True, slots=True)
class BankUse:
    """A comment in a class's bank, and the number of answers that use it.

    `is_missing` is true if graders used the name of a comment that is not in the bank.
    """

    comment: BankComment
    used: int
    is_missing: bool = False


def mark(
    class_folder: Path | str,
    student: str,
    question: str,
    *,
    points: float | str | None = None,
    comment: str | None = None,
    answer: str | None = None,
    by: str | None = None,
    course: Path | str = HERE,
) -> EnteredMark:
    """Enters points, a comment, or the reply to a request, for a student's answer to a question.

    Points and comments are stored in nbgrader's gradebook, as if they had been entered in
    formgrader, and the late penalty is recalculated. `points` may be "auto" to restore the
    automatic score. In a comment, `#name` stands for a comment in the class's bank. `answer` is the
    reply to a student's request for a second look. To reply to a request about a whole assignment,
    `question` may be the assignment's name. `by` is the grader (default: the current user's name).

        autograder.mark("course", "ada", "masking/causal_mask", points=1.5, comment="#diagonal")

    Raises `UserError` for an unknown student or question, for points outside the possible range,
    for a comment that is not in the bank, or if there is no request to answer.
    """
    folder = existing_class(class_folder)
    of_class = class_course(Path(course), folder)
    name = known_student(folder, of_class, student)
    if points is None and comment is None and not answer:
        raise UserError("nothing to enter: give points, a comment, or the answer to a request")
    wanted, assignment = _asked_question(of_class, question)
    asked = str(wanted) if wanted else ""
    if answer:
        _must_have_request(folder, (name, assignment), asked)
    if points is not None or comment is not None:
        if wanted is None:
            raise UserError(f"{question} is an assignment: name a question, as EXERCISE/QUESTION")
        key = name, wanted.assignment, wanted.exercise, wanted.question
        _enter(folder, of_class, key, points, comment)
    grader = by or getpass.getuser()
    text = "" if points is None else str(points)
    now = utc_text(datetime.now(UTC))
    made = Mark(name, assignment, asked, text, comment or "", answer or "", grader, now)
    keep_mark(folder, made)
    key_ = name, assignment
    return EnteredMark(made, answer_requests(folder, key_, asked, answer, grader) if answer else ())


def _asked_question(course: Course, name: str) -> tuple[QuestionSelector | None, str]:
    """Returns the named question and its assignment, or None and the named assignment."""
    if name in {assignment.name for assignment in course.assignments}:
        return None, name
    found = wanted_question(course.assignments, name)
    return found, found.assignment


def _must_have_request(folder: Path, key: Key, question: str) -> None:
    """Raises `UserError` if the student has no open request about the question."""
    own = [one for one in read_requests(folder) if one.key == key and one.is_open]
    if not any(one.question in ("", question) or not question for one in own):
        about = ", ".join(one.question for one in own)
        others = (
            f"; open requests: {about}" if own else "; autograder requests CLASS lists all requests"
        )
        raise UserError(f"{key[0]} has no open request for {question or key[1]}{others}")


def _enter(
    folder: Path, course: Course, key: QuestionKey, points: float | str | None, comment: str | None
) -> None:
    from ..nbgrader import enter_grade, record

    own = results_of(last_class_results(folder), lambda found: found == key[:2])
    most = {
        (exercise.exercise, question.question): question.max_score
        for result in own
        for exercise, question in result.questions()
    }.get(key[2:])
    if most is None:
        raise UserError(f"{'/'.join(key)} has not been graded yet")
    number = None if points in (None, AUTOMATIC) else _points(points, most)
    place = "/".join(key[2:])
    if comment and (unknown := read_bank(folder).unknown(comment, place)):
        raise UserError(
            f"the bank has no comment {', '.join(f'#{name}' for name in unknown)} for {place}; "
            f"to list its comments, run autograder comments {folder}; to add this one, run "
            f'autograder comments {folder} {unknown[0]} "TEXT" (if you did not mean a comment, '
            "write a space after the #)"
        )
    is_automatic = points == AUTOMATIC
    enter_grade(folder, key, points=number, is_automatic=is_automatic, comment=comment)
    if points is not None:
        record(course, folder, own)  # recompute the late penalty


def _points(entered: float | str | None, most: float) -> float:
    try:
        number = float(entered or 0)
    except ValueError:
        number = -1.0
    if not 0 <= number <= most:
        raise UserError(
            f"points {entered!r}: expected a number from 0 to {most:g}, or {AUTOMATIC!r}"
        )
    return number


def add_comment(
    class_folder: Path | str,
    name: str,
    text: str,
    *,
    question: str = "",
    course: Path | str = HERE,
) -> bool:
    """Adds a comment to a class's bank, or replaces its text; returns whether the comment is new.

    Without `question`, the comment may be used for every question.

        autograder.add_comment("course", "diagonal", "Position i attends to itself.")

    Raises `UserError` for an unknown question, or a name that contains anything but letters,
    digits, - and _.
    """
    folder = existing_class(class_folder)
    wanted = question and str(
        wanted_question(class_course(Path(course), folder).assignments, question)
    )
    return keep_comment(folder, BankComment(wanted, name, " ".join(text.split())))


def bank_uses(class_folder: Path | str) -> list[BankUse]:
    """Returns the comments in a class's bank, with the number of answers that use each comment.

    for use in autograder.bank_uses("course"):
        print(use.comment.name, use.used)
    """
    from ..nbgrader import human_work

    folder = existing_class(class_folder)
    bank = read_bank(folder)
    used, missing = Counter[BankComment | None](), Counter[tuple[str, str]]()
    for (_, _, exercise, question), grade in human_work(folder).grades.items():
        place = f"{exercise}/{question}"
        used.update(bank.find(name, place) for name in grade.reused)
        missing.update((place, name) for name in grade.unknown)
    found = [BankUse(comment, used[comment]) for comment in bank.comments]
    absent = (BankUse(BankComment(*key, ""), n, True) for key, n in sorted(missing.items()))
    return [*found, *absent]
