"""Files for other machines are packed as bytes, which are never unpickled."""

from __future__ import annotations

import ast
import os
import pickle
import stat
from pathlib import Path

import pytest

from autograder.course import Course
from autograder.grading.cluster import packing
from autograder.submission import read_exercise, submission_digest

CLUSTER = Path(packing.__file__).parent


class _Bomb:
    """Creates a folder when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self._path),)


def test_a_packed_folder_arrives_unchanged_and_nothing_in_it_runs(
    tmp_path: Path, course: Course
) -> None:
    assignment = course.assignment("simplified_attention")
    folder = tmp_path / "ada" / assignment.name
    (folder / "inner").mkdir(parents=True)
    (folder / "scores.py").write_bytes(pickle.dumps(_Bomb(tmp_path / "bomb")))
    (folder / "softmx.py").write_text("def softmax_naive(x):\n    return x\n")
    (folder / "inner" / "context.py").write_text("x = 1\n")
    (folder / "softmax.ipynb").symlink_to("/etc/passwd")
    os.mkfifo(folder / "pipe")
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff.txt")).write_text("not UTF-8")
    for number in range(300):
        (folder / f"z{number}").touch()
    (document,) = packing.decode(packing.encode([packing.pack(folder, assignment)]))
    assert len(document["entries"]) < 250, "of 300 files that do not count, some stay here"
    there = tmp_path / "there" / assignment.name
    packing.unpack(document, there)
    exercises = assignment.exercises
    assert submission_digest(there, exercises) == submission_digest(folder, exercises)
    for exercise in exercises:
        assert read_exercise(there, exercise) == read_exercise(folder, exercise)
    assert (there / "softmax.ipynb").is_symlink() and not (there / "softmax.ipynb").exists()
    assert stat.S_ISFIFO(os.lstat(there / "pipe").st_mode)
    assert not (tmp_path / "bomb").exists()


def test_files_that_do_not_count_are_sent_in_part_only(
    tmp_path: Path, course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packing, "_MOST_OTHERS", 4 << 20)
    assignment = course.assignment("simplified_attention")
    for number in range(10):
        with open(tmp_path / f"film{number}.txt", "wb") as file:
            file.truncate(1 << 30)
    assert len(packing.encode([packing.pack(tmp_path, assignment)])) < 6 << 20


def test_no_module_of_the_cluster_unpickles() -> None:
    named = {
        alias.name.partition(".")[0]
        for path in CLUSTER.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in (*node.names, ast.alias(getattr(node, "module", None) or ""))
    }
    assert not named & {"pickle", "cloudpickle", "dill", "marshal", "shelve"}
