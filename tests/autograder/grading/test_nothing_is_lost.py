"""After a kill, a full disk or a second grader, `--resume` gives the same scores."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from autograder.course import Course
from autograder.errors import GraderError, UserError
from autograder.grading.run import grade_class
from autograder.grading.sources import RunEvents, RunOptions
from autograder.grading.suite_engine import SuiteEngine
from autograder.records import Exercise, SubmissionResult, SubmissionStatus, Tier
from autograder.results.file import ResultsFile, read_results
from autograder.sandbox import Budget, ForkServer
from autograder.sandbox.replies import Batch
from autograder.sandbox.session import Session
from autograder.submission import read_exercise

from .conftest import ClassFolder

T = TypeVar("T")

WRONG = "def query_scores(inputs, query):\n    return inputs @ query\n"
STUDENTS = ("ada", "bob", "cid", "dee")


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


#: the moment at which the grader dies while it writes its first line
TRUNCATED = 0


class DiesAfter(RunEvents):
    """Ends the grader after this many results, or at the start if the number is -1."""

    def __init__(self, count: int) -> None:
        self._left = count

    def starts(self, tier: Tier | None, to_grade: int, already_graded: int) -> None:
        if self._left < 0:
            _die()

    def graded(self, result: SubmissionResult) -> None:
        self._left -= 1
        if not self._left:
            _die()


def in_another_process(work: Callable[[], object]) -> int:
    """Runs the work in a fork; returns the number of the signal that ended the fork, or 0."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
        finally:
            os._exit(0)
    _, status = os.waitpid(pid, 0)
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


@pytest.fixture
def class_of_four(a_class: ClassFolder) -> ClassFolder:
    for student in STUDENTS:
        a_class.submit(student, **({"scores": WRONG} if student == "bob" else {}))
    return a_class


def scores(path: Path) -> dict[str, float]:
    return {r.student: r.score for r in read_results(path)}


def expected(path: Path) -> dict[str, float]:
    """Returns all points for everybody except bob, who has left one question unanswered."""
    bob = next(r for r in read_results(path) if r.student == "bob")
    (missing,) = [q for e in bob.exercises for q in e.questions if q.verdict == "missing"]
    return dict.fromkeys(STUDENTS, 100.0) | {"bob": 100.0 - missing.max_score}


