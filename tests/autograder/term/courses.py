"""Provides two courses for the same made-up class, with possible submissions and their points.

The points do not come from the grader. For `Doubles`, each answer gets a fixed number of points.
For `Attention`, the points come from `examples/expected.json`, which people have checked; solutions
get all points.
"""

from __future__ import annotations

import ast
import json
import random
import re
import shutil
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Protocol

import autograder

REPOSITORY = Path(__file__).resolve().parents[3]

#: the names of the exercise and the question
Question = tuple[str, str]


@dataclass(frozen=True)
class Answer:
    """A submission's files, and its points by question.

    `unfair` contains the points that are different while the first assignment's suite is unfair.
    """

    files: Mapping[str, str]
    points: Mapping[Question, float]
    unfair: Mapping[Question, float] = field(default_factory=dict)
    #: exercises whose file can't be read, so its code never runs
    unreadable: frozenset[str] = frozenset()

    def before(self) -> Mapping[Question, float]:
        """Returns the points that count while the first assignment's suite is unfair."""
        return {**self.points, **self.unfair}


class Content(Protocol):
    """A course with six assignments; the first assignment's suite is unfair until it is fixed."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the assignments, in order."""

    @property
    def unfair(self) -> Question:
        """The question whose suite is unfair."""

    @property
    def fourth(self) -> Question:
        """A question of the fourth assignment."""

    def write(self, root: Path, due: Mapping[str, str]) -> None:
        """Writes and releases the course; `due` maps assignments to settings of due dates."""

    def fix(self, root: Path) -> None:
        """Fixes the first assignment's suite."""

    def answer(self, name: str, draw: random.Random) -> Answer:
        """Returns a randomly drawn submission for an assignment."""

    def right(self, name: str) -> Answer:
        """Returns a submission that gets all points."""

    def unusual(self, name: str) -> Answer:
        """Returns a submission that gets all points and differs from all others."""

    def empty(self, name: str) -> Answer:
        """Returns a submission of the untouched stubs."""


def nightly_script() -> str:
    """Returns the shell script in docs/unattended.md."""
    page = (REPOSITORY / "docs" / "unattended.md").read_text(encoding="utf-8")
    (found,) = re.findall(r"```sh\n(#!/bin/sh\n.*?)```", page, re.DOTALL)
    return str(found)


