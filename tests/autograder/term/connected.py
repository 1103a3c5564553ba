"""Provides servers that act as Canvas and Moodle with the class's course, at first without grades.

`hand_in` submits the term's work on these servers, for a class that pulls it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..live.servers import Canvas, Moodle, Store
from .people import TEAM, TEAM_WEEK
from .story import WEEKS, Term

#: returns the points by week and student
Points = Callable[[], dict[tuple[int, int], float]]

_FIRST_WORK, _FIRST_PERSON = 900, 10


@contextmanager
def canvas_term(term: Term) -> Iterator[tuple[Canvas, Points]]:
    """Starts a Canvas server with the class; yields it and a function that returns its grades."""
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
    """Starts a Moodle server with the class; yields it and a function that returns its grades."""
    with Moodle() as moodle:
        for student in term.students:
            group = _GROUP if student.n in TEAM else 0
            moodle.enrol(_FIRST_PERSON + student.n, student.name, student.login, group=group)
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


#: the team's number in Moodle
_GROUP = 5
#: the points for each question, by exercise and name
QuestionPoints = dict[tuple[str, str], float]


def hand_in(term: Term, server: Canvas | Moodle) -> dict[tuple[str, int], QuestionPoints]:
    """Submits the whole term's work; returns the points for each question by login and week."""
    expected = {}
    for (n, week), answer in sorted(term.submitted.items()):
        files = {name: text.encode() for name, text in answer.files.items()}
        work, at = _FIRST_WORK + week, term.arrives(n, week)
        student = term.students[n]
        if isinstance(server, Canvas):
            server.submit(student.canvas, work, f"{at:%Y-%m-%dT%H:%M:%SZ}", files)
        else:
            is_team = week == TEAM_WEEK and n in TEAM
            if is_team and n != TEAM[0]:
                continue
            number, group = (0, _GROUP) if is_team else (_FIRST_PERSON + n, 0)
            server.submit(number, work, int(at.timestamp()), files, group=group)
        expected[student.login, week] = dict(answer.points)
    if isinstance(server, Moodle):
        one, other = (term.students[n].login for n in TEAM)
        expected[other, TEAM_WEEK] = expected[one, TEAM_WEEK]
    return expected
