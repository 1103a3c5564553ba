"""Collects a course's secrets from solutions, hidden suites and misconceptions."""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..course import Course
from ..records import Exercise
from .compact import compact, compact_line
from .computations import expressions_of
from .solution_parts import solution_lines

#: code that is shorter or contains none of these characters, such as `return x` or `else:`, is not
#: a secret
_SHORTEST_LINE = 10
_COMPUTES = frozenset("+-*/@%([")
_SHORTEST_STATEMENT = 40
_SHORTEST_BODY = 24
_SHORTEST_STRING = 30


class SecretKind(enum.StrEnum):
    """The kinds of secrets, as they are called in messages."""

    SOLUTION = "a line of the solution"
    TEST_NAME = "the name of a hidden test"
    TEST_CODE = "code from a hidden test"
    TEST_TEXT = "a message from a hidden test"
    KNOWN_ANSWER = "data from a hidden test"
    MISCONCEPTION = "a known mistake"
    COMPUTED = "an expression that a solution computes"


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret string without white space, with its file and line."""

    kind: SecretKind
    text: str
    path: Path
    line: int


def secrets_of(course: Course) -> tuple[Secret, ...]:
    """Returns all secrets of a course, each string only once per kind."""
    found: dict[tuple[SecretKind, str], Secret] = {}
    for assignment in course.assignments:
        for exercise in assignment.exercises:
            for secret in _of_exercise(course, exercise):
                found.setdefault((secret.kind, secret.text), secret)
    return tuple(found.values())


def computed_by(course: Course) -> dict[str, Secret]:
    """Returns the computations in a course's solutions, keyed as in the module `computations`."""
    found: dict[str, Secret] = {}
    for assignment in course.assignments:
        for exercise in assignment.exercises:
            path = exercise.solution
            for key, line in expressions_of(path):
                found.setdefault(key, Secret(SecretKind.COMPUTED, key, path, line))
    return found


def given_lines(exercise: Exercise) -> frozenset[str]:
    """Returns the lines of a solution module that students are given, without white space."""
    text = exercise.solution.read_text(encoding="utf-8")
    return frozenset(code_of(line) for _, line, inside in solution_lines(text) if not inside)


def code_of(line: str) -> str:
    """Returns a line without its comment and white space."""
    code, mark, _ = line.partition("  #")
    return compact_line(code if mark else line)


def _of_exercise(course: Course, exercise: Exercise) -> Iterator[Secret]:
    yield from _solution(exercise.solution)
    if exercise.hidden_suite.is_file():
        yield from _suite(exercise.hidden_suite)
    misconceptions = course.variants("misconceptions", exercise)
    if misconceptions.is_file():
        yield from _misconceptions(misconceptions)


def _solution(path: Path) -> Iterator[Secret]:
    text = path.read_text(encoding="utf-8")
    for number, line, inside in solution_lines(text):
        code = code_of(line)
        if not inside or line.lstrip().startswith("#") or len(code) < _SHORTEST_LINE:
            continue
        if not _COMPUTES.isdisjoint(code):
            yield Secret(SecretKind.SOLUTION, code, path, number)


def _suite(path: Path) -> Iterator[Secret]:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            if node.name.startswith("test"):
                yield Secret(SecretKind.TEST_NAME, node.name, path, node.lineno)
            for statement in node.body:
                yield from _code(SecretKind.TEST_CODE, text, path, [statement], _SHORTEST_STATEMENT)
    yield from _strings(SecretKind.TEST_TEXT, tree, path)
    for item in ast.walk(tree):
        if _is_row_of_numbers(item):
            yield from _numbers(text, path, item)


def _misconceptions(path: Path) -> Iterator[Secret]:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield from _code(SecretKind.MISCONCEPTION, text, path, node.body, _SHORTEST_BODY)
            for decorator in node.decorator_list:
                yield from _strings(SecretKind.MISCONCEPTION, decorator, path)


def _code(
    kind: SecretKind, text: str, path: Path, statements: list[ast.stmt], shortest: int
) -> Iterator[Secret]:
    first, last = statements[0], statements[-1]
    lines = text.splitlines()[first.lineno - 1 : last.end_lineno]
    code = "".join(code_of(line) for line in lines)
    if len(code) >= shortest:
        yield Secret(kind, compact(code).text, path, first.lineno)


def _strings(kind: SecretKind, tree: ast.AST, path: Path) -> Iterator[Secret]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = compact(node.value).text
            if len(text) >= _SHORTEST_STRING:
                yield Secret(kind, text, path, node.lineno)


def _numbers(text: str, path: Path, node: ast.AST) -> Iterator[Secret]:
    assert isinstance(node, ast.List | ast.Tuple)
    row = compact(ast.get_source_segment(text, node) or "").text[1:-1]
    yield Secret(SecretKind.KNOWN_ANSWER, row, path, node.lineno)


def _is_row_of_numbers(node: ast.AST) -> bool:
    """Returns whether a list contains only numbers, at least two with three or more decimals.

    A released file is unlikely to contain such numbers by chance.
    """
    if not isinstance(node, ast.List | ast.Tuple) or len(node.elts) < 2:
        return False
    try:
        values = [ast.literal_eval(item) for item in node.elts]
    except ValueError:
        return False
    return all(isinstance(value, int | float) for value in values) and (
        sum(isinstance(value, float) and round(value, 2) != value for value in values) >= 2
    )
