"""`release` turns the small course into the files for students."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest

from autograder import authoring
from autograder.authoring import release, verify_fresh
from autograder.authoring.course_map import CourseMap
from autograder.authoring.package_wheel import package_wheel
from autograder.authoring.release import whole_course
from autograder.authoring.student_wheel import student_wheel, wheel_bytes
from autograder.course import Course, load_course
from autograder.errors import ContentError, GraderError, UserError

ROOT = Path(__file__).resolve().parents[3]
Edit = Callable[[str, str, str], None]


def tree(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def cells_of(folder: Path, exercise: str) -> list[dict[str, Any]]:
    cells: list[dict[str, Any]] = json.loads((folder / f"{exercise}.ipynb").read_text())["cells"]
    return cells


def source_of(cells: list[dict[str, Any]], name: str) -> str:
    (cell,) = [cell for cell in cells if cell["id"] == name]
    return "".join(cell["source"])


def test_a_release_holds_notebooks_modules_checks_and_instructions(folder: Path) -> None:
    assert set(tree(folder)) == {
        ".github/workflows/checks.yml",
        ".gitlab-ci.yml",
        "README.md",
        "sums.ipynb",
        "sums.py",
        "halves.ipynb",
        "halves.py",
        "checks/assignment.json",
        "checks/hints.json",
        "checks/test_sums.py",
        "checks/test_halves.py",
    }


def test_questions_are_solution_cells_with_locked_checks_and_points(folder: Path) -> None:
    cells = cells_of(folder, "sums")
    marked = [cell["metadata"]["nbgrader"] for cell in cells if "nbgrader" in cell["metadata"]]
    assert [(m["grade_id"], m["solution"], m["grade"], m["locked"]) for m in marked] == [
        ("bring_checks", False, False, True),
        ("setup", False, False, True),
        ("plus_one", True, False, False),
        ("check_plus_one", False, True, True),
        ("Layer", True, False, False),
        ("check_Layer", False, True, True),
    ]
    assert [m.get("points") for m in marked] == [None, None, None, 6, None, 4]
    assert source_of(cells, "check_plus_one").startswith('check("plus_one")')


def test_the_setup_cell_comes_first_and_contains_the_given_code(folder: Path) -> None:
    cells = cells_of(folder, "sums")
    code = [cell["id"] for cell in cells if cell["cell_type"] == "code"]
    setup = source_of(cells, "setup")
    assert code[:2] == ["bring_checks", "setup"]
    for given in ("import math", "_STEP = 1.0", "def _helper", "class Doubled", "import check"):
        assert given in setup
    assert "plus_one" not in setup
    assert "first step" not in setup  # the module's docstring is not copied


def test_a_module_without_torch_gets_it_in_the_notebook(folder: Path) -> None:
    assert "import torch\n" in source_of(cells_of(folder, "halves"), "setup")


def test_stubs_keep_signature_docstring_and_what_is_outside_the_markers(folder: Path) -> None:
    cells = cells_of(folder, "sums")
    module = (folder / "sums.py").read_text()
    for stub in (source_of(cells, "plus_one"), source_of(cells, "Layer")):
        restart, _, definition = stub.partition("\n")
        assert restart.startswith("# NameError?")
        assert definition in module
    assert source_of(cells, "Layer").count("raise NotImplementedError") == 2
    assert "        super().__init__()\n        raise NotImplementedError" in module
    assert "SOLUTION" not in module


def test_released_notebooks_are_valid_and_never_ran(folder: Path) -> None:
    for path in folder.glob("*.ipynb"):
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
        assert not any(cell.get("outputs") for cell in notebook.cells)


def test_a_section_about_mistakes_is_folded_below_the_check(
    course: Course, edit: Edit, folder: Path, wheel: Path
) -> None:
    edit(
        "source/basics/sums.md",
        "Now the layer.",
        "Now the layer.\n\n### What can go wrong\n\nA list.\n\n### The layer",
    )
    release(course, wheel=wheel)
    cells = cells_of(folder, "sums")
    ids = [cell["id"] for cell in cells]
    assert ids[ids.index("check_Layer") + 1] == "mistakes_Layer"
    folded = source_of(cells, "mistakes_Layer")
    assert folded.startswith("<details>\n<summary>What can go wrong")
    assert "A list.\n\n</details>" in folded
    above = "".join("".join(cell["source"]) for cell in cells[: ids.index("Layer")])
    assert "A list." not in above
    assert "### The layer" in above


def test_a_section_about_mistakes_needs_a_question_below_it(
    course: Course, edit: Edit, wheel: Path
) -> None:
    edit("source/basics/sums.md", "The end.", "## What can go wrong\n\nA list.")
    with pytest.raises(ContentError, match="is below the last question"):
        release(course, wheel=wheel)


def test_the_source_notebook_keeps_the_solutions_out_of_the_release(
    course: Course, folder: Path
) -> None:
    source = (course.root / "build" / "source" / "basics" / "sums.ipynb").read_text()
    assert "### BEGIN SOLUTION" in source
    assert "math.cos(0.0)" not in (folder / "sums.ipynb").read_text()


def test_two_releases_are_the_same_bytes(
    course: Course, wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release(course, wheel=wheel)
    first = tree(course.root / "assignments"), tree(course.root / "dist")
    moved = tmp_path / "another place"
    shutil.copytree(course.root, moved, ignore=shutil.ignore_patterns("assignments", "dist"))
    monkeypatch.setenv("TZ", "Pacific/Auckland")
    monkeypatch.setattr(time, "time", lambda: 4e9)
    os.umask(os.umask(0o077))
    release(load_course(moved), wheel=wheel)
    assert (tree(moved / "assignments"), tree(moved / "dist")) == first


def test_the_bundle_holds_the_folder_and_the_wheel(course: Course, wheel: Path) -> None:
    report = release(course, wheel=wheel)
    (released,) = report.assignments
    with zipfile.ZipFile(released.bundle) as archive:
        names = archive.namelist()
        requirements = archive.read("basics/requirements.txt").decode()
        assert {info.date_time[0] for info in archive.infolist()} == {2020}
    assert names == sorted(names)
    assert set(names) == {
        f"basics/{name}" for name in (*tree(released.folder), "requirements.txt", wheel.name)
    }
    assert requirements.endswith(f"./{wheel.name}\n")
    assert released.points == 12.0


def test_an_unknown_assignment_is_refused(course: Course, wheel: Path) -> None:
    with pytest.raises(UserError, match="no assignment is called 'advanced'.*basics"):
        release(course, ["advanced"], wheel=wheel)


def test_a_second_release_changes_nothing(course: Course, wheel: Path) -> None:
    assert release(course, wheel=wheel).assignments[0].changed
    assert release(course, wheel=wheel).assignments[0].changed == ()


def test_a_removed_exercise_disappears(
    course: Course, folder: Path, edit: Edit, wheel: Path
) -> None:
    edit("source/basics/assignment.toml", '["sums", "halves"]', '["sums"]')
    edit("source/basics/hints.toml", "half =", "# half =")
    release(load_course(course.root), wheel=wheel)
    assert not [name for name in tree(folder) if "halves" in name]


def test_a_removed_assignment_disappears_from_a_release_of_all(
    course: Course, folder: Path, wheel: Path
) -> None:
    folder.parent.joinpath("former").mkdir()
    assert [item.path for item in verify_fresh(course)] == ["former/"]
    assert release(course, ["basics"], wheel=wheel).removed == ()
    assert release(course, wheel=wheel).removed == ("former",)
    assert not folder.parent.joinpath("former").exists()


def test_a_release_is_fresh_until_something_changes(
    course: Course, folder: Path, edit: Edit
) -> None:
    assert verify_fresh(course) == ()
    edit("source/basics/sums.md", "The end.", "The very end.")
    folder.joinpath("halves.py").unlink()
    folder.joinpath("notes.txt").write_text("mine")
    folder.joinpath("__pycache__").mkdir()
    folder.joinpath("__pycache__", "sums.pyc").write_bytes(b"")
    assert [(item.path, item.problem) for item in verify_fresh(course)] == [
        ("basics/halves.py", "missing"),
        ("basics/notes.txt", "no longer released"),
        ("basics/sums.ipynb", "differs"),
    ]


def test_wrong_content_leaves_the_old_release_untouched(
    course: Course, folder: Path, edit: Edit, wheel: Path
) -> None:
    before = tree(course.root / "assignments"), tree(course.root / "dist")
    edit("source/basics/halves.md", "half", "quarter")
    with pytest.raises(ContentError):
        release(load_course(course.root), wheel=wheel)
    assert (tree(course.root / "assignments"), tree(course.root / "dist")) == before


def test_a_full_disk_halfway_puts_the_old_release_back(
    course: Course, folder: Path, edit: Edit, wheel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tree(course.root / "assignments"), tree(course.root / "dist")
    edit("source/basics/sums.md", "The end.", "Another end.")

    def fail(source: Path, target: Path) -> None:
        raise OSError(28, "No space left on device", str(target))

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="No space left"):
        release(course, wheel=wheel)
    monkeypatch.undo()
    assert (tree(course.root / "assignments"), tree(course.root / "dist")) == before
    assert list((course.root / "build").iterdir()) == [course.root / "build" / "source"]


@pytest.mark.parametrize(
    ("name", "old", "new", "where", "problem", "fix"),
    [
        (
            "source/basics/sums.md",
            ":question: plus_one",
            ":question: plus_two",
            "source/basics/sums.md:10",
            "sums.py has no question 'plus_two'",
            "use one of: plus_one, Layer",
        ),
        (
            "source/basics/sums.md",
            ":question: Layer",
            ":question: plus_one",
            "source/basics/sums.md:16",
            "plus_one has two cells",
            "remove one",
        ),
        (
            "source/basics/sums.md",
            ":question: Layer\n",
            "",
            "solutions/basics/sums.py:35",
            "Layer has no cell in",
            "put an empty code cell with `:question: Layer`",
        ),
        (
            "source/basics/sums.md",
            ":question: Layer\n",
            ":question: Layer\n\nx = 1\n",
            "source/basics/sums.md:16",
            "the cell of Layer is not empty",
            "leave it empty",
        ),
        (
            "source/basics/sums.md",
            "example = torch.ones(3)",
            "def plus_one(x): return 7",
            "source/basics/sums.md:6",
            "a cell in the text defines plus_one",
            "the last definition",
        ),
        (
            "source/basics/sums.md",
            "example = torch.ones(3)",
            "### BEGIN SOLUTION\nexample = 3\n### END SOLUTION",
            "source/basics/sums.md:6",
            "the text contains a solution",
            "move it to",
        ),
        (
            "solutions/basics/sums.py",
            "    return x + _STEP",
            "    ### BEGIN SOLUTION\n    return x + _STEP\n    ### END SOLUTION",
            "solutions/basics/sums.py:13",
            "a solution outside of any question",
            "move it into a question",
        ),
        (
            "solutions/basics/sums.py",
            "    total = _helper",
            "    ### BEGIN SOLUTION\n    total = _helper",
            "solutions/basics/sums.py:23",
            "a solution inside another one",
            "add ### END SOLUTION above it",
        ),
        (
            "tests/hidden/basics/test_sums.py",
            'question("Layer", points=4)',
            'question("Leier", points=4)',
            "tests/hidden/basics/test_sums.py",
            "no test judges Layer",
            "write a test for it",
        ),
        (
            "tests/public/basics/test_sums.py",
            "import torch",
            "import torch\nimport math, numpy",
            "tests/public/basics/test_sums.py:5",
            "public checks can't import numpy",
            "students have: torch, pytest",
        ),
        (
            "tests/public/basics/test_halves.py",
            '"half", points=0',
            '"third", points=0',
            "tests/public/basics/test_halves.py",
            "no test judges half",
            "write a test for it",
        ),
        (
            "solutions/basics/halves.py",
            "half",
            "Layer",
            "solutions/basics/halves.py:4",
            "Layer is also a question in sums",
            "different names",
        ),
    ],
)
def test_wrong_content_is_named_by_file_line_and_fix(
    root: Path,
    edit: Edit,
    wheel: Path,
    name: str,
    old: str,
    new: str,
    where: str,
    problem: str,
    fix: str,
) -> None:
    edit(name, old, new)
    with pytest.raises(ContentError) as caught:
        release(load_course(root), wheel=wheel)
    message = str(caught.value).replace(os.sep, "/")
    assert f"{root.as_posix()}/{where}: {problem}" in message
    assert fix in message


def test_missing_words_are_named(course: Course, wheel: Path) -> None:
    course.root.joinpath("source/basics/halves.md").unlink()
    with pytest.raises(ContentError, match="halves.md: the text is missing"):
        release(course, wheel=wheel)


def test_nbgraders_complaint_reaches_the_author(course: Course, tmp_path: Path) -> None:
    from autograder.authoring.assignment_folder import generate_assignment

    broken = '{"cells": [], "metadata": {}, "nbformat": 4'
    with pytest.raises(GraderError, match="nbgrader can't release basics"):
        generate_assignment(tmp_path / "scratch", "basics", {"sums": broken})


def test_a_wheel_that_can_not_be_built_says_why(tmp_path: Path) -> None:
    broken = "[build-system]\nrequires = ['nothing-such']\n"
    own = "[project]\nname = 'attention-autograder'\nversion = '1'\n"
    tmp_path.joinpath("pyproject.toml").write_text(broken + own)
    tmp_path.joinpath("autograder").mkdir()
    with pytest.raises(GraderError, match="can't be built"):
        package_wheel(tmp_path, tmp_path / "out")


def test_the_projects_wheel_is_reproducible_and_holds_only_the_package(tmp_path: Path) -> None:
    root = Path(authoring.__file__).parents[2]
    first = package_wheel(root, tmp_path / "one")
    second = package_wheel(root, tmp_path / "two")
    assert first.read_bytes() == second.read_bytes()
    with zipfile.ZipFile(first) as archive:
        folders = {name.partition("/")[0] for name in archive.namelist()}
        assert "autograder/authoring/templates/README.md" in archive.namelist()
    assert {name for name in folders if not name.endswith(".dist-info")} == {"autograder"}


def test_the_released_folder_needs_nothing_of_the_course(folder: Path, tmp_path: Path) -> None:
    alone = Path(shutil.copytree(folder, tmp_path / "alone"))
    code = "from autograder.student import status; from pathlib import Path; print(status(Path()))"
    package = str(Path(authoring.__file__).parents[2])
    result = subprocess.run(
        [sys.executable, "-c", code],
        cwd=alone,
        env={**os.environ, "PYTHONPATH": package},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "not_implemented" in result.stdout
    assert result.stderr == ""


def test_a_students_wheel_holds_what_students_import_and_no_grader(tmp_path: Path) -> None:
    files = {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for path in (ROOT / "autograder").rglob("*.py")
    }
    needs = "Provides-Extra: instructor\nRequires-Dist: nbgrader; extra == 'instructor'"
    metadata = f"Name: x\nVersion: 1\n{needs}\n\n# How to grade with nbgrader\n"
    full = tmp_path / "x-1-py3-none-any.whl"
    with zipfile.ZipFile(full, "w") as archive:
        for name, text in {**files, "x-1.dist-info/METADATA": metadata}.items():
            archive.writestr(name, text)
    name, small = student_wheel(full.name, full.read_bytes())
    assert (name, small) == student_wheel(full.name, full.read_bytes())
    version = name.split("-")[1]
    with zipfile.ZipFile(io.BytesIO(small)) as archive:
        names = set(archive.namelist())
        metadata = archive.read(f"x-{version}.dist-info/METADATA").decode()
    packages = {name.split("/")[1] for name in names if name.startswith("autograder/")}
    assert {"student", "suite", "parts", "cli"} <= packages
    assert packages.isdisjoint({"grading", "sandbox", "authoring", "nbgrader", "operations"})
    assert "nbgrader" not in metadata
    assert f"\nVersion: {version}\n" in metadata
    assert "autograder/cli/student.py" in names and "autograder/cli/grading.py" not in names


def test_another_content_of_a_students_wheel_is_another_version() -> None:
    """If the versions were equal, pip would consider the new bundle's wheel already installed."""

    def made(text: str) -> str:
        metadata = b"Name: x\nVersion: 1\n"
        files = {"autograder/student/x.py": text.encode(), "x-1.dist-info/METADATA": metadata}
        return student_wheel("x-1-py3-none-any.whl", wheel_bytes(files))[0]

    assert re.fullmatch(r"x-1\+d[0-9a-f]{10}-py3-none-any\.whl", made("y = 1"))
    assert made("y = 1") == made("y = 1") != made("y = 2")


def test_the_whole_course_has_one_wheel_and_one_readme() -> None:
    single = {"README.md": b"one", "requirements.txt": b"./x.whl\n", "x.whl": b"", ".github/c": b""}
    folders = {"a": single, "b": single}
    files = whole_course({"a": "First", "b": "Second"}, folders, CourseMap())
    assert set(files) == {"README.md", "requirements.txt", "x.whl", "a/README.md", "b/README.md"}
    assert b"| `b` | Second |" in files["README.md"]
