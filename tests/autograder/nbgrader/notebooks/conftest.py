"""Provides a course of ordinary nbgrader assignments, released and with submissions."""

from __future__ import annotations

import copy
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import nbformat
import nbgrader
import pytest
from nbformat import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.apps.api import NbGraderAPI
from traitlets.config import Config

from autograder.nbgrader.gradebook.database import opened

from ...forks import Main
from ..commands import run_command
from . import assignments

BIN = Path(sys.executable).parent
GUIDE = Path(nbgrader.__file__).parent / "docs/source/user_guide"
_CONFIG = 'c = get_config()\nc.CourseDirectory.course_id = "cs101"\n'
IN_THE_SANDBOX = "\nfrom autograder.nbgrader import configure\n\nconfigure(c)\n"

#: automatic score, and whether a human must grade, by (student, notebook, cell)
Scores = dict[tuple[str, str, str], tuple[float | None, bool]]


def run(folder: Path, *command: str, main: Main | None = None) -> CompletedProcess[str]:
    """Runs `autograder`, `nbgrader` or `main` in a course's folder; it must succeed."""
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    done = run_command(command, folder, environment, main)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done


def _release() -> None:
    """Does what `nbgrader generate_assignment` does, for all assignments."""
    config = Config()
    config.CourseDirectory.course_id = "cs101"
    interface = NbGraderAPI(config=config)
    for name in sys.argv[1:]:
        done = interface.generate_assignment(name)
        assert done["success"], done["log"]


def scores(folder: Path) -> Scores:
    with Gradebook(f"sqlite:///{folder}/gradebook.db") as gradebook:
        return {
            (submission.student.id, notebook.name, grade.cell.name): (
                grade.auto_score,
                grade.needs_manual_grade,
            )
            for assignment in gradebook.assignments
            for submission in assignment.submissions
            for notebook in submission.notebooks
            for grade in notebook.grades
        }


def changed(notebook: NotebookNode, cells: dict[str, str]) -> NotebookNode:
    """Returns a copy of a notebook in which the named cells have the given sources."""
    copied = copy.deepcopy(notebook)
    for cell in copied.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        cell.source = cells.get(name, cell.source)
    return copied


def write(notebook: NotebookNode, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, path)


Submit = Callable[[Path, str, str, dict[str, str]], NotebookNode]


@pytest.fixture(scope="session")
def submit() -> Submit:
    """Returns a function that submits a released notebook with the given sources in its cells."""

    def into(course: Path, student: str, assignment: str, cells: dict[str, str]) -> NotebookNode:
        released = course / "release" / assignment / f"{assignment}.ipynb"
        made = changed(nbformat.read(released, as_version=4), cells)
        write(made, course / "submitted" / student / assignment / released.name)
        return made

    return into


@pytest.fixture(scope="session")
def released(tmp_path_factory: pytest.TempPathFactory, submit: Submit) -> Path:
    """Returns a course with the released and submitted assignments, which are not graded.

    The assignments are those of `assignments.py` and that of nbgrader's quickstart.
    """
    course = tmp_path_factory.mktemp("cs101")
    for name, source in assignments.ASSIGNMENTS.items():
        write(source, course / "source" / name / f"{name}.ipynb")
    shutil.copytree(GUIDE / "source" / "ps1", course / "source" / "ps1")
    shutil.copytree(GUIDE / "submitted", course / "submitted")
    (course / "nbgrader_config.py").write_text(_CONFIG)
    (course / "source" / "texts" / "poem.txt").write_text("roses are red\n")
    with opened(f"sqlite:///{course / 'gradebook.db'}"):
        pass  # creates the tables without nbgrader, which would start a program for it
    run(course, "release", "ps1", *assignments.ASSIGNMENTS, main=_release)
    for name, students in assignments.SUBMITTED.items():
        for student, cells in students.items():
            submit(course, student, name, cells)
    return course
