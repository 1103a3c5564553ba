"""A hostile or broken notebook loses at most its own points, and honest notebooks lose none."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from autograder.errors import SubmissionError
from autograder.nbgrader.gradebook.database import opened
from autograder.nbgrader.notebooks.notebook_engine import NotebookGrader
from autograder.submission import Submission

from .assignments import SUBMITTED
from .conftest import Submit, run, scores

HONEST = SUBMITTED["texts"]["right"]
FULL = {"words_type": 1, "words_right": 2, "first_right": 1, "printed_right": 1}
FULL |= {"quiet": 1, "file": 1, "whole": 1}

#: by student, the cells that replace an honest student's, and the cells that lose their points
ATTACKS: dict[str, tuple[dict[str, str], set[str]]] = {
    "ends_process": ({"first": "import os\nos._exit(0)"}, {"first_right"}),
    "ends_in_a_test": (
        {"printed": "import os\ndef report(text):\n    os._exit(0)"},
        {"printed_right", "quiet"},
    ),
    "never_ends": ({"first": "while True:\n    pass"}, {"first_right"}),
    "sleeps": ({"first": "import time\ntime.sleep(10_000)"}, {"first_right"}),
    "exits": ({"first": "first = 'b'\nexit()"}, set()),
    "reads_the_source": (
        {"first": "first = open('../../../source/texts/texts.ipynb').read()"},
        {"first_right"},
    ),
    "starts_a_program": (
        {"first": "import subprocess\nfirst = subprocess.check_output('ls', text=True)"},
        {"first_right"},
    ),
    "floods": (
        {"printed": "def report(text):\n    print('x' * 10_000_000)"},
        {"printed_right"},
    ),
    "strips_asserts": (
        {
            "words": "import ast\nclass Strip(ast.NodeTransformer):\n"
            "    def visit_Assert(self, node):\n        return ast.Pass()\n"
            "get_ipython().ast_transformers.append(Strip())\n"
            "def words(text):\n    return {'a': 0, 'b': 0}",
            "first": "first = 'b'",
            "printed": "def report(text):\n    print('a', 1)\n    print('b', 2)",
        },
        {"words_type", "words_right", "file"},
    ),
    "replaces_run_cell": (
        {
            "words": "type(get_ipython()).run_cell = lambda *a, **k: None\n"
            "def words(text):\n    return {'a': 0, 'b': 0}",
        },
        {"words_type", "words_right", "file", "printed_right"},
    ),
    "hides_tracebacks": (
        {
            "words": "ip = get_ipython()\n"
            "type(ip)._showtraceback = type(ip).showtraceback = lambda *a, **k: None\n"
            "def words(text):\n    return {'a': 0, 'b': 0}",
        },
        {"words_type", "words_right", "file", "printed_right"},
    ),
    "compiles_nothing": (
        {
            "words": "compiler = type(get_ipython().compile)\n"
            "compiler.__call__ = lambda *a, **k: compile('pass', 'x', 'exec')\n"
            "def words(text):\n    return {'a': 0, 'b': 0}",
        },
        set(FULL),
    ),
    "writes_replies_ahead": (
        {
            "first": "import json, os, struct\n"
            "header = json.dumps({'U': ['ok', {'L': []}]}).encode()\n"
            "for number in range(20):\n"
            "    os.write(3, struct.pack('<IIQ', number, len(header), 0) + header)"
        },
        {"first_right"},
    ),
}


#: code that searches IPython's records of executed code for the previous cell's hidden test
SPY = """\
import linecache
shell = get_ipython()
names = {name: value for name, value in globals().items() if name.startswith("_i")}
kept = [In, list(linecache.cache.values()), shell.history_manager.input_hist_raw, names]
print(("or not" + " to BE") in repr([*kept, shell.last_execution_result]))
first = "b"
"""


def _giant(path: Path) -> None:
    with open(path, "wb") as file:
        file.truncate(1 << 40)


def _many(path: Path) -> None:
    path.mkdir()
    for number in range(1_001):
        (path / str(number)).touch()


#: by student, a file that can't be copied or read to its end, the function that makes it, and the
#: student's points
SPECIAL: dict[str, tuple[str, Callable[[Path], object], float]] = {
    "giant": ("data.bin", _giant, 0),
    "giant_notebook": ("texts.ipynb", _giant, 0),
    "many_files": ("data", _many, 0),
    "endless": ("data.bin", lambda path: path.symlink_to("/dev/zero"), 8),
    "endless_notebook": ("texts.ipynb", lambda path: path.symlink_to("/dev/zero"), 0),
    "endless_folder": ("data", lambda path: path.symlink_to("/"), 8),
    "pipe": ("data.bin", os.mkfifo, 8),
    "pipe_notebook": ("texts.ipynb", os.mkfifo, 0),
    "other_notebook": ("other.ipynb", lambda path: path.symlink_to("/dev/zero"), 8),
    "odd_name": ("\x1b[2J*[?].bin", lambda path: path.symlink_to("/dev/zero"), 8),
}


@dataclass(frozen=True)
class Graded:
    """A graded course, and the JSON output of the command."""

    folder: Path
    document: dict[str, Any]

    def points(self, student: str) -> dict[str, float | None]:
        found = scores(self.folder).items()
        return {cell: score for (who, _, cell), (score, _) in found if who == student}

    def notes(self, student: str) -> str:
        """Returns the gradebook's notes about a student."""
        return "\n".join(n for n in self.document["gradebook"]["notes"] if n.startswith(student))

    def needs_a_look(self, student: str) -> list[str]:
        """Returns the reasons why a human should look at a student's submission."""
        rows = (row for row in self.document["submissions"] if row["student"] == student)
        return list(next(rows)["needs_a_look"])


