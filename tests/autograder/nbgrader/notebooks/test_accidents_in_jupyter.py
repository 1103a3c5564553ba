"""An accident in Jupyter costs at most the points of one cell, and does not stop the grading."""

from __future__ import annotations

import json

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from nbgrader.api import Gradebook

from autograder.nbgrader.gradebook.database import opened

from .conftest import run

KINDS: dict[str, object] = {
    "grade": False,
    "solution": False,
    "locked": False,
    "task": False,
    "schema_version": 3,
}


def notebook(answer: str, **turned: bool) -> str:
    """Returns a notebook like nbgrader's quickstart, in format 4.0, which has no cell ids.

    The cells named in `turned` become Markdown cells.
    """
    made = new_notebook(nbformat_minor=0)
    made.metadata["kernelspec"] = {"display_name": "Python 3", "name": "python3"}
    cells: dict[str, tuple[str, dict[str, object]]] = {
        "x": (answer, {"solution": True}),
        "test_x": ("assert x == 2", {"grade": True, "locked": True, "points": 4}),
    }
    for name, (source, kind) in cells.items():
        make = new_markdown_cell if turned.get(name) else new_code_cell
        cell = make(source, metadata={"nbgrader": KINDS | kind | {"grade_id": name}})
        del cell["id"]
        made.cells.append(cell)
    return json.dumps(made)


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, float]:
    """Returns the points of each student from `nbgrader autograde`."""
    folder = tmp_path_factory.mktemp("accidents")
    (folder / "source" / "ps1").mkdir(parents=True)
    source = notebook("### BEGIN SOLUTION\nx = 2\n### END SOLUTION")
    (folder / "source" / "ps1" / "p.ipynb").write_text(source)
    (folder / "nbgrader_config.py").write_text(
        "c = get_config()\nfrom autograder.nbgrader import configure\nconfigure(c)\n"
    )
    address = f"sqlite:///{folder / 'gradebook.db'}"
    with opened(address):
        pass  # creates the tables without nbgrader, which would start a program for it
    submitted = {
        "right": ("p.ipynb", notebook("x = 2")),
        "renamed": ("p (1).ipynb", notebook("x = 2")),
        "test_turned": ("p.ipynb", notebook("x = 2", test_x=True)),
        "answer_turned": ("p.ipynb", notebook("x = 2", x=True)),
        "wrong": ("p.ipynb", notebook("x = 3")),
    }
    for student, (name, text) in submitted.items():
        place = folder / "submitted" / student / "ps1"
        place.mkdir(parents=True)
        (place / name).write_text(text)
    for step in ("generate_assignment", "autograde"):
        done = run(folder, "nbgrader", step, "ps1")
    assert "renamed/ps1: look at p (1).ipynb" in done.stderr
    with Gradebook(address) as gradebook:
        return {s.student.id: s.score for s in gradebook.assignment_submissions("ps1")}


def test_a_student_with_renamed_notebooks_only_stops_nobody(graded: dict[str, float]) -> None:
    assert graded["renamed"] == 0
    assert (graded["right"], graded["wrong"]) == (4, 0)


@pytest.mark.parametrize("student", ["test_turned", "answer_turned"])
def test_a_cell_that_was_turned_into_markdown_is_turned_back(
    student: str, graded: dict[str, float]
) -> None:
    assert graded[student] == 4
