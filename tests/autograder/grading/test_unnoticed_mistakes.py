"""The public checks miss only known mistakes that are listed with a reason.

The checks run in this process, because these answers are our own, and stop at the first failure.
"""

from __future__ import annotations

import ast
import inspect
import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from autograder.course import Course
from autograder.errors import AnswerFault
from autograder.records import Exercise
from autograder.submission.text import first_line_of
from autograder.suite import Draw, Expect
from autograder.suite.local import LocalImplementation, load_module
from autograder.suite.variants import Variant, variants_in

_MOST = 60


@pytest.fixture(scope="module")
def unnoticed(course: Course) -> set[tuple[str, str]]:
    """Returns the question and name of each known mistake that passes all of its checks."""
    torch.set_num_threads(1)
    return {
        (variant.question, variant.name)
        for assignment in course.assignments
        for exercise in assignment.exercises
        for variant in _passing(course, exercise)
    }


def _passing(course: Course, exercise: Exercise) -> Iterator[Variant]:
    mistakes = course.variants("misconceptions", exercise)
    source = mistakes.read_text(encoding="utf-8")
    texts = _definitions(source)
    solution = LocalImplementation.from_file(exercise.solution)
    checks = load_module(exercise.public_suite, f"_public_{exercise.assignment}_{exercise.name}")
    for variant in variants_in(mistakes):
        own = re.sub(rf"\b{variant.name}\b", variant.question, texts[variant.name])
        answers = {**solution.namespace, variant.question: variant.implementation}
        implementation = LocalImplementation(answers, f"{source}\n{own}")
        if all(_passes(implementation, check) for check in _checks_of(checks, variant.question)):
            yield variant


def _definitions(source: str) -> dict[str, str]:
    """Returns a module's functions and classes; `inspect` would read the module for each class."""
    lines = source.splitlines(keepends=True)
    return {
        node.name: "".join(lines[first_line_of(node) - 1 : node.end_lineno])
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }


def _checks_of(module: ModuleType, question: str) -> list[Callable[..., None]]:
    """Returns the question's checks, with the slower consistency checks at the end."""
    checks = [
        value
        for name, value in vars(module).items()
        if name.startswith("test_") and question in _questions_of(value)
    ]
    return sorted(checks, key=lambda check: check.__name__.endswith("called_in_other_ways"))


def _questions_of(check: Any) -> list[str]:
    return [mark.args[0] for mark in check.pytestmark if mark.name == "question"]


def _passes(answers: LocalImplementation, check: Callable[..., None]) -> bool:
    # the same inputs as on a student's computer
    draw = Draw(0, f"{Path(inspect.getfile(check)).stem}::{check.__name__}")
    known = {"expect": Expect(answers, None, draw), "draw": draw}
    try:
        check(**{argument: known[argument] for argument in inspect.signature(check).parameters})
    except (AssertionError, AnswerFault):
        return False
    return True


@pytest.fixture(scope="module")
def listed(course: Course) -> dict[tuple[str, str], str]:
    """Returns the reasons in `unnoticed.toml`, by question and name."""
    text = (course.root / "tests" / "public" / "unnoticed.toml").read_text(encoding="utf-8")
    return {
        (question, name): reason
        for question, reasons in tomllib.loads(text).items()
        for name, reason in reasons.items()
    }


def test_the_checks_miss_exactly_the_listed_mistakes(
    unnoticed: set[tuple[str, str]], listed: dict[tuple[str, str], str]
) -> None:
    assert unnoticed == set(listed)


def test_the_list_of_missed_mistakes_is_short_and_has_reasons(
    listed: dict[tuple[str, str], str],
) -> None:
    assert len(listed) <= _MOST
    assert all(len(reason.split()) > 4 for reason in listed.values())
