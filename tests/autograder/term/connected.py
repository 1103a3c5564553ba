"""The class's course on servers that act as Canvas and Moodle, without grades at first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..live.servers import Canvas, Moodle, Store
from .story import WEEKS, Term

#: the points of each week and student
Points = Callable[[], dict[tuple[int, int], float]]

_FIRST_WORK, _FIRST_PERSON = 900, 10


@contextmanager
def canvas_term(term: Term) -> Iterator[tuple[Canvas, Points]]:
    """Starts a Canvas with everybody in the class; yields it and its grades."""
    with Store() as store, Canvas(store) as canvas:
        canvas.page = 50
        canvas.sections.append({"id": 1, "name": "A"})
        for student in term.students:
            canvas.enrol(student.canvas, student.last_first, student.login)
        for week in WEEKS:
            name, points = term.name(week).replace("_", " ").title(), term.maximum(week)
            work = {"id": _FIRST_WORK + week, "name": name, "points_possible": points}
            canvas.assignments.append({**work, "due_at": None, "overrides": []})
        number = {student.canvas: student.n for student in term.students}
        yield (
            canvas,
            lambda: {
                (work - _FIRST_WORK, number[user]): own["score"]
                for (work, user), own in canvas.submissions.items()
                if own["score"] is not None
            },
        )


@contextmanager
def moodle_term(term: Term) -> Iterator[tuple[Moodle, Points]]:
    """Starts a Moodle with everybody in the class; yields it and its grades."""
    with Moodle() as moodle:
        for student in term.students:
            moodle.enrol(_FIRST_PERSON + student.n, student.name, student.login)
        for week in WEEKS:
            name = term.name(week).replace("_", " ").title()
            work = {"id": _FIRST_WORK + week, "name": name, "grade": term.maximum(week)}
            moodle.assignments.append({**work, "duedate": 0})
        yield (
            moodle,
            lambda: {
                (work - _FIRST_WORK, user - _FIRST_PERSON): points
                for (work, user), points in moodle.grades.items()
            },
        )
