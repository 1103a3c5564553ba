"""Runs each of the three graders on a class, in the way that the grader's manual recommends."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from .cases import HONEST, MARK, POINTS

ROOT = Path(__file__).resolve().parents[2]
OTTER = ROOT / "build" / "otter" / "bin" / "otter"
ASSIGNMENT, EXERCISE = "basics", "numbers"
#: how many seconds a grader may take; each first starts a kernel or loads torch
PATIENCE_SECONDS = 240.0

#: the hidden test for each question, written as in nbgrader's and otter's manuals
TESTS = {
    "double": f"assert torch.allclose(double(torch.tensor([1.0, 2.0])), torch.tensor([2.0, 4.0]))"
    f"  # {MARK}",
    "half": f"assert torch.allclose(half(torch.tensor([1.0, 2.0])), torch.tensor([0.5, 1.0]))"
    f"  # {MARK}",
}
_SUITE = f'''"""Hidden suite, {MARK}."""
import pytest
from autograder.suite import Draw, Expect

@pytest.mark.question("double", points={POINTS})
def test_double(expect: Expect, draw: Draw) -> None:
    expect.same("double", draw.normal(3, 4), likely="twice")

@pytest.mark.question("half", points={POINTS})
def test_half(expect: Expect, draw: Draw) -> None:
    expect.same("half", draw.normal(3, 4), likely="half")
'''
_SETTINGS = f'title = "Numbers"\nexercises = ["{EXERCISE}"]\n[limits]\ncpu_seconds = 2\n'

Scores = Mapping[str, float | None]


class GraderHangs(Exception):
    """Raised if a grader does not end within the time limit."""


def run(command: list[str | Path], folder: Path) -> None:
    """Runs a command; after the time limit, kills all its processes and raises `GraderHangs`."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # for alembic
    with open(folder / "log.txt", "ab") as log:
        process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            env={**os.environ, "PATH": path}, start_new_session=True,
        )  # fmt: skip
        try:
            process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.wait()
            raise GraderHangs from None


def nbgrader_course(place: Path) -> None:
    """Makes an nbgrader course, and generates the assignment that students get."""
    source = place / "source" / ASSIGNMENT
    source.mkdir(parents=True)
    (source / f"{EXERCISE}.ipynb").write_text(json.dumps(_source_notebook()))
    (place / "nbgrader_config.py").write_text("c = get_config()\nc.CourseDirectory.root = '.'\n")
    run([sys.executable, "-m", "nbgrader", "generate_assignment", ASSIGNMENT], place)
    if not (place / "release" / ASSIGNMENT / f"{EXERCISE}.ipynb").exists():
        raise SystemExit((place / "log.txt").read_text())


def _source_notebook() -> dict[str, object]:
    solution = f"### BEGIN SOLUTION\n{HONEST}### END SOLUTION"
    cells = [_cell("answers", solution, solution=True)]
    for name, test in TESTS.items():
        hidden = f"### BEGIN HIDDEN TESTS\n{test}\n### END HIDDEN TESTS"
        cells.append(_cell(f"test_{name}", hidden, points=POINTS))
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return {
        "cells": cells,
        "metadata": {"kernelspec": kernel},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def _cell(name: str, source: str, solution: bool = False, points: float = 0.0) -> dict[str, object]:
    marks = {
        "grade_id": name, "schema_version": 3, "task": False,
        "solution": solution, "grade": not solution, "locked": not solution,
    }  # fmt: skip
    if not solution:
        marks["points"] = points
    return {
        "cell_type": "code", "execution_count": None, "id": name, "outputs": [],
        "metadata": {"nbgrader": marks}, "source": source,
    }  # fmt: skip


def by_nbgrader(place: Path) -> Scores:
    """Runs `nbgrader autograde` in a course that `nbgrader_course` made."""
    run([sys.executable, "-m", "nbgrader", "autograde", ASSIGNMENT], place)
    query = """
        select submitted_assignment.student_id,
               sum(coalesce(grade.manual_score, grade.auto_score)),
               min(grade.auto_score is not null)
        from submitted_assignment
        join submitted_notebook on submitted_notebook.assignment_id = submitted_assignment.id
        join grade on grade.notebook_id = submitted_notebook.id
        group by submitted_assignment.student_id"""
    with closing(sqlite3.connect(place / "gradebook.db")) as database:
        rows = database.execute(query).fetchall()
    return {student: score if complete else None for student, score, complete in rows}


def by_otter(place: Path) -> Scores:
    """Runs `otter run` for each submission, without otter's container, which would need Docker."""
    tests = place / "tests"
    tests.mkdir()
    for name, test in TESTS.items():
        case = {"code": f">>> import torch\n>>> {test}\n", "hidden": True, "locked": False}
        document = {
            "name": name,
            "points": POINTS,
            "suites": [{"cases": [case], "type": "doctest"}],
        }
        (tests / f"{name}.py").write_text(f"OK_FORMAT = True\ntest = {document!r}\n")
    run([OTTER, "generate", "-t", tests, "-o", place / "autograder.zip"], place)
    scores: dict[str, float | None] = {}
    for path in sorted((place / "submitted").glob(f"*/{ASSIGNMENT}/{EXERCISE}.ipynb")):
        student = path.parents[1].name
        output = place / "output" / student
        output.mkdir(parents=True)
        run([OTTER, "run", "-a", place / "autograder.zip", "-o", output, path], place)
        scores[student] = _score_of_otter(output / "results.json")
    return scores


def _score_of_otter(path: Path) -> float | None:
    if not path.exists():
        return None
    tests = json.loads(path.read_text())["tests"]
    graded = [test["score"] for test in tests if test["name"] in TESTS]
    return sum(graded) if len(graded) == len(TESTS) else None


def by_ours(place: Path) -> Scores:
    """Runs `autograder grade` with a hidden suite for the same two questions."""
    for name, text in (
        (f"solutions/{ASSIGNMENT}/{EXERCISE}.py", _solution()),
        (f"source/{ASSIGNMENT}/assignment.toml", _SETTINGS),
        (f"tests/hidden/{ASSIGNMENT}/test_{EXERCISE}.py", _SUITE),
    ):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    results = place / "graded.jsonl"
    command = [sys.executable, "-m", "autograder", "grade"]
    options: list[str | Path] = ["--course", place, "--results", results, "--no-gradebook"]
    run([*command, place / "submitted", *options], place)
    lines = [json.loads(line) for line in results.read_text().splitlines()]
    return {r["student"]: r["score"] if r["status"] == "graded" else None for r in lines}


def _solution() -> str:
    functions = HONEST.partition("\n\n")[2].split("\n\n")
    marked = [
        text.replace("    return", "    ### BEGIN SOLUTION\n    return").rstrip()
        + "\n    ### END SOLUTION\n"
        for text in functions
    ]
    named = [text.replace(":\n", ':\n    """A number."""\n', 1) for text in marked]
    return '"""Numbers."""\n\nimport torch\n\n\n' + "\n\n".join(named)


def copy_course(course: Path, place: Path) -> None:
    shutil.copytree(course, place)
