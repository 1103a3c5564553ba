"""Makes classes in which no two answers are equal: neither their text, nor what they return.

All results are off by some units in the last place, by a number of its own for each submission:
less than the tolerance, and no two alike. In an ordinary class the rest are the solution's words.
In an unusual one a submission holds, of each exercise, one question in the words of an alternative
or of a known mistake, in turn: Python loops over single numbers among them, and one exercise in
three is wrong.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from enum import Enum
from pathlib import Path

from autograder.course import Course
from autograder.records import Assignment, Exercise
from autograder.suite.variants import module_texts

_OWN = """
def _own(value):
    if not value.is_floating_point():
        return value
    return value * (1 + {number} * torch.finfo(value.dtype).eps)
"""


class Kind(Enum):
    """What the answers of a class are like, in the words of the table."""

    ORDINARY = "right answers"
    UNUSUAL = "unusual and wrong answers"


def write_class(
    course: Course, assignment: Assignment, submitted: Path, count: int, kind: Kind
) -> None:
    """Writes that many submissions of a kind."""
    texts = [_texts(course, exercise, kind) for exercise in assignment.exercises]
    for number in range(count):
        place = submitted / f"s{number:05d}" / assignment.name
        place.mkdir(parents=True)
        for index, exercise in enumerate(assignment.exercises):
            right, wrong = texts[index]
            chosen = wrong if number % len(texts) == index else right
            text = changed(chosen[number % len(chosen)], exercise, number + 1)
            (place / f"{exercise.name}.py").write_text(text, encoding="utf-8")


def changed(text: str, exercise: Exercise, number: int) -> str:
    """A module whose answers return what they did, but for some units in the last place."""
    tree = ast.parse(text)
    names = {question.name for question in exercise.questions}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name in names:
            for part in ast.walk(node):
                if isinstance(part, ast.Return) and part.value is not None:
                    own = ast.Name("_own", ast.Load())
                    part.value = ast.Call(own, [part.value], [])
    return ast.unparse(ast.fix_missing_locations(tree)) + _OWN.format(number=number)


def _texts(course: Course, exercise: Exercise, kind: Kind) -> tuple[Sequence[str], Sequence[str]]:
    """The modules that are right, and those that take their place in one exercise of three."""
    if kind is Kind.ORDINARY:
        solution = [exercise.solution.read_text(encoding="utf-8")]
        return solution, solution
    right, wrong = (
        [text for _, text in module_texts(exercise.solution, course.variants(kind, exercise))]
        for kind in ("alternatives", "misconceptions")
    )
    return right, wrong
