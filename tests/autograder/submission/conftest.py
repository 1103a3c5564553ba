"""Provides a class whose submissions come from a table and are graded in one run."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from autograder.course import Course, load_course
from autograder.grading.run import grade_class
from autograder.grading.sources import RunOptions
from autograder.grading.suite_engine import SuiteEngine
from autograder.records import SubmissionResult
from autograder.sandbox import ForkServer

from ..grading_runs import Results

ROOT = Path(__file__).resolve().parents[3]

#: the contents of files, by student and by path below the student's folder
Submitted = Mapping[str, Mapping[str, bytes]]


@pytest.fixture(scope="session")
def course() -> Course:
    """Returns the course; a question may use one CPU second, so that endless loops end soon."""
    course = load_course(ROOT)
    assignments = tuple(
        replace(assignment, limits=replace(assignment.limits, cpu_seconds=1.0))
        for assignment in course.assignments
    )
    return replace(course, assignments=assignments)


@pytest.fixture(scope="session")
def graded(
    course: Course, fork_server: ForkServer, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[Submitted], dict[str, SubmissionResult]]:
    """Returns a function that grades a class and returns its results by student."""

    def grade(submitted: Submitted) -> dict[str, SubmissionResult]:
        folder = tmp_path_factory.mktemp("class")
        for student, files in submitted.items():
            for path, data in files.items():
                place = folder / "submitted" / student / path
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(data)
        options = RunOptions(folder / "submitted", folder / "results.jsonl", jobs=2)
        events = Results()
        engine = SuiteEngine(course, lambda tier: contextlib.nullcontext(fork_server))
        grade_class([engine], options, events)
        return {result.student: result for result in events.results}

    return grade
