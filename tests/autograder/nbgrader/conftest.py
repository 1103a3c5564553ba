"""Provides a class in nbgrader whose assignment was built, submitted, collected and autograded."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from autograder.nbgrader.gradebook.database import opened

from .commands import run_command

REPOSITORY = Path(__file__).resolve().parents[3]
ASSIGNMENT = "simplified_attention"
COURSE = "attention101"
DUE = "2030-01-01 00:00:00 UTC"
IN_TIME, LATE = "2029-12-31 10:00:00 UTC", "2030-02-01 10:00:00 UTC"
SECRET = "a secret of nbgrader's, with which feedback is found"

Notebook = dict[str, Any]


@dataclass(frozen=True)
class NbgraderClass:
    """A class folder, and methods that run its instructor's commands."""

    folder: Path
    exchange: Path
    home: Path

    @property
    def environment(self) -> dict[str, str]:
        """A user's environment, without the machine's Jupyter settings."""
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        own = {"HOME": str(self.home), "PATH": path, "PYTHONWARNINGS": "ignore"}
        kept = {name: value for name, value in os.environ.items() if "JUPYTER" not in name}
        return {**kept, **own}

    def run(self, *command: object, code: int | None = 0, cwd: Path | None = None) -> str:
        """Runs a command in the class folder or in `cwd`; returns its output."""
        done = subprocess.run(
            [str(word) for word in command], cwd=cwd or self.folder, env=self.environment,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        assert code in (None, done.returncode), done.stdout[-3000:]
        return done.stdout

    def nbgrader(self, *words: object, code: int = 0, cwd: Path | None = None) -> str:
        """Runs an nbgrader command in a fork."""
        return self._in_a_fork(["nbgrader", *words], code, cwd)

    def autograder(self, *words: object, code: int = 0) -> str:
        """Runs an `autograder` command in a fork."""
        return self._in_a_fork(["autograder", *words], code)

    def _in_a_fork(self, words: Sequence[object], code: int, cwd: Path | None = None) -> str:
        done = run_command(words, cwd or self.folder, self.environment)
        printed = done.stdout + done.stderr
        assert done.returncode == code, printed[-3000:]
        return printed

    def notebook(self, step: str, student: str, name: str) -> Notebook:
        """Returns a student's notebook in the folder of one of nbgrader's steps."""
        path = self.folder / step / student / ASSIGNMENT / f"{name}.ipynb"
        document: Notebook = json.loads(path.read_text())
        return document


def cell_of(notebook: Notebook, name: str) -> dict[str, Any]:
    """Returns the cell that has this name in its nbgrader metadata."""
    cells = notebook["cells"]
    found = [c for c in cells if c["metadata"].get("nbgrader", {}).get("grade_id") == name]
    assert len(found) == 1, name
    cell: dict[str, Any] = found[0]
    return cell


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> NbgraderClass:
    """Returns a course with our assignment plus a written question, and an ordinary assignment."""
    root = tmp_path_factory.mktemp("nbgrader")
    place = NbgraderClass(root / COURSE, root / "exchange", root / "home")
    for folder in (place.folder, place.exchange, place.home):
        folder.mkdir()
    place.exchange.chmod(0o777)
    place.autograder("nbgrader", ".", ASSIGNMENT, "--course", REPOSITORY)
    config = place.folder / "nbgrader_config.py"
    own = f'c.Exchange.root = "{place.exchange}"\nc.LateSubmissionPlugin.penalty_method = "zero"\n'
    config.write_text(config.read_text() + own)
    shutil.copytree(place.folder / "source", root / "as_written")
    _add_written_question(place.folder / "source" / ASSIGNMENT / "context.ipynb")
    _add_own_assignment(place.folder / "source" / "warm_up")
    extras = place.folder / "source" / ASSIGNMENT / "extras"
    extras.mkdir()
    (extras / "tour.ipynb").write_text(json.dumps(new_notebook()))
    with opened(f"sqlite:///{place.folder / 'gradebook.db'}"):
        pass  # creates the tables without nbgrader, which would start a program for it
    for name in (ASSIGNMENT, "warm_up"):
        place.nbgrader("generate_assignment", name)
    place.nbgrader("db", "assignment", "add", ASSIGNMENT, f"--duedate={DUE}")
    return place


def _add_written_question(path: Path) -> None:
    notebook = json.loads(path.read_text())
    metadata = {"schema_version": 3, "grade_id": "why", "grade": True, "solution": True}
    metadata |= {"locked": False, "task": False, "points": 5}
    cell = new_markdown_cell("Why do the weights sum to one?", metadata={"nbgrader": metadata})
    notebook["cells"].append({**cell, "id": "why"})
    path.write_text(json.dumps(notebook))


def _add_own_assignment(folder: Path) -> None:
    """Writes an assignment as in nbgrader's documentation: an answer and a partly hidden test."""
    kinds = {"grade": False, "solution": False, "locked": False, "task": False}
    answer = new_code_cell("### BEGIN SOLUTION\nx = 2\n### END SOLUTION")
    answer.metadata["nbgrader"] = kinds | {"grade_id": "x", "schema_version": 3, "solution": True}
    test = new_code_cell("assert x\n### BEGIN HIDDEN TESTS\nassert x == 2\n### END HIDDEN TESTS")
    test.metadata["nbgrader"] = kinds | {"grade_id": "test_x", "schema_version": 3}
    test.metadata["nbgrader"] |= {"grade": True, "locked": True, "points": 4}
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook = new_notebook(cells=[answer, test], metadata={"kernelspec": kernel})
    folder.mkdir(parents=True)
    (folder / "adding.ipynb").write_text(json.dumps(notebook))


@pytest.fixture(scope="session")
def collected(built: NbgraderClass) -> NbgraderClass:
    """Returns the class after its submissions are collected from the exchange.

    One student used `submit`; the other submissions were written into the exchange.
    """
    built.nbgrader("release_assignment", ASSIGNMENT)
    student = built.home / "student"
    student.mkdir()
    options = [f"--Exchange.root={built.exchange}", f"--course={COURSE}"]
    built.nbgrader("fetch_assignment", ASSIGNMENT, *options, cwd=student)
    _solve(student / ASSIGNMENT, built)
    built.nbgrader("submit", ASSIGNMENT, *options, "--student=ada", cwd=student)
    for name, (change, stamp) in STUDENTS.items():
        folder = built.exchange / COURSE / "inbound" / f"{name}+{ASSIGNMENT}+{stamp}+0"
        shutil.copytree(student / ASSIGNMENT, folder)
        (folder / "timestamp.txt").write_text(stamp)
        (folder / "submission_secret.txt").write_text(f"{SECRET} {name}")
        change(folder)
    (built.exchange / COURSE / "ran").unlink(missing_ok=True)
    built.nbgrader("collect", ASSIGNMENT)
    warm_up = built.folder / "submitted" / "ada" / "warm_up"
    shutil.copytree(built.folder / "source" / "warm_up", warm_up)
    return built


@pytest.fixture(scope="session")
def autograded(collected: NbgraderClass) -> NbgraderClass:
    """Returns the class after `nbgrader autograde`, which reported no error."""
    log = collected.run("nbgrader", "autograde", ASSIGNMENT)
    assert "ERROR" not in log
    return collected


def _solve(folder: Path, built: NbgraderClass) -> None:
    """Replaces every answer in the notebooks with the solution."""
    for path in folder.glob("*.ipynb"):
        source = json.loads((built.folder / "source" / ASSIGNMENT / path.name).read_text())
        notebook = json.loads(path.read_text())
        for cell in notebook["cells"]:
            kept = cell["metadata"].get("nbgrader", {})
            if kept.get("solution") and cell["cell_type"] == "code":
                cell["source"] = cell_of(source, kept["grade_id"])["source"]
        path.write_text(json.dumps(notebook))


def _edit(name: str, change: Callable[[Notebook], object]) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        path = folder / f"{name}.ipynb"
        notebook = json.loads(path.read_text())
        change(notebook)
        path.write_text(json.dumps(notebook))

    return edit


def _answer(name: str, question: str, code: str) -> Callable[[Path], None]:
    return _edit(name, lambda notebook: cell_of(notebook, question).update(source=code))


def _duplicate(notebook: Notebook) -> None:
    notebook["cells"].append(dict(cell_of(notebook, "attention_scores"), id="again"))


def _from_the_future(notebook: Notebook) -> None:
    for cell in notebook["cells"]:
        if "nbgrader" in cell["metadata"]:
            cell["metadata"]["nbgrader"]["schema_version"] = 99


def _torn(folder: Path) -> None:
    (folder / "scores.ipynb").write_text('{"cells": [')


def _as_module(folder: Path, names: tuple[str, ...] = ("softmax",)) -> None:
    for name in names:
        (folder / f"{name}.ipynb").unlink()
        shutil.copy(REPOSITORY / "solutions" / ASSIGNMENT / f"{name}.py", folder)


def _only_modules(folder: Path) -> None:
    _as_module(folder, ("scores", "softmax", "context"))


_OVERFLOWS = """\
def softmax(scores: torch.Tensor, dim: int = -1) -> torch.Tensor:
    return scores.exp() / scores.exp().sum(dim=dim, keepdim=True)
"""
_RUNS = """\
def query_scores(inputs, query):
    open({path!r}, "w").write("student code ran where the course is")
    return inputs @ query
"""


def _attack(folder: Path) -> None:
    code = _RUNS.format(path=str(folder.parents[1] / "ran"))
    _answer("scores", "query_scores", code)(folder)


def _nothing(folder: Path) -> None:
    pass


#: each student's change to a correct submission, and the time of the submission
STUDENTS: dict[str, tuple[Callable[[Path], None], str]] = {
    "ben": (_answer("softmax", "softmax", _OVERFLOWS), IN_TIME),
    "tom": (_nothing, LATE),
    "dup": (_edit("scores", _duplicate), IN_TIME),
    "future": (_edit("scores", _from_the_future), IN_TIME),
    "torn": (_torn, IN_TIME),
    "half": (_as_module, IN_TIME),
    "modules": (_only_modules, IN_TIME),
    "eve": (_attack, IN_TIME),
}