@pytest.fixture(scope="module")
def graded(released: Path, submit: Submit, tmp_path_factory: pytest.TempPathFactory) -> Graded:
    """Grades one class with honest students, every attack, and every damaged file."""
    course = tmp_path_factory.mktemp("hostile") / "cs101"
    shutil.copytree(released, course, ignore=shutil.ignore_patterns("submitted"))
    with (course / "nbgrader_config.py").open("a") as config:
        config.write("\nc.Execute.timeout = 4\n")
        config.write('c.SandboxedExecute.packages = ["rich"]\n')
    for student, (cells, _) in ATTACKS.items():
        submit(course, student, "texts", HONEST | cells)
    students = ("honest", "twice", "newer", "broken", "skipped", "own", "links", *SPECIAL)
    for student in students:
        submit(course, student, "texts", HONEST)
    for student, module in (("rich", "rich"), ("alembic", "alembic"), ("nobody", "yaml_of_nobody")):
        submit(course, student, "texts", HONEST | {"first": f"import {module}\nfirst = 'b'"})
    submit(course, "spy", "texts", HONEST | {"first": SPY})
    _damage(course / "submitted")
    done = run(course, "autograder", "grade", "submitted", "--jobs", "2", "--json")
    return Graded(course, json.loads(done.stdout))


def _damage(submitted: Path) -> None:
    def edit(student: str, change: Callable[[NotebookNode], object]) -> None:
        path = submitted / student / "texts" / "texts.ipynb"
        notebook = nbformat.read(path, as_version=4)
        change(notebook)
        nbformat.write(notebook, path)

    edit("twice", lambda book: book.cells.append(book.cells[2]))
    edit("newer", lambda book: book.cells[2].metadata["nbgrader"].update(schema_version=99))
    (submitted / "broken" / "texts" / "texts.ipynb").write_text('{"cells": [')
    edit("skipped", _skip_tests)
    edit("own", lambda book: book.cells.insert(4, new_code_cell("mine = 'b'")))
    edit("own", lambda book: book.cells[5].update(source="first = mine"))
    (submitted / "links" / "texts" / "key.txt").symlink_to("/etc/passwd")
    edit("links", lambda book: book.cells[4].update(source="first = open('key.txt').read()"))
    (submitted / "nothing" / "texts").mkdir(parents=True)
    for student, (name, make, _) in SPECIAL.items():
        path = submitted / student / "texts" / name
        path.unlink(missing_ok=True)
        make(path)


