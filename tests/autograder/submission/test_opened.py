"""Files of students are opened in one place, which has limits and follows no link."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.errors import SubmissionError
from autograder.submission.opened import read_bytes

PACKAGE = Path(__file__).resolve().parents[3] / "autograder"
#: packages that know where a student's files are
_NEAR: tuple[str, ...] = (
    *("classroom", "collecting", "exports", "feedback", "grading", "nbgrader", "operations"),
    *("results", "submission"),
)
#: modules there that open files of somebody else, and whose
_OTHERS = {
    "classroom/dates.py": "the class folder's settings",
    "classroom/tables.py": "the class folder's tables",
    "classroom/uploads.py": "what this grader wrote, with links left alone",
    "collecting/commits.py": "objects of a repository, with limits of its own",
    "collecting/transaction.py": "the journal of a collection",
    "collecting/entries.py": "what a platform gave the instructor, with limits of its own",
    "collecting/archives.py": "entries of an archive, with limits of its own",
    "collecting/sorting.py": "a pile that this run has written",
    "feedback/delivery.py": "pages of ours",
    "feedback/rendering.py": "templates of ours",
    "feedback/similar.py": "stubs of the course",
    "grading/digests.py": "suites and solutions",
    "grading/exercises.py": "solutions",
    "grading/judging/parts.py": "parts of ours",
    "grading/judging/plugin.py": "solutions",
    "grading/naming/families/__init__.py": "solutions",
    "grading/naming/families/words.py": "words of ours",
    "grading/naming/known.py": "misconceptions",
    "grading/naming/store.py": "a table of ours",
    "grading/secret.py": "the class's secret",
    "grading/validation/cases.py": "solutions",
    "grading/validation/entries.py": "solutions",
    "grading/validation/part_texts.py": "solutions",
    "grading/validation/rules.py": "content of the course",
    "nbgrader/class_source.py": "the release",
    "nbgrader/exporter.py": "notebooks of ours",
    "nbgrader/gradebook/released.py": "the release",
    "nbgrader/notebooks/execute.py": "the instructor's notebooks",
    "nbgrader/notebooks/libraries.py": "the instructor's notebooks",
    "nbgrader/notebooks/extras.py": "the instructor's notebooks",
    "nbgrader/notebooks/results.py": "notebooks that nbgrader wrote",
    "operations/expected.py": "scores of the example class",
    "operations/made.py": "the class folder's memory",
    "operations/misconceptions.py": "misconceptions",
    "results/file.py": "the results",
    "results/last.py": "the results",
    "results/lines.py": "the results",
    "results/merge.py": "the results",
    "submission/bounded.py": "/proc",
    "submission/opened.py": "the place",
}
_OPENS = {"open", "read_text", "read_bytes"}


def _opens(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            function = node.func
            is_method = isinstance(function, ast.Attribute) and function.attr in _OPENS
            if is_method or (isinstance(function, ast.Name) and function.id == "open"):
                yield f"{path.relative_to(PACKAGE).as_posix()}:{node.lineno}"


def test_no_other_module_opens_files_of_students() -> None:
    found = {
        told
        for package in _NEAR
        for path in (PACKAGE / package).rglob("*.py")
        for told in _opens(path)
    }
    places = {told.partition(":")[0] for told in found}
    near = {told for told in found if told.partition(":")[0] not in _OTHERS}
    assert not near, f"read students' files by submission/opened.py: {sorted(near)}"
    assert set(_OTHERS) == places, f"these open nothing any more: {sorted(set(_OTHERS) - places)}"


def test_a_file_has_a_limit_and_is_a_file(tmp_path: Path) -> None:
    giant = tmp_path / "giant"
    with open(giant, "wb") as file:
        file.truncate(1 << 40)
    assert len(read_bytes(giant, 1_000)) == 1_000
    (tmp_path / "link").symlink_to(giant)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("link", "pipe", "folder", "missing"):
        with pytest.raises(SubmissionError):
            read_bytes(tmp_path / name, 1_000)
