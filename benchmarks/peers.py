"""Gives the same submissions to graders that run notebooks: plain nbgrader and otter-grader.

A submission's modules are put into the answer cells of the released notebooks. Both graders run a
notebook from the first cell to the last. For each question, there is a test that passes if the
public checks pass. The tests replace the released `check(...)`, for which nbgrader would give no
points. Hidden tests are not used, because they would be visible in the notebook's process.
"""

from __future__ import annotations

import ast
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
OTTER = ROOT / "build" / "otter" / "bin"
_NBGRADER = (sys.executable, "-m", "nbgrader")

_TEST = """\
from pathlib import Path
from autograder.student.notebook_tools import check_namespace
result = check_namespace("{question}", globals(), Path.cwd())
assert result.standing == "passed", result
"""
_SCORES = """
    select submitted_assignment.student_id, base_cell.name, grade.auto_score
    from submitted_assignment
    join submitted_notebook on submitted_notebook.assignment_id = submitted_assignment.id
    join grade on grade.notebook_id = submitted_notebook.id
    join base_cell on base_cell.id = grade.cell_id"""

Notebook = dict[str, Any]


def run(
    command: Sequence[str | Path], folder: Path, allowed: int = 0, lines: Sequence[str] = ()
) -> str:
    """Runs a command with `lines` as its input; returns its output.

    Ends this process if the command's exit code is neither 0 nor `allowed`.
    """
    # nbgrader finds `alembic` on the PATH, and otter finds `jupyter`
    path = f"{Path(command[0]).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": path},
        input="".join(f"{line}\n" for line in lines),
    )
    if done.returncode not in (0, allowed):
        words = " ".join(map(str, command))
        raise SystemExit(f"{words} failed:\n{done.stdout}\n{done.stderr}")
    return done.stdout


