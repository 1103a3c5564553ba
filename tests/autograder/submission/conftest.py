"""A class that submits what its table says, graded in one run in the sandbox."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from autograder.course import Course, load_course
from autograder.errors import IsolationUnavailable
from autograder.grading.options import RunOptions
from autograder.grading.run import grade_class
from autograder.grading.suite_engine import SuiteEngine
from autograder.records import SubmissionResult, Tier
from autograder.sandbox import ForkServer, start_fork_server

ROOT = Path(__file__).resolve().parents[3]

#: student -> path below the student's folder -> what stands in that file
Submitted = Mapping[str, Mapping[str, bytes]]


class Results:
    """Keeps what a run graded."""

    def __init__(self) -> None:
        self.results: list[SubmissionResult] = []

    def starts(self, tier: Tier | None, to_grade: int, already_graded: int) -> None:
        pass

    def graded(self, result: SubmissionResult) -> None:
        self.results.append(result)


@pytest.fixture(scope="session")
def course() -> Course:
    return load_course(ROOT)


@pytest.fixture(scope="session")
def parent() -> Iterator[ForkServer]:
    try:
        started = start_fork_server()
    except IsolationUnavailable as error:
        pytest.skip(f"no submission is graded on this machine: {error}")
    with started:
        yield started


@pytest.fixture(scope="session")
def graded(
    course: Course, parent: ForkServer, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[Submitted], dict[str, SubmissionResult]]:
    """Grades a class; returns each student's result."""

    def grade(submitted: Submitted) -> dict[str, SubmissionResult]:
        folder = tmp_path_factory.mktemp("class")
        for student, files in submitted.items():
            for path, data in files.items():
                place = folder / "submitted" / student / path
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(data)
        options = RunOptions(folder / "submitted", folder / "results.jsonl", jobs=2)
        events = Results()
        grade_class(
            [SuiteEngine(course, lambda tier: contextlib.nullcontext(parent))], options, events
        )
        return {result.student: result for result in events.results}

    return grade