def _tear(self: ResultsFile, result: SubmissionResult) -> None:
    """Writes half of a result's line, and kills the process."""
    line = json.dumps(result.to_json()).encode()
    os.write(self._file.fileno(), line[: len(line) // 2])
    _die()


@pytest.mark.parametrize("moment", [-1, 1, 3, TRUNCATED])
def test_a_killed_grader_is_resumed_to_the_same_scores(
    moment: int,
    class_of_four: ClassFolder,
    course: Course,
    fork_server: ForkServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    options = RunOptions(class_of_four.submitted, class_of_four.results, jobs=2)
    kept = lambda tier: contextlib.nullcontext(fork_server)  # noqa: E731
    events = DiesAfter(moment)
    with monkeypatch.context() as patched:
        if moment == TRUNCATED:
            patched.setattr(ResultsFile, "append", _tear)
        ended_by = in_another_process(
            lambda: grade_class([SuiteEngine(course, kept)], options, events)
        )
    assert ended_by == signal.SIGKILL
    # the killed grader's jobs may keep the file locked for a moment
    report = _patiently(class_of_four.results, lambda: class_of_four.grade(resume=True, jobs=2))
    assert report.already_graded == max(0, moment)
    assert (report.truncated is not None) == (moment == TRUNCATED)
    lines = class_of_four.results.read_bytes().splitlines()
    assert all(json.loads(line)["schema"] for line in lines)
    assert scores(class_of_four.results) == expected(class_of_four.results)


def _patiently(results: Path, grade: Callable[[], T]) -> T:
    """Repeats `grade` until the jobs of a killed grader release the results file."""
    while True:
        try:
            return grade()
        except UserError as error:
            if "another grader" not in str(error):
                raise
            with open(results, "rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH)  # waits until the file is released


class KillsTheParent(RunEvents):
    """Kills the fork server after the first result."""

    def __init__(self, fork_server: ForkServer) -> None:
        self._fork_server = fork_server
        self.kills = 0

    def graded(self, result: SubmissionResult) -> None:
        if not self.kills:
            self.kills += 1
            self._fork_server._process.kill()


@pytest.mark.parametrize(("tier", "jobs"), [(Tier.A, 2), (Tier.B, 1), (Tier.C, 2)])
def test_a_fork_server_that_dies_is_replaced_within_the_run(
    tier: Tier,
    jobs: int,
    class_of_four: ClassFolder,
    course: Course,
    mortal_fork_server: Callable[[Tier], ForkServer],
) -> None:
    server = mortal_fork_server(tier)
    events = KillsTheParent(server)
    options = RunOptions(class_of_four.submitted, class_of_four.results, jobs=jobs)
    kept = lambda tier: contextlib.nullcontext(server)  # noqa: E731
    grade_class([SuiteEngine(course, kept)], options, events)
    assert events.kills == 1
    assert scores(class_of_four.results) == expected(class_of_four.results)
    lines = read_results(class_of_four.results)
    assert all((r.status, r.isolation) == (SubmissionStatus.GRADED, tier) for r in lines)


@pytest.mark.parametrize("tier", [Tier.A, Tier.B, Tier.C])
def test_a_parent_that_dies_during_a_call_costs_nobody_anything(
    tier: Tier,
    a_class: ClassFolder,
    course: Course,
    mortal_fork_server: Callable[[Tier], ForkServer],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    server, marker, ask = mortal_fork_server(tier), tmp_path / "killed", Session.ask_several

    def ask_and_die(session: Session, budget: Budget, batch: Batch) -> list[Any]:
        if not marker.exists():
            marker.write_text(str(os.getpid()))
            os.kill(server.pid, signal.SIGKILL)
        return ask(session, budget, batch)

    a_class.submit("ada")
    monkeypatch.setattr(Session, "ask_several", ask_and_die)
    options = RunOptions(a_class.submitted, a_class.results)
    kept = lambda tier: contextlib.nullcontext(server)  # noqa: E731
    before = server.pid
    grade_class([SuiteEngine(course, kept)], options, RunEvents())
    assert marker.exists() and server.pid != before
    assert scores(a_class.results) == {"ada": 100.0}


def test_a_full_disk_leaves_whole_lines_and_is_resumed(
    class_of_four: ClassFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.fsync
    count = []

    def full(descriptor: int) -> None:
        count.append(descriptor)
        if len(count) == 3:
            raise OSError(28, "No space left on device")
        write(descriptor)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(GraderError, match="No space left"):
            class_of_four.grade()
    assert len(read_results(class_of_four.results)) == 2
    assert class_of_four.results.read_bytes().endswith(b"\n")
    assert len(class_of_four.grade(resume=True).graded) == 2


def test_a_disk_that_takes_half_a_line_keeps_whole_ones(
    class_of_four: ClassFolder, course: Course, fork_server: ForkServer
) -> None:
    class_of_four.grade()
    (first, *_) = read_results(class_of_four.results)
    path = class_of_four.results.with_name("limited.jsonl")
    script = (
        "import resource, sys, json, pathlib\n"
        "from autograder.errors import GraderError\n"
        "from autograder.results.file import ResultsFile\n"
        "from autograder.records import SubmissionResult\n"
        "result = SubmissionResult.from_json(json.loads(sys.stdin.read()))\n"
        "size = len(json.dumps(result.to_json())) + 1\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (size * 5 // 2,) * 2)\n"
        "with ResultsFile(pathlib.Path(sys.argv[1])) as file:\n"
        "    try:\n"
        "        for _ in range(5):\n"
        "            file.append(result)\n"
        "    except GraderError as error:\n"
        "        print(error)\n"
    )
    import sys

    run = subprocess.run(
        [sys.executable, "-c", script, str(path)],
        input=json.dumps(first.to_json()),
        capture_output=True,
        text=True,
        check=True,
    )
    assert "--resume" in run.stdout
    assert len(read_results(path)) == 2
    assert path.read_bytes().endswith(b"\n")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/dev/full", "not a regular file"),
        ("/proc/version", "can't be written"),
        ("/proc/version/results.jsonl", "can't be written"),
    ],
)
def test_an_unwritable_results_file_is_reported_before_grading(
    path: str, message: str, class_of_four: ClassFolder
) -> None:
    with pytest.raises(UserError, match=message):
        class_of_four.grade(results=Path(path))


def test_two_graders_at_once_write_one_line_each(
    class_of_four: ClassFolder, course: Course, fork_server: ForkServer
) -> None:
    options = RunOptions(class_of_four.submitted, class_of_four.results, resume=True)
    kept = lambda tier: contextlib.nullcontext(fork_server)  # noqa: E731
    pid = os.fork()
    if pid == 0:
        try:
            engine, events = SuiteEngine(course, kept), DiesAfter(99)
            _patiently(options.results, lambda: grade_class([engine], options, events))
        finally:
            os._exit(0)
    _patiently(class_of_four.results, lambda: class_of_four.grade(resume=True))
    os.waitpid(pid, 0)
    assert sorted(r.student for r in read_results(class_of_four.results)) == list(STUDENTS)


def test_a_file_missing_for_a_moment_costs_nobody_anything(
    a_class: ClassFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A synchronization tool may move files during grading, so the submission is read again."""
    place = a_class.submit("ada")
    file, aside, was_away = place / "softmax.py", place / "aside", place / "was_away"

    def moving(folder: Path, exercise: Exercise) -> Any:
        if exercise.name != "softmax" or was_away.exists():
            return read_exercise(folder, exercise)
        was_away.touch()
        file.rename(aside)
        try:
            return read_exercise(folder, exercise)
        finally:
            aside.rename(file)

    monkeypatch.setattr("autograder.grading.submissions.read_exercise", moving)
    (line,) = a_class.grade().graded
    assert was_away.exists()
    assert (line.status, line.score) == (SubmissionStatus.GRADED, 100.0)


def test_a_file_swapped_for_a_moment_is_not_graded(
    a_class: ClassFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The digest is the same before and after grading, so `--resume` would keep the wrong score."""
    place = a_class.submit("ada")
    file, aside, other = place / "scores.py", place / "aside", place / "other"
    other.write_text(WRONG)

    def swapping(folder: Path, exercise: Exercise) -> Any:
        file.rename(aside)
        other.rename(file)
        try:
            return read_exercise(folder, exercise)
        finally:
            file.rename(other)
            aside.rename(file)

    with monkeypatch.context() as patched:
        patched.setattr("autograder.grading.submissions.read_exercise", swapping)
        (line,) = a_class.grade().graded
    assert line.status is SubmissionStatus.FAILED
    assert line.error and "changed or moved while they were graded" in line.error
    (line,) = a_class.grade(resume=True).graded
    assert (line.status, line.score) == (SubmissionStatus.GRADED, 100.0)


def test_a_deleted_folder_is_not_an_empty_submission(
    a_class: ClassFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, aside = a_class.submit("ada"), a_class.submitted.parent / "aside"

    def moving(*args: Any) -> Any:
        if not aside.exists():
            place.rename(aside)
        return read_exercise(*args)

    with monkeypatch.context() as patched:
        patched.setattr("autograder.grading.submissions.read_exercise", moving)
        (line,) = a_class.grade().graded
    assert line.status is SubmissionStatus.FAILED
    assert line.error and "changed or moved while they were graded" in line.error
    aside.rename(place)
    (line,) = a_class.grade(resume=True).graded
    assert (line.status, line.score) == (SubmissionStatus.GRADED, 100.0)