def _written(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


_SOLUTION = '''\
"""Twice a number."""


def double{week}(x: int) -> int:
    """Twice `x`."""
    ### BEGIN SOLUTION
    return 2 * x
    ### END SOLUTION
'''
_SUITE = """\
import pytest

from autograder.suite import Expect


@pytest.mark.question("double{week}", points=2)
def test_positive(expect: Expect) -> None:
    expect.value("double{week}", [3], 6, likely="three and three")


@pytest.mark.question("double{week}", points={negative})
def test_negative(expect: Expect) -> None:
    expect.value("double{week}", [-3], -6, likely="below zero")
"""
_CHECK = """\
import pytest

from autograder.suite import Expect


@pytest.mark.question("double{week}", points=0)
def test_two(expect: Expect) -> None:
    expect.value("double{week}", [2], 4, likely="two and two")
"""
_TEXT = "# Twice\n\n```{{code-cell}} ipython3\n:question: double{week}\n```\n"

#: answers, with whether each passes the positive and the negative test
_BODIES = {
    "right": ("return x + x", True, True),
    "absolute": ("return 2 * abs(x)", True, False),
    "stub": ("raise NotImplementedError", False, False),
    "unusual": (
        "sign = -1 if x < 0 else 1\n    steps = [sign for _ in range(abs(x)) for _ in (0, 1)]\n"
        "    total = sum(steps, start=0)\n    return total if steps else sign * total",
        True,
        True,
    ),
}


class Doubles:
    """A course with one small question each week; at first, one test of week 1 is unfair."""

    names = tuple(f"week{number}" for number in range(1, 7))
    unfair = ("double1", "double1")
    fourth = ("double4", "double4")

    def write(self, root: Path, due: Mapping[str, str]) -> None:
        for week, name in enumerate(self.names, start=1):
            _written(root, f"source/{name}/double{week}.md", _TEXT.format(week=week))
            _written(root, f"solutions/{name}/double{week}.py", _SOLUTION.format(week=week))
            _written(root, f"tests/public/{name}/test_double{week}.py", _CHECK.format(week=week))
            self._suite(root, week, negative=2)
            settings = f'{due.get(name, "")}title = "Week {week}"\nexercises = ["double{week}"]\n'
            _written(root, f"source/{name}/assignment.toml", settings)
        autograder.release(course=root)

    def _suite(self, root: Path, week: int, negative: int) -> None:
        text = _SUITE.format(week=week, negative=negative)
        _written(root, f"tests/hidden/week{week}/test_double{week}.py", text)

    def fix(self, root: Path) -> None:
        self._suite(root, 1, negative=3)
        autograder.release(["week1"], course=root)  # because the notebooks contain the points

    def answer(self, name: str, draw: random.Random) -> Answer:
        return self._answer(name, draw.choice(["right", "right", "absolute", "stub"]))

    def right(self, name: str) -> Answer:
        return self._answer(name, "right")

    def unusual(self, name: str) -> Answer:
        return self._answer(name, "unusual")

    def empty(self, name: str) -> Answer:
        return self._answer(name, "stub")

    def _answer(self, name: str, kind: str) -> Answer:
        body, positive, negative = _BODIES[kind]
        exercise = f"double{name[-1]}"
        points = {False: 2.0 * positive + 2.0 * negative, True: 2.0 * positive + 3.0 * negative}
        key = (exercise, exercise)
        return Answer(
            {f"{exercise}.py": f"def {exercise}(x):\n    {body}\n"},
            {key: points[name == "week1"]},
            {key: points[False]} if name == "week1" else {},
        )


class Attention:
    """This repository's course; at first, everybody fails one test for the first question.

    Students submit the solution, the stub, or an answer by a member of the example class.
    """

    names = (
        *("simplified_attention", "self_attention", "causal_attention", "multi_head_attention"),
        *("transformer_block", "decoder_attention"),
    )
    unfair = ("scores", "query_scores")
    fourth = ("heads", "split_heads")

    #: examples that are not drawn, because they are slow or reserved for the two equal submissions
    _NOT = frozenset({"ivo", "jun", "chiara"})
    _ROOMS = (
        *("source", "solutions", "tests/public", "tests/hidden", "tests/misconceptions"),
        *("tests/alternatives", "tests/tables"),
    )

    def write(self, root: Path, due: Mapping[str, str]) -> None:
        for room in self._ROOMS:
            shutil.copytree(REPOSITORY / room, root / room, ignore=shutil.ignore_patterns("__py*"))
        for name, lines in due.items():
            settings = root / "source" / name / "assignment.toml"
            settings.write_text(lines + settings.read_text())
        self._suite(root).write_text(self._unfair_suite())
        autograder.release(course=root)

    def _suite(self, root: Path) -> Path:
        return root / "tests" / "hidden" / self.names[0] / f"test_{self.unfair[0]}.py"

    def _unfair_suite(self) -> str:
        text, (function, _) = self._suite(REPOSITORY).read_text(), _first_test()
        lines = text.splitlines()
        lines.insert(function.body[0].lineno - 1, '    pytest.fail("written in a hurry")')
        return "\n".join(lines) + "\n"

    def fix(self, root: Path) -> None:
        self._suite(root).write_text(self._suite(REPOSITORY).read_text())

    def answer(self, name: str, draw: random.Random) -> Answer:
        if draw.random() < 0.3:
            return self.right(name)
        return self._composed(name, [draw.choice(_pool(name, e)) for e in _exercises(name)])

    def right(self, name: str) -> Answer:
        return self._composed(name, [_solution(name, exercise) for exercise in _exercises(name)])

    def unusual(self, name: str) -> Answer:
        return self._composed(name, [_of("chiara", name, e) for e in _exercises(name)])

    def empty(self, name: str) -> Answer:
        return self._composed(name, [_stub(name, exercise) for exercise in _exercises(name)])

    def _composed(self, name: str, parts: list[Answer]) -> Answer:
        files = {file: text for part in parts for file, text in part.files.items()}
        points = {key: value for part in parts for key, value in part.points.items()}
        unreadable = frozenset(exercise for part in parts for exercise in part.unreadable)
        if name != self.names[0]:
            return Answer(files, points, unreadable=unreadable)
        lost = _first_test()[1]
        unfair = {self.unfair: max(0.0, points[self.unfair] - lost)}
        return Answer(files, points, unfair, unreadable)


@cache
def _first_test() -> tuple[ast.FunctionDef, float]:
    """Returns the first test of the first question's suite, and its points."""
    suite = REPOSITORY / "tests/hidden" / Attention.names[0] / f"test_{Attention.unfair[0]}.py"
    for node in ast.parse(suite.read_text()).body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            (mark,) = (mark for mark in node.decorator_list if isinstance(mark, ast.Call))
            points = {key.arg: ast.literal_eval(key.value) for key in mark.keywords}
            assert ast.literal_eval(mark.args[0]) == Attention.unfair[1]
            return node, float(points["points"])
    raise AssertionError(f"no test in {suite}")


@cache
def _expected() -> Mapping[str, Mapping[str, Mapping[str, Mapping[str, tuple[float, str]]]]]:
    return json.loads((REPOSITORY / "examples/expected.json").read_text())


@cache
def _exercises(name: str) -> tuple[str, ...]:
    settings = (REPOSITORY / "source" / name / "assignment.toml").read_text()
    return tuple(tomllib.loads(settings)["exercises"])


@cache
def _of(student: str, name: str, exercise: str) -> Answer:
    """Returns the answer to an exercise by a member of the example class."""
    folder = REPOSITORY / "examples/submitted" / student / name
    files = {path.name: path.read_text() for path in folder.glob(f"{exercise}.*")}
    scores = _expected()[student][name][exercise]
    points = {(exercise, question): scores[question][0] for question in scores}
    can_be_read = all(map(_can_be_read, files, files.values()))
    return Answer(files, points, unreadable=frozenset(() if can_be_read else {exercise}))


def _can_be_read(name: str, text: str) -> bool:
    try:
        ast.parse(text) if name.endswith(".py") else json.loads(text)
    except (SyntaxError, ValueError):
        return False
    return True


@cache
def _solution(name: str, exercise: str) -> Answer:
    """Returns the solution, which earns as much as ada's answer."""
    file = f"{exercise}.py"
    text = (REPOSITORY / "solutions" / name / file).read_text()
    return Answer({file: text}, _of("ada", name, exercise).points)


@cache
def _stub(name: str, exercise: str) -> Answer:
    """Returns the released stub, which gets no points."""
    file = f"{exercise}.py"
    text = (REPOSITORY / "assignments" / name / file).read_text()
    return Answer({file: text}, dict.fromkeys(_of("ada", name, exercise).points, 0.0))


@cache
def _pool(name: str, exercise: str) -> tuple[Answer, ...]:
    students = [
        student
        for student, scores in _expected().items()
        if student not in Attention._NOT and exercise in scores.get(name, {})
    ]
    found = [_solution(name, exercise), _stub(name, exercise)]
    found += [_of(student, name, exercise) for student in students]
    return tuple(answer for answer in found if answer.files and _is_clear(answer))


def _is_clear(answer: Answer) -> bool:
    """Returns whether the unfair question gets full points or none, or is not answered."""
    got = answer.points.get(Attention.unfair)
    full = _of("ada", Attention.names[0], Attention.unfair[0]).points[Attention.unfair]
    return got is None or got in (0.0, full)
