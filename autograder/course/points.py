"""Reads each test's question and points from a suite's source code, without running it.

As in pytest, every case of a parametrized test counts as a test: each case is worth the test's
`points`. However, `shared` points are divided among all cases of a test.
"""

from __future__ import annotations

import ast
import math
from pathlib import Path
from typing import Any

from ..errors import ContentError
from ..records import Exercise

_MARK = "pytest.mark.question"
_PARAMETRIZE = "pytest.mark.parametrize"


def points_of(suite: Path) -> dict[str, float]:
    """Returns the maximum points for each question in a suite, in the suite's order.

    Raises `ContentError` if the suite can't be read, or if the points for a test are unclear.
    """
    points: dict[str, float] = {}
    for test, literals in _tests(suite):
        question, worth, is_shared = _marker(suite, test, literals)
        cases = 1 if is_shared else _cases(suite, test, literals)
        points[question] = points.get(question, 0.0) + worth * cases
    return points


def points_by_question(exercise: Exercise, suite: Path) -> dict[str, float]:
    """Returns the maximum points for each of an exercise's questions, in the exercise's order.

    Raises `ContentError` if the suite does not judge exactly these questions; see `points_of`.
    """
    points = points_of(suite)
    names = [question.name for question in exercise.questions]
    for name in names:
        if name not in points:
            raise ContentError(suite, None, f"no test judges {name}", "write a test for it")
    for name in points:
        if name not in names:
            raise ContentError(
                suite,
                None,
                f"a test checks {name!r}, which {exercise.solution.name} does not define",
                f"use one of: {', '.join(names)}",
            )
    return {name: points[name] for name in names}


def _tests(suite: Path) -> list[tuple[ast.FunctionDef, dict[str, ast.expr]]]:
    try:
        tree = ast.parse(suite.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ContentError(
            suite, None, "no such suite", "write it (see docs/authoring.md)"
        ) from None
    except SyntaxError as error:
        raise ContentError(suite, error.lineno, str(error.msg), "fix the line") from error
    literals = {
        name.id: value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        for name, value in _pairs(target, node.value)
    }
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            raise ContentError(
                suite, node.lineno, f"{node.name} is a test class", "write plain functions"
            )
    return [
        (node, literals)
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test")
    ]


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[ast.Name, ast.expr]]:
    """Pairs names with their values: `A = 1` gives one pair; `A, B = 1, 2` gives two."""
    if isinstance(target, ast.Name):
        return [(target, value)]
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        return [
            pair
            for one, other in zip(target.elts, value.elts, strict=False)
            for pair in _pairs(one, other)
        ]
    return []


def _marker(
    suite: Path, test: ast.FunctionDef, literals: dict[str, ast.expr]
) -> tuple[str, float, bool]:
    """Returns a test's question and points, and whether its cases share the points."""
    calls = [node for node in test.decorator_list if _is_call(node, _MARK)]
    try:
        (call,) = calls
        assert isinstance(call, ast.Call)
        (name,) = call.args
        (worth,) = (word for word in call.keywords if word.arg in ("points", "shared"))
        value = float(_value(worth.value, literals))
        question = str(_value(name, literals))
    except (ValueError, TypeError) as error:
        raise ContentError(
            suite,
            test.lineno,
            f"{test.name} does not say what it judges",
            'mark it once: @pytest.mark.question("<name>", points=<number>)',
        ) from error
    if not (math.isfinite(value) and value >= 0):
        raise ContentError(
            suite,
            worth.value.lineno,
            f"{test.name} gives {value:g} points",
            "give zero points or more: a failed test must not be worth more than a passed one",
        )
    return question, value, worth.arg == "shared"


def _value(node: ast.expr, literals: dict[str, ast.expr]) -> Any:
    """Returns the value of a literal or of a named constant; raises `ValueError` for other code."""
    if isinstance(node, ast.Name):
        node = literals.get(node.id, node)
    return ast.literal_eval(node)


def _cases(suite: Path, test: ast.FunctionDef, literals: dict[str, ast.expr]) -> int:
    counts = []
    for node in test.decorator_list:
        if not _is_call(node, _PARAMETRIZE):
            continue
        assert isinstance(node, ast.Call)
        words = {word.arg: word.value for word in node.keywords}
        values = node.args[1] if len(node.args) > 1 else words.get("argvalues")
        if isinstance(values, ast.Name):
            values = literals.get(values.id)
        if not isinstance(values, ast.List | ast.Tuple) or any(
            isinstance(item, ast.Starred) for item in values.elts
        ):
            raise ContentError(
                suite,
                node.lineno,
                f"the cases of {test.name} can't be counted",
                "write them as one list in this file",
            )
        counts.append(len(values.elts))
    return math.prod(counts)


def _is_call(node: ast.expr, dotted: str) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) == dotted
