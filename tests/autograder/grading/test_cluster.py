"""`grade --scheduler` grades with two dask workers, even if one is killed during the run."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from autograder.course import Course, load_course
from autograder.grading.engine import Scope
from autograder.grading.run import grade_class
from autograder.grading.sources import ListedSubmissions, RunEvents, RunOptions
from autograder.grading.suite_engine import SuiteEngine
from autograder.records import SubmissionResult, SubmissionStatus, Tier
from autograder.results.file import read_results
from autograder.submission import find_submissions

from .conftest import ROOT, ClassFolder

pytest.importorskip("distributed", reason="the extra `cluster` is not installed")

STUDENTS = 36
WRONG = "def query_scores(inputs, query):\n    return inputs @ query\n"
_PYTHON = [sys.executable, "-m"]


@contextlib.contextmanager
def _process(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def _cluster(folder: Path, count: int) -> Iterator[tuple[str, list[subprocess.Popen[str]]]]:
    """Yields the address of a scheduler with workers, each in a separate process."""
    file = folder / "scheduler.json"
    quiet = ["--no-dashboard", "--scheduler-file", str(file)]
    scheduler = [*_PYTHON, "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
    worker = [*_PYTHON, "distributed.cli.dask_worker", "--no-nanny", "--nthreads", "1"]
    with contextlib.ExitStack() as stack:
        stack.enter_context(_process([*scheduler, *quiet]))
        while not file.exists():
            time.sleep(0.05)
        workers = [
            stack.enter_context(
                _process([*worker, *quiet, "--local-directory", str(folder / f"worker-{number}")])
            )
            for number in range(count)
        ]
        yield json.loads(file.read_text())["address"], workers


def _submit(a_class: ClassFolder, number: int) -> None:
    """Submits one exercise that is, by turns, correct, wrong, or invalid Python."""
    place = a_class.submitted / f"s{number:03}" / "simplified_attention"
    place.mkdir(parents=True)
    if number % 3:
        (place / "scores.py").write_text(WRONG if number % 3 == 1 else "def query_scores(:\n")
    else:
        shutil.copy(ROOT / "solutions" / "simplified_attention" / "scores.py", place)


def test_a_killed_worker_loses_no_line_and_duplicates_none(
    a_class: ClassFolder, tmp_path: Path
) -> None:
    for number in range(STUDENTS):
        _submit(a_class, number)
    here = tmp_path / "here.jsonl"
    a_class.grade(results=here, jobs=2)
    kept = here.read_bytes().splitlines(keepends=True)[:5]
    a_class.results.write_bytes(b"".join(kept))
    with _cluster(tmp_path, 2) as (address, workers):
        command = [*_PYTHON, "autograder", "grade", str(a_class.submitted), "--resume", "--json"]
        options = ["--scheduler", address, "--no-gradebook", "--course", str(ROOT)]
        with subprocess.Popen(
            [*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as run:
            while len(a_class.results.read_bytes().splitlines()) == 5 and run.poll() is None:
                time.sleep(0.05)
            os.kill(workers[0].pid, signal.SIGKILL)
            at_the_kill = len(a_class.results.read_bytes().splitlines())
            output, errors = run.communicate()
    assert run.returncode == 0, errors
    assert at_the_kill < STUDENTS
    report = json.loads(output)
    assert (report["graded"], report["already_graded"]) == (STUDENTS - 5, 5)
    lines = read_results(a_class.results)
    assert len(lines) == len({line.student for line in lines}) == STUDENTS
    scores = {line.student: line.score for line in read_results(here)}
    assert {line.student: line.score for line in lines} == scores
    assert len(set(scores.values())) == 3


class _Removing(RunEvents):
    """Removes a folder as soon as the run has found its submission."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def starts(self, tier: Tier | None, to_grade: int, already_graded: int) -> None:
        shutil.rmtree(self._folder)


def test_a_folder_that_disappeared_costs_only_its_own_line(
    a_class: ClassFolder, tmp_path: Path
) -> None:
    for number in range(3):
        _submit(a_class, number)
    found = find_submissions(a_class.submitted, ["simplified_attention"])
    gone = found.submissions[1]
    from autograder.grading.cluster.cluster_run import Cluster  # needs an optional dependency

    with _cluster(tmp_path, 1) as (address, _):
        options = RunOptions(a_class.submitted, a_class.results)
        course = load_course(ROOT)
        cluster = Cluster(address, tmp_path / "secret.key")
        grade_class([SuiteEngine(course)], options, _Removing(gone.folder), backend=cluster)
    lines = {line.student: line for line in read_results(a_class.results)}
    assert set(lines) == {submission.student for submission in found.submissions}
    failed = [student for student, line in lines.items() if line.status is SubmissionStatus.FAILED]
    assert failed == [gone.student]
    assert "No such file or directory" in (lines[gone.student].error or "")


class _EndsOnce:
    """A worker's grader that fails on its first batch and grades the next one."""

    has_ended = True
    answer = b""
    batches = 0

    def __init__(self, *_: object) -> None:
        pass

    def grade(self, batch: list[dict[str, Any]]) -> list[bytes]:
        type(self).batches += 1
        if self.batches == 1:
            raise RuntimeError("ended")
        return [self.answer for _ in batch]

    def close(self) -> None:
        pass


def test_a_grader_that_ended_once_costs_no_result(
    a_class: ClassFolder, course: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from distributed import Client  # needs an optional dependency

    from autograder.grading.cluster import cluster_run, node

    _submit(a_class, 0)
    (assignment,) = (a for a in course.assignments if a.name == "simplified_attention")
    (submission,) = find_submissions(a_class.submitted, [assignment.name]).submissions
    scope = Scope(SuiteEngine(course), {assignment.name: assignment}, {assignment.name: "digest"})
    answer = scope.failed(submission, Tier.A, "answered").to_json()
    monkeypatch.setattr(_EndsOnce, "answer", json.dumps(answer).encode() + b"\n")
    monkeypatch.setattr(node, "WarmGrader", _EndsOnce)
    empty = io.BytesIO()
    zipfile.ZipFile(empty, "w").close()
    plugin = node.GraderPlugin("once", empty.getvalue(), b"secret", [])
    results: list[SubmissionResult] = []
    with Client(
        processes=False, n_workers=1, dashboard_address=None, local_directory=tmp_path,
        set_as_default=False,
    ) as client:  # fmt: skip
        lines = cluster_run._Lines(scope, results.append)
        cluster_run._Run(client, plugin, lines).grade(
            ListedSubmissions([(submission, assignment)]), lambda _: None
        )
    assert [result.error for result in results] == ["answered"]
    assert _EndsOnce.batches == 2