def with_tests(folder: Path) -> Mapping[str, Notebook]:
    """Returns the notebooks in a folder, keyed by name, with our tests added."""
    found: dict[str, Notebook] = {}
    for path in sorted(folder.glob("*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        for cell in notebook["cells"]:
            if _mark(cell, "grade"):
                (call,) = ast.parse("".join(cell["source"])).body  # check("name")
                question = ast.literal_eval(call.value.args[0])  # type: ignore[attr-defined]
                cell["source"] = _TEST.format(question=question)
        found[path.stem] = notebook
    return found


def answered(released: Path, submission: Path) -> Mapping[str, Notebook]:
    """Returns the notebooks from `with_tests` with a submission's modules.

    The first answer cell contains the whole module; the others contain only a comment.
    """
    found = with_tests(released)
    for name, notebook in found.items():
        left = (submission / f"{name}.py").read_text(encoding="utf-8")
        for cell in notebook["cells"]:
            if _mark(cell, "solution"):
                cell["source"], left = left or "# answered above", ""
    return found


def _mark(cell: Mapping[str, Any], name: str) -> bool:
    return bool(cell["metadata"].get("nbgrader", {}).get(name))


def cells(released: Path) -> tuple[int, int]:
    """Returns how many code cells an assignment's notebooks have, and how many are tests."""
    notebooks = with_tests(released).values()
    code = [c for notebook in notebooks for c in notebook["cells"] if c["cell_type"] == "code"]
    return len(code), sum(_mark(cell, "grade") for cell in code)


class NBGrader:
    """Makes nbgrader courses with the same submissions, to be graded at the same time."""

    def __init__(self, place: Path, assignment: str, submissions: Sequence[Path], many: int):
        self._assignment = assignment
        self._courses = [place / f"course{number}" for number in range(many)]
        for course in self._courses:
            self._write(course, submissions)

    def _write(self, course: Path, submissions: Sequence[Path]) -> None:
        name = self._assignment
        shutil.rmtree(course, ignore_errors=True)
        write_all(with_tests(ROOT / "build" / "source" / name), course / "source" / name)
        settings = "c = get_config()\nc.CourseDirectory.root = '.'\n"
        (course / "nbgrader_config.py").write_text(settings)
        run([*_NBGRADER, "generate_assignment", name], course)
        for submission in submissions:
            target = course / "submitted" / submission.parent.name / name
            shutil.copytree(ROOT / "assignments" / name / "checks", target / "checks")
            write_all(answered(ROOT / "assignments" / name, submission), target)

    def scores(self) -> Iterator[dict[tuple[str, str], float]]:
        """Yields the points in each course, keyed by student and test."""
        for course in self._courses:
            with closing(sqlite3.connect(course / "gradebook.db")) as database:
                found = database.execute(_SCORES).fetchall()
            yield {(student, test): score for student, test, score in found}

    def grade(self) -> None:
        """Runs `nbgrader autograde` in all courses at the same time."""
        with ThreadPoolExecutor(len(self._courses)) as pool:
            command = [*_NBGRADER, "autograde", self._assignment]
            list(pool.map(lambda course: run(command, course), self._courses))


class Otter:
    """Makes an otter assignment for each notebook, because otter grades one notebook at a time."""

    def __init__(self, place: Path, assignment: str, submissions: Sequence[Path]):
        shutil.rmtree(place, ignore_errors=True)
        self._place = place
        self._submissions = [path.parent.name for path in submissions]
        released = ROOT / "assignments" / assignment
        self._exercises = [path.stem for path in sorted(released.glob("*.ipynb"))]
        for exercise in self._exercises:
            self._generate(released, exercise)
        for submission in submissions:
            notebooks = answered(released, submission)
            for notebook in notebooks.values():  # otter keeps its tests in files
                notebook["cells"] = [c for c in notebook["cells"] if not _mark(c, "grade")]
            write_all(notebooks, place / submission.parent.name)

    def _generate(self, released: Path, exercise: str) -> None:
        """Makes the `autograder.zip` for a notebook; the tests are the checks of its questions."""
        folder = self._place / exercise
        (folder / "tests").mkdir(parents=True)
        shutil.copytree(released / "checks", folder / "checks")
        for cell in with_tests(released)[exercise]["cells"]:
            if _mark(cell, "grade"):
                name = cell["metadata"]["nbgrader"]["grade_id"]
                code = "".join(f">>> {line}\n" for line in cell["source"].splitlines())
                case = {"code": code, "hidden": True, "locked": False}
                suite = {"cases": [case], "type": "doctest"}
                test = {"name": name, "points": 1, "suites": [suite]}
                text = f"OK_FORMAT = True\ntest = {test!r}\n"
                (folder / "tests" / f"{name}.py").write_text(text, encoding="utf-8")
        checks = sorted(path.relative_to(folder) for path in folder.glob("checks/*"))
        generate = ["generate", "-t", "tests", "-o", "autograder.zip"]
        run([OTTER / "otter", *generate, *checks], folder)

    def scores(self) -> dict[tuple[str, str], float]:
        """Returns the points, which are at most 1, keyed by student and test."""
        return {
            (student, test["name"]): test["score"]
            for student in self._submissions
            for path in (self._place / student).glob("*-results/results.json")
            for test in json.loads(path.read_text(encoding="utf-8"))["tests"]
            if "score" in test
        }

    def grade(self) -> None:
        """Runs `otter run`, without otter's usual container, for one notebook after another."""
        for student in self._submissions:
            for exercise in self._exercises:
                zipped = self._place / exercise / "autograder.zip"
                output = self._place / student / f"{exercise}-results"
                output.mkdir(exist_ok=True)
                notebook = self._place / student / f"{exercise}.ipynb"
                run([OTTER / "otter", "run", "-a", zipped, "-o", output, notebook], self._place)


def write_all(notebooks: Mapping[str, Notebook], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, notebook in notebooks.items():
        (folder / f"{name}.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
