"""Provides a class folder, and servers that act as the platforms to which it is connected."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from autograder.course import Course
from autograder.live import RetryPolicy, Token
from autograder.operations.connection import Access
from autograder.operations.pull import PullPlan, PullReport, pull
from autograder.operations.push import PushPlan, PushReport, push

from .servers import MOODLE_TOKEN, TOKEN, Canvas, Moodle, canvas_server, moodle_server


@dataclass
class Class:
    """A class folder that is connected to a test server; retries happen without delay."""

    platform: str
    folder: Path
    course: Course
    address: str
    token: str
    waited: list[float] = field(default_factory=list)
    plans: list[Any] = field(default_factory=list)

    def _options(self, yes: bool, others: dict[str, Any]) -> dict[str, Any]:
        links = others.pop("links", None)
        at = others.pop("at", self.address)
        token = Token(others.pop("token", self.token))
        others["access"] = Access(at, links, token, RetryPolicy(self.waited.append))
        others["course"] = self.course.root

        def approve(plan: PullPlan | PushPlan) -> bool:
            self.plans.append(plan)
            return yes

        others["approve"] = approve
        return others

    def pull(self, *, yes: bool = True, **others: Any) -> PullReport:
        return pull(self.platform, self.folder, **self._options(yes, others))

    def push(self, *, yes: bool = True, **others: Any) -> PushReport:
        return push(self.platform, self.folder, **self._options(yes, others))

    def file(self, student: str, name: str = "masking.py") -> Path:
        """Returns the path of a student's file for `masks`."""
        return self.folder / "submitted" / student / "masks" / name


@pytest.fixture
def canvas() -> Iterator[Canvas]:
    """Runs a server that acts as Canvas."""
    with canvas_server() as server:
        yield server


@pytest.fixture
def moodle() -> Iterator[Moodle]:
    """Runs a server that acts as Moodle."""
    with moodle_server() as server:
        yield server


@pytest.fixture
def on_canvas(canvas: Canvas, course: Course, class_folder: Path) -> Class:
    return Class("canvas", class_folder, course, canvas.course, TOKEN)


@pytest.fixture
def on_moodle(moodle: Moodle, course: Course, class_folder: Path) -> Class:
    return Class("moodle", class_folder, course, moodle.course, MOODLE_TOKEN)


@pytest.fixture
def graded(class_folder: Path, make_result: Callable[..., Any]) -> Callable[..., None]:
    """Returns a function that appends results of `masks` with the points of each student."""
    from autograder.results.file import ResultsFile

    def write(**points: tuple[float, float, float]) -> None:
        with ResultsFile(class_folder / "results.jsonl") as file:
            for student, scores in points.items():
                file.append(make_result(student, scores))

    return write