def _skip_tests(notebook: NotebookNode) -> None:
    notebook.cells[4].source = "first = 'a'"
    for cell in notebook.cells:
        cell.metadata["tags"] = ["skip-execution"]


def test_an_honest_student_among_them_has_full_marks(graded: Graded) -> None:
    assert graded.points("honest") == FULL


@pytest.mark.parametrize("student", ATTACKS)
def test_an_attack_costs_its_own_cells(graded: Graded, student: str) -> None:
    lost = ATTACKS[student][1]
    assert graded.points(student) == {c: 0 if c in lost else p for c, p in FULL.items()}


def test_a_flood_of_output_stays_out_of_the_notebook(graded: Graded) -> None:
    flooded = graded.folder / "autograded" / "floods" / "texts" / "texts.ipynb"
    assert flooded.stat().st_size < 200_000


@pytest.mark.parametrize("student", SPECIAL)
def test_an_uncopyable_file_costs_at_most_its_own_submission(graded: Graded, student: str) -> None:
    assert sum(p or 0 for p in graded.points(student).values()) == SPECIAL[student][2]
    copied = graded.folder / "autograded" / student
    assert sum(path.stat().st_size for path in copied.rglob("*") if path.is_file()) < 1 << 20


@pytest.mark.parametrize("student", ["broken", "newer"])
def test_a_notebook_that_cannot_be_read_costs_its_own_submission(
    graded: Graded, student: str
) -> None:
    assert graded.needs_a_look(student) == ["texts: texts.ipynb can't be read"]
    assert set(graded.points(student).values()) == {0}


def test_a_folder_without_a_notebook_has_no_points(graded: Graded) -> None:
    assert set(graded.points("nothing").values()) == {0}


def test_a_duplicated_cell_is_noted_and_the_last_one_counts(graded: Graded) -> None:
    assert "exists multiple times" in graded.notes("twice")
    assert graded.points("twice") == FULL


def test_no_tag_of_a_student_switches_a_test_off(graded: Graded) -> None:
    assert graded.points("skipped")["first_right"] == 0


def test_cells_that_a_student_added_run_in_order(graded: Graded) -> None:
    assert graded.points("own") == FULL


def test_links_bring_no_file_of_the_grader_to_a_notebook(graded: Graded) -> None:
    assert graded.points("links")["first_right"] == 0
    shown = (graded.folder / "autograded" / "links" / "texts" / "texts.ipynb").read_text()
    assert "FileNotFoundError" in shown and "root:" not in shown


def test_a_later_cell_finds_no_test_in_ipythons_records(graded: Graded) -> None:
    assert graded.points("spy") == FULL
    path = graded.folder / "autograded" / "spy" / "texts" / "texts.ipynb"
    cells = json.loads(path.read_text())["cells"]
    (outputs,) = [cell["outputs"] for cell in cells if "linecache" in "".join(cell["source"])]
    assert "".join(outputs[0]["text"]) == "False\n"


def test_a_module_that_workers_lack_is_named_with_a_remedy(graded: Graded) -> None:
    assert "add 'alembic' to c.SandboxedExecute.packages" in graded.notes("alembic")
    assert "yaml_of_nobody is not installed in the Python environment used for" in graded.notes(
        "nobody"
    )
    assert graded.points("rich") == FULL  # the configuration permits this package


def test_a_course_that_was_not_released_says_what_to_do(released: Path, tmp_path: Path) -> None:
    course = tmp_path / "cs101"
    shutil.copytree(released, course, ignore=shutil.ignore_patterns("gradebook.db"))
    with opened(f"sqlite:///{course / 'gradebook.db'}"):
        pass  # creates the tables without nbgrader, which would start a program for it
    with pytest.raises(AssertionError, match="fix: run `nbgrader generate_assignment numbers`"):
        run(course, "autograder", "grade", "submitted")


def test_a_name_that_is_markup_in_formgrader_is_not_graded(tmp_path: Path) -> None:
    nothing: Any = SimpleNamespace()
    grader = NotebookGrader(nothing, nothing, {})
    with pytest.raises(SubmissionError, match="would be markup in formgrader's pages; rename"):
        grader.grade(Submission("<img src=x onerror=alert(1)>", "walk", tmp_path), nothing)
