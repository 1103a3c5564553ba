"""Manages requests for a second look, and lists the answers that each grader has to grade."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..classroom import (
    add_requests,
    read_graders,
    read_marks,
    read_origins,
    read_requests,
    read_roster,
    read_withdrawals,
)
from ..course import Course
from ..errors import UserError
from ..grading.sources import wanted_question
from ..records import Key
from ..results.last import LastResults
from ..results.manual import HumanWork, QuestionKey, Request
from ..results.review import Place
from ..submission.class_files import RESULTS_FILE, existing_class
from .classes import known_student
from .courses import HERE, class_course
from .reviews import places_to_review

if TYPE_CHECKING:  # an instructor's packages are imported when they are needed
    from ..collecting import FoundRequest


@dataclass(frozen=True, slots=True)
class NewRequests:
    """The new requests, and notes about requests that could not be used."""

    new: tuple[Request, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WaitingAnswers:
    """A question's answers that are waiting for one grader.

    `why` is "to grade", "to review" or "request". `question` is the name of an exercise if all of
    its answers are waiting, and empty for a whole submission.
    """

    grader: str
    assignment: str
    question: str
    why: str
    students: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GradersWork:
    """The answers waiting for each grader, and how many answers each person has graded.

    Each row in `graded` contains a grader, an assignment, a question and the number of answers. For
    entries that were made in formgrader, the grader is `formgrader`, because nbgrader does not
    record who made an entry.
    """

    waiting: tuple[WaitingAnswers, ...]
    graded: tuple[tuple[str, str, str, int], ...]


def class_requests(class_folder: Path | str) -> tuple[Request, ...]:
    """Returns all requests in a class, with their answers."""
    return read_requests(existing_class(class_folder))


def bring_requests(
    class_folder: Path | str, source: Path | str, *, course: Path | str = HERE
) -> NewRequests:
    """Stores students' requests for a second look, from issues (JSON), a table (CSV), or a folder.

        autograder.bring_requests("course", "issues.json")

    Known requests are not stored again. Raises `UserError` for a file without requests.
    """
    from ..collecting import read_asked

    folder = existing_class(class_folder)
    of_class = class_course(Path(course), folder)
    found: list[Request] = []
    notes: list[str] = []
    for asked in read_asked(Path(source)):
        try:
            found.append(_request(folder, of_class, asked))
        except UserError as error:
            notes.append(f"{asked.source}, {asked.who}: {error}")
    return NewRequests(add_requests(folder, found), tuple(notes))


def _request(folder: Path, course: Course, asked: FoundRequest) -> Request:
    origins = read_origins(folder).values()
    own = [o for o in origins if asked.repository and o.entry.split("/")[0] == asked.repository]
    student = own[0].student if own else known_student(folder, course, asked.who)
    assignment = asked.assignment or (own[0].assignment if len(own) == 1 else "")
    if asked.question:
        wanted = wanted_question(course.assignments, asked.question)
        assignment, question = wanted.assignment, str(wanted)
    else:
        assignment = assignment or _named_assignment(course, f"{asked.repository} {asked.text}")
        question = question_named_in(course, assignment, asked.text)
    return Request(student, assignment, question, asked.text, asked.source, asked.at)


def _named_assignment(course: Course, text: str) -> str:
    """Returns the assignment that `text` names; raises `UserError` unless it names exactly one."""
    words = re.sub(r"[\W_]+", "_", f" {text} ".casefold())
    names = [assignment.name for assignment in course.assignments]
    found = {name for name in names if f"_{name}_" in words}
    # if a name is part of a longer one, only the longer one counts
    found -= {name for name in found for other in found if name != other and name in other}
    found = found or {name for name in names if question_named_in(course, name, text)}
    if len(found) != 1:
        raise UserError(
            f"which assignment is this about? Expected one of {', '.join(names)}, or a question: "
            "name it in the request, or in a table's assignment column, and read the request again"
        )
    return found.pop()


def question_named_in(course: Course, assignment: str, text: str) -> str:
    """Returns the question that `text` names, or "" unless `text` names exactly one question."""
    words = set(re.findall(r"\w+", text))
    own = next((a.exercises for a in course.assignments if a.name == assignment), ())
    found = [f"{e.name}/{q.name}" for e in own for q in e.questions if q.name in words]
    whole = [name for name in found if name in text]
    chosen = whole or found
    return chosen[0] if len(chosen) == 1 else ""


def graders_work(class_folder: Path | str, grader: str | None = None) -> GradersWork:
    """Returns the answers that are waiting for each grader, and how many each person has graded.

        for item in autograder.graders_work("course", "tom").waiting:
            print(item.question, item.students)

    An answer is waiting if the gradebook says that a person has to grade the answer, if a request
    about the answer is open, or if nobody has settled a reason to review it yet, such as an
    uploaded file that was not used. Raises `UserError` if no grader has that name.
    """
    from ..nbgrader import cells_to_grade, human_work

    folder = existing_class(class_folder)
    roster, withdrawn = read_roster(folder), read_withdrawals(folder)
    graders = read_graders(folder, roster)
    if grader is not None and grader not in graders.names:
        there = ", ".join(sorted(graders.names)) or "none: fill in the roster's grader column"
        raise UserError(f"no grader is called {grader!r}; known: {there}")
    found: dict[tuple[str, str, str, str], list[str]] = {}
    cells = cells_to_grade(folder)
    reviews = places_to_review(folder, LastResults(folder / RESULTS_FILE))
    for why, key, question in _waiting(cells, reviews, read_requests(folder)):
        who = graders.of(key[0], question)
        if key not in withdrawn and grader in (None, who):
            found.setdefault((who, key[1], question, why), []).append(key[0])
    rows = (WaitingAnswers(*key, tuple(students)) for key, students in sorted(found.items()))
    graded = _graded(folder, human_work(folder))
    return GradersWork(tuple(rows), tuple((*row, n) for row, n in sorted(graded.items())))


def _waiting(
    cells: Iterable[QuestionKey],
    reviews: Mapping[Key, Iterable[Place]],
    requests: Iterable[Request],
) -> Iterator[tuple[str, Key, str]]:
    """Yields why an answer is waiting, its submission, and its question."""
    to_grade = set[tuple[str, ...]]()
    for student, assignment, exercise, question in cells:
        key = student, assignment
        to_grade |= {(*key, exercise), (*key, exercise, question)}
        yield "to grade", key, f"{exercise}/{question}"
    for key, places in reviews.items():
        for place in places:
            if (*key, *place) not in to_grade:
                yield "to review", key, "/".join(place)
    for request in requests:
        if request.is_open:
            yield "request", request.key, request.question


def _graded(folder: Path, work: HumanWork) -> Counter[tuple[str, str, str]]:
    """Counts the answers that each person graded, for each assignment and question."""
    by: dict[tuple[str, str, str], str] = {
        (s, a, f"{e}/{q}"): "formgrader" for s, a, e, q in work.grades
    }
    for made in read_marks(folder):
        by[made.student, made.assignment, made.question] = made.by
    return Counter((who, assignment, question) for (_, assignment, question), who in by.items())
