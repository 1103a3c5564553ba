"""Makes a class in which no two answers are equal: neither their text, nor what they return.

Of each exercise a submission holds one question in the words of an alternative or of a known
mistake, in turn, and the solution of the others. All results are then off by some units in the
last place, by a number of its own for each submission: less than the tolerance, and no two alike.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
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


def write_class(course: Course, assignment: Assignment, submitted: Path, count: int) -> None:
    """Writes that many submissions; one exercise in three of each has a wrong answer."""
    texts = [_texts(course, exercise) for exercise in assignment.exercises]
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


def _texts(course: Course, exercise: Exercise) -> tuple[Sequence[str], Sequence[str]]:
    """The modules with one right answer in other words, and those with one wrong answer."""
    right, wrong = (
        [text for _, text in module_texts(exercise.solution, course.variants(kind, exercise))]
        for kind in ("alternatives", "misconceptions")
    )
    return right, wrong
