"""The same submissions, given to graders that run notebooks: nbgrader as it is, and otter-grader.

A submission becomes the released notebooks with its modules in their answer cells. Both graders run
a notebook from its first cell to its last, and then, or among these, one `check(...)` for each
question: the public checks, for hidden tests would have to lie open in the notebook's process.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
OTTER = ROOT / "build" / "otter" / "bin"
_NBGRADER = (sys.executable, "-m", "nbgrader")

Notebook = dict[str, Any]


def run(command: Sequence[str | Path], folder: Path, allowed: int = 0) -> None:
    """Runs a command; ends this process where its exit code is neither 0 nor what is allowed."""
    # nbgrader starts `alembic` by its name, otter `jupyter`
    path = f"{Path(command[0]).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, env={**os.environ, "PATH": path}
    )
    if done.returncode not in (0, allowed):
        words = " ".join(map(str, command))
        raise SystemExit(f"{words} failed:\n{done.stdout}\n{done.stderr}")


def answered(assignment: str, submission: Path) -> Mapping[str, Notebook]:
    """The released notebooks with the modules of a submission, by the exercise's name."""
    return {
        path.stem: _answered(path, (submission / f"{path.stem}.py").read_text(encoding="utf-8"))
        for path in sorted((ROOT / "assignments" / assignment).glob("*.ipynb"))
    }


def _answered(path: Path, module: str) -> Notebook:
    """A released notebook with a module in its first answer cell, and none in the others."""
    notebook: Notebook = json.loads(path.read_text(encoding="utf-8"))
    left = module
    for cell in notebook["cells"]:
        if _mark(cell, "solution"):
            cell["source"], left = left or "# answered above", ""
    return notebook


def _mark(cell: Mapping[str, Any], name: str) -> bool:
    return bool(cell["metadata"].get("nbgrader", {}).get(name))


def cells(notebooks: Iterable[Notebook]) -> tuple[int, int]:
    """How many code cells notebooks have, and how many of these are checks."""
    code = [c for notebook in notebooks for c in notebook["cells"] if c["cell_type"] == "code"]
    return len(code), sum(_mark(cell, "grade") for cell in code)


class NBGrader:
    """Courses of nbgrader's, each with the same submissions, that are graded side by side."""

    def __init__(self, place: Path, assignment: str, submissions: Sequence[Path], many: int):
        self._assignment = assignment
        self._courses = [place / f"course{number}" for number in range(many)]
        for course in self._courses:
            self._write(course, submissions)

    def _write(self, course: Path, submissions: Sequence[Path]) -> None:
        name = self._assignment
        shutil.rmtree(course, ignore_errors=True)
        shutil.copytree(ROOT / "build" / "source" / name, course / "source" / name)
        settings = "c = get_config()\nc.CourseDirectory.root = '.'\n"
        (course / "nbgrader_config.py").write_text(settings)
        run([*_NBGRADER, "generate_assignment", name], course)
        for submission in submissions:
            target = course / "submitted" / submission.parent.name / name
            shutil.copytree(ROOT / "assignments" / name / "checks", target / "checks")
            _write_all(answered(name, submission), target)

    def grade(self) -> None:
        """Runs `nbgrader autograde` in each course, all at once."""
        with ThreadPoolExecutor(len(self._courses)) as pool:
            command = [*_NBGRADER, "autograde", self._assignment]
            list(pool.map(lambda course: run(command, course), self._courses))


class Otter:
    """Assignments of otter's, one for each notebook: it grades one notebook at a time."""

    def __init__(self, place: Path, assignment: str, submissions: Sequence[Path]):
        shutil.rmtree(place, ignore_errors=True)
        self._place = place
        self._submissions = [path.parent.name for path in submissions]
        released = ROOT / "assignments" / assignment
        self._exercises = [path.stem for path in sorted(released.glob("*.ipynb"))]
        for exercise in self._exercises:
            self._generate(released, exercise)
        for submission in submissions:
            notebooks = answered(assignment, submission)
            for notebook in notebooks.values():  # otter has its tests in files
                notebook["cells"] = [c for c in notebook["cells"] if not _mark(c, "grade")]
            _write_all(notebooks, place / submission.parent.name)

    def _generate(self, released: Path, exercise: str) -> None:
        """The `autograder.zip` of a notebook: the checks of its questions as otter's tests."""
        notebook = json.loads((released / f"{exercise}.ipynb").read_text(encoding="utf-8"))
        folder = self._place / exercise
        (folder / "tests").mkdir(parents=True)
        shutil.copytree(released / "checks", folder / "checks")
        for cell in notebook["cells"]:
            if _mark(cell, "grade"):
                name, source = cell["metadata"]["nbgrader"]["grade_id"], "".join(cell["source"])
                case = {"code": f">>> _ = {source}\n", "hidden": True, "locked": False}
                suite = {"cases": [case], "type": "doctest"}
                test = {"name": name, "points": 1, "suites": [suite]}
                text = f"OK_FORMAT = True\ntest = {test!r}\n"
                (folder / "tests" / f"{name}.py").write_text(text, encoding="utf-8")
        checks = sorted(path.relative_to(folder) for path in folder.glob("checks/*"))
        generate = ["generate", "-t", "tests", "-o", "autograder.zip"]
        run([OTTER / "otter", *generate, *checks], folder)

    def grade(self) -> None:
        """Runs `otter run`, without its container, for each notebook after the other."""
        for student in self._submissions:
            for exercise in self._exercises:
                zipped = self._place / exercise / "autograder.zip"
                output = self._place / student / f"{exercise}-results"
                output.mkdir(exist_ok=True)
                notebook = self._place / student / f"{exercise}.ipynb"
                run([OTTER / "otter", "run", "-a", zipped, "-o", output, notebook], self._place)


def _write_all(notebooks: Mapping[str, Notebook], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, notebook in notebooks.items():
        (folder / f"{name}.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
