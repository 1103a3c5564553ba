"""Makes classes in which no two answers have the same text or the same results.

All results are off by a few units in the last place; the number of units is different for each
submission, and the error is always less than the tolerance. In an ordinary class, the answers are
otherwise the same as the solution. In an unusual class, one answer in each exercise is an
alternative, which may loop over single numbers in Python. In one exercise of each submission, a
known mistake takes the place of this alternative.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from enum import Enum
from pathlib import Path

from autograder.course import Course
from autograder.records import Assignment, Exercise
from autograder.suite.variants import module_texts

#: code that changes every returned tensor, and code that makes a question wrong in a unique way
_OWN = """
def _own(value):
    if not isinstance(value, torch.Tensor) or not value.is_floating_point():
        return value
    return value * (1 + {number} * torch.finfo(value.dtype).eps)


def _odd(value):
    if not isinstance(value, torch.Tensor) or not value.is_floating_point():
        return value
    return (1.3 * value + 0.{number}).sin() * 0.7 + 0.2 * value
"""
_IMPORT = "import torch\n"
#: questions whose answers only move numbers, so that any change could make them wrong
_ONLY_MOVED = frozenset({"split_heads", "merge_heads"})


class AnswerKind(Enum):
    """The kind of answers in a class, with its name in tables."""

    ORDINARY = "correct answers"
    UNUSUAL = "unusual and wrong answers"
    REPEATED = "the same correct answers again"
    CATALOGUED = "known mistakes"
    UNCATALOGUED = "mistakes of no known kind"


def write_class(
    course: Course, assignment: Assignment, submitted: Path, count: int, kind: AnswerKind
) -> None:
    """Writes `count` submissions with answers of the given kind.

    In a class of known mistakes, one answer in each exercise is wrong. In an unusual class, only
    one answer in each submission is wrong.
    """
    texts = [_texts(course, exercise, kind) for exercise in assignment.exercises]
    for number in range(count):
        place = submitted / f"s{number:05d}" / assignment.name
        place.mkdir(parents=True)
        for index, exercise in enumerate(assignment.exercises):
            right, wrong = texts[index]
            is_wrong = kind is AnswerKind.CATALOGUED or number % len(texts) == index
            chosen = wrong if is_wrong else right
            odd = exercise.questions[number % len(exercise.questions)].name
            text = changed(
                chosen[number % len(chosen)],
                exercise,
                1 if kind is AnswerKind.REPEATED else number + 1,
                odd if kind is AnswerKind.UNCATALOGUED else "",
            )
            (place / f"{exercise.name}.py").write_text(text, encoding="utf-8")


def changed(text: str, exercise: Exercise, number: int, odd: str = "") -> str:
    """Returns a module whose answers return the same values up to a few units in the last place.

    The question `odd` returns values that no known mistake returns.
    """
    tree = ast.parse(text)
    names = {question.name for question in exercise.questions}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in names:
            if node.name != odd and node.name in _ONLY_MOVED:
                continue
            for function in _calls_of(node):
                _pass_through("_odd" if node.name == odd else "_own", function)
    return _IMPORT + ast.unparse(ast.fix_missing_locations(tree)) + _OWN.format(number=number)


def _calls_of(node: ast.FunctionDef | ast.ClassDef) -> list[ast.FunctionDef]:
    """Returns the functions that tests call: the function itself, or a class's `forward`."""
    if isinstance(node, ast.FunctionDef):
        return [node]
    methods = [part for part in node.body if isinstance(part, ast.FunctionDef)]
    return [method for method in methods if method.name == "forward"]


def _pass_through(name: str, function: ast.FunctionDef) -> None:
    for part in ast.walk(function):
        if isinstance(part, ast.Return) and part.value is not None:
            part.value = ast.Call(ast.Name(name, ast.Load()), [part.value], [])


def _texts(
    course: Course, exercise: Exercise, kind: AnswerKind
) -> tuple[Sequence[str], Sequence[str]]:
    """Returns correct modules, and the modules to use for an exercise with a wrong answer."""
    solution = [exercise.solution.read_text(encoding="utf-8")]
    if kind in (AnswerKind.ORDINARY, AnswerKind.REPEATED, AnswerKind.UNCATALOGUED):
        return solution, solution
    right, wrong = (
        [text for _, text in module_texts(exercise.solution, course.variants(name, exercise))]
        for name in ("alternatives", "misconceptions")
    )
    return right or solution, wrong or solution
