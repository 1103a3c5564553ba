"""The main job, as its user calls it: the example class, from files to nbgrader's export."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.records import SubmissionResult
from autograder.results.file import read_results

ROOT = Path(__file__).resolve().parents[3]
EXPECTED = json.loads((ROOT / "examples" / "expected.json").read_text())
CASES = [(student, name) for student, work in EXPECTED.items() for name in work]


def _autograder(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "autograder", *arguments, "--course", str(ROOT)]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)


@pytest.fixture(scope="module")
def class_folder(tmp_path_factory: pytest.TempPathFactory, fork_server: object) -> Path:
    folder = tmp_path_factory.mktemp("class")
    shutil.copytree(ROOT / "examples" / "submitted", folder / "submitted")
    done = _autograder("grade", str(folder / "submitted"), "--jobs", "2", "--gradebook")
    assert done.returncode == 0, done.stderr
    (folder / "stdout.txt").write_text(done.stdout)
    return folder


@pytest.fixture(scope="module")
def results(class_folder: Path) -> dict[tuple[str, str], SubmissionResult]:
    lines = read_results(class_folder / "results.jsonl")
    return {(line.student, line.assignment): line for line in lines}


def test_every_submission_has_one_line(results: dict[tuple[str, str], SubmissionResult]) -> None:
    assert sorted(results) == sorted(CASES)


@pytest.mark.parametrize(("student", "assignment"), CASES)
def test_scores_and_verdicts_are_as_expected(
    results: dict[tuple[str, str], SubmissionResult], student: str, assignment: str
) -> None:
    got = {
        exercise.exercise: {q.question: [q.score, q.verdict.value] for q in exercise.questions}
        for exercise in results[student, assignment].exercises
    }
    assert got == EXPECTED[student][assignment]


def test_the_table_names_every_student_and_what_needs_a_look(class_folder: Path) -> None:
    table = (class_folder / "stdout.txt").read_text()
    for student in EXPECTED:
        assert student in table
    assert "did not end in time" in table
    assert "not allowed" in table


def test_nbgraders_export_agrees_with_the_results(
    class_folder: Path, results: dict[tuple[str, str], SubmissionResult]
) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command = [sys.executable, "-m", "nbgrader", "export", "--to", "exported.csv"]
    subprocess.run(
        command, cwd=class_folder, env={**os.environ, "PATH": path}, check=True, capture_output=True
    )
    with open(class_folder / "exported.csv", newline="") as file:
        rows = {(row["student_id"], row["assignment"]): row for row in csv.DictReader(file)}
    for key, result in results.items():
        assert float(rows[key]["score"]) == result.score
        assert float(rows[key]["max_score"]) == result.max_score


def test_feedback_and_csv_are_written_for_all(
    class_folder: Path, results: dict[tuple[str, str], SubmissionResult]
) -> None:
    assert _autograder("feedback", str(class_folder)).returncode == 0
    done = subprocess.run(
        [sys.executable, "-m", "autograder", "export", "csv", str(class_folder)], check=False
    )
    assert done.returncode == 0
    for student, assignment in results:
        assert (class_folder / "feedback" / student / assignment / "feedback.html").is_file()
    with open(class_folder / "grades.csv", newline="", encoding="utf-8-sig") as file:
        assert sorted(row["student"] for row in csv.DictReader(file)) == sorted(EXPECTED)


def test_json_is_one_document_and_nothing_else(class_folder: Path) -> None:
    done = _autograder("grade", str(class_folder / "submitted"), "--resume", "--json")
    document = json.loads(done.stdout)
    assert document["graded"] == 0
    assert document["already_graded"] == len(CASES)
    assert {row["student"] for row in document["submissions"]} == set(EXPECTED)
