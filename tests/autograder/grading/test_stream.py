"""`grade -` answers each line until its input ends."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import shutil
import socket
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from autograder.course import Course
from autograder.grading.stream import (
    LONGEST_LINE,
    RefusedLine,
    StreamOptions,
    StreamReport,
    _LineReader,
    grade_lines,
)
from autograder.grading.submissions import SubmissionGrader
from autograder.grading.suite_engine import SuiteEngine
from autograder.records import Assignment, SubmissionResult
from autograder.results.file import read_results
from autograder.sandbox import ForkServer

from .conftest import ClassFolder

ASSIGNMENT = "simplified_attention"
WRONG = "def query_scores(inputs, query):\n    return inputs @ query\n"


class Stream:
    """Grades lines that a test writes.

    `then` is called after each answer, and may write further lines or end the input.
    """

    def __init__(self, folder: Path, course: Course, fork_server: ForkServer) -> None:
        self.answers: list[SubmissionResult | RefusedLine] = []
        self._options = StreamOptions(folder / "secret.key", assignment=ASSIGNMENT)
        self._engine = SuiteEngine(course, lambda tier: contextlib.nullcontext(fork_server))
        self._near, self._far = socket.socketpair()

    @property
    def results(self) -> list[SubmissionResult]:
        return [answer for answer in self.answers if isinstance(answer, SubmissionResult)]

    def write(self, *lines: object) -> None:
        self._near.sendall("".join(f"{line}\n" for line in lines).encode())

    def end(self) -> None:
        # a pipe would stay open in the jobs, which are forks of this process
        self._near.shutdown(socket.SHUT_WR)

    def grade(self, then: Callable[[], None] = lambda: None, **options: Any) -> StreamReport:
        def answer(one: SubmissionResult | RefusedLine) -> None:
            self.answers.append(one)
            then()

        wanted = replace(self._options, **options)
        with self._near, self._far:
            descriptor = self._far.fileno()
            return grade_lines(self._engine, descriptor, wanted, lambda tier: None, answer)


@pytest.fixture
def stream(tmp_path: Path, course: Course, fork_server: ForkServer) -> Stream:
    return Stream(tmp_path, course, fork_server)


def test_each_line_is_answered_until_the_end_of_input(a_class: ClassFolder, stream: Stream) -> None:
    right, wrong = a_class.submit("ada"), a_class.submit("bob", scores=WRONG)
    link = a_class.submitted / "link"
    link.symlink_to(right)
    misspelt = json.dumps({"path": str(right), "attemp": 2})
    stream.write(right, "", a_class.submitted / "nobody", link, '{"path": 3}', misspelt, wrong)
    stream.end()
    report = stream.grade(jobs=2)
    assert (report.graded, report.refused, report.failed) == (2, 4, 0)
    refused = [a for a in stream.answers if isinstance(a, RefusedLine)]
    assert [(r.line, r.reason.partition(";")[0]) for r in refused] == [
        (3, f"{a_class.submitted / 'nobody'} is not a folder"),
        (4, f"{link} is a link, and links are not followed"),
        (5, 'a line is a path, or {"path": PATH, "attempt": N}, where N is at least 1'),
        (6, 'a line is a path, or {"path": PATH, "attempt": N}, where N is at least 1'),
    ]
    scores = {result.student: result.score for result in stream.results}
    assert scores["ada"] == 100 > scores["bob"]
    assert all(json.loads(json.dumps(a.to_json()))["schema"] for a in stream.answers)


def test_a_long_line_is_refused_and_not_repeated() -> None:
    answers: list[Any] = []
    nothing: Any = None
    reader = _LineReader(nothing, None, nothing, answers.append)
    assert reader.task_of(b"x" * (LONGEST_LINE + 1)) is None
    (refused,) = answers
    assert len(refused.path) == 200 and "more than" in refused.reason


def test_answers_come_before_the_next_line_and_ended_jobs_return(
    a_class: ClassFolder, stream: Stream
) -> None:
    right = a_class.submit("ada")

    def next_one() -> None:
        if len(stream.answers) == 1:
            for job in multiprocessing.active_children():
                job.kill()
                job.join()
            stream.write(json.dumps({"path": str(right), "attempt": 7}))
            stream.end()

    stream.write(right)
    stream.grade(next_one)
    assert [(r.attempt, r.score) for r in stream.results] == [(1, 100), (7, 100)]


def test_each_assignment_is_planned_when_its_first_submission_comes(
    a_class: ClassFolder, stream: Stream, course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned: list[str] = []
    prepare = SubmissionGrader.prepare

    def noted(self: SubmissionGrader, assignments: Sequence[Assignment]) -> None:
        planned.extend(assignment.name for assignment in assignments)
        prepare(self, assignments)

    monkeypatch.setattr(SubmissionGrader, "prepare", noted)
    solutions = {a.name: a.exercises[0].solution for a in course.assignments}
    places: list[Path] = []
    for name in (ASSIGNMENT, "self_attention", ASSIGNMENT):
        places.append(a_class.submitted / f"s{len(places)}" / name)
        places[-1].mkdir(parents=True)
        shutil.copy(solutions[name], places[-1])
    when_answered: list[list[str]] = []

    def next_one() -> None:
        when_answered.append(list(planned))
        if len(stream.answers) < len(places):
            stream.write(places[len(stream.answers)])
        else:
            stream.end()

    stream.write(places[0])
    stream.grade(next_one, assignment=None)
    both = [ASSIGNMENT, "self_attention"]
    assert when_answered == [[ASSIGNMENT], both, both]
    assert all(result.exercises[0].score > 0 for result in stream.results)


def test_with_a_results_file_lines_are_kept_and_attempts_counted(
    a_class: ClassFolder, stream: Stream
) -> None:
    place = a_class.submit("ada")

    def once_more() -> None:
        if len(stream.answers) == 1:
            (place / "scores.py").write_text(WRONG)
            stream.write(place)
            stream.end()

    stream.write(place)
    stream.grade(once_more, results=a_class.results)
    kept = read_results(a_class.results)
    assert kept == stream.answers
    assert [line.attempt for line in kept] == [1, 2]
