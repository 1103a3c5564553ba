"""Provides a class of a few made-up submissions to the real course."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from autograder.course import Course, load_course
from autograder.grading.run import RunReport, grade_class
from autograder.grading.sources import RunOptions
from autograder.grading.suite_engine import SuiteEngine
from autograder.records import SubmissionResult, Tier
from autograder.sandbox import ForkServer

from ..grading_runs import Results, started_fork_server

ROOT = Path(__file__).resolve().parents[3]
ASSIGNMENT = "simplified_attention"


@dataclass(frozen=True)
class Run:
    """A run's report and results."""

    report: RunReport
    graded: tuple[SubmissionResult, ...]

    @property
    def already_graded(self) -> int:
        return self.report.already_graded

    @property
    def truncated(self) -> Path | None:
        return self.report.truncated


@pytest.fixture(scope="session")
def course() -> Course:
    return load_course(ROOT)


@pytest.fixture(scope="module")
def mortal_fork_server() -> Iterator[Callable[[Tier], ForkServer]]:
    """Yields a function that returns a tier's fork server, for tests that kill it."""
    with contextlib.ExitStack() as stack:
        yield cache(lambda tier: stack.enter_context(started_fork_server(tier)))


class ClassFolder:
    """A folder of submissions that can be graded, with its results file."""

    def __init__(self, folder: Path, course: Course, fork_server: ForkServer) -> None:
        self.submitted = folder / "submitted"
        self.results = folder / "results.jsonl"
        self._course = course
        self._fork_server = fork_server

    def submit(self, student: str, **files: str) -> Path:
        """Submits the solutions; the given code replaces the modules with the same names."""
        place = self.submitted / student / ASSIGNMENT
        without = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "solutions" / ASSIGNMENT, place, ignore=without)
        for name, text in files.items():
            (place / f"{name}.py").write_text(text, encoding="utf-8")
        return place

    def grade(self, **options: Any) -> Run:
        chosen = {"submitted": self.submitted, "results": self.results, **options}
        engine = SuiteEngine(self._course, lambda tier: contextlib.nullcontext(self._fork_server))
        events = Results()
        report = grade_class([engine], RunOptions(**chosen), events)
        assert report.graded == len(events.results)
        return Run(report, tuple(events.results))

    def grade_one(self, **files: str) -> SubmissionResult:
        """Grades a single submission of these files; returns its result."""
        self.submit("ada", **files)
        (result,) = self.grade().graded
        return result


@pytest.fixture
def a_class(tmp_path: Path, course: Course, fork_server: ForkServer) -> ClassFolder:
    return ClassFolder(tmp_path, course, fork_server)


@pytest.fixture
def impatient_class(tmp_path: Path, course: Course, fork_server: ForkServer) -> ClassFolder:
    """Returns a class in whose course a question may use two CPU seconds instead of eight."""
    assignments = tuple(
        replace(assignment, limits=replace(assignment.limits, cpu_seconds=2.0))
        for assignment in course.assignments
    )
    return ClassFolder(tmp_path, replace(course, assignments=assignments), fork_server)


@pytest.fixture
def questions() -> Callable[[SubmissionResult], dict[str, str]]:
    """Returns a function that returns the verdicts in a result, keyed by question."""

    def by_name(result: SubmissionResult) -> dict[str, str]:
        return {q.question: q.verdict.value for e in result.exercises for q in e.questions}

    return by_name
