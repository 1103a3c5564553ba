"""Files with grades or names obey the umask, and keep their permissions when rewritten."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import autograder
from autograder.errors import UserError
from autograder.files import replace_file
from autograder.records import SubmissionResult
from autograder.results.file import ResultsFile


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.fixture(params=[0o077, 0o027, 0o022], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def test_a_new_file_obeys_the_umask(tmp_path: Path, umask: int) -> None:
    assert mode_of(replace_file(tmp_path / "grades.csv", "ada,3\n")) == 0o666 & ~umask


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_a_file_that_is_there_keeps_its_mode(tmp_path: Path, umask: int, mode: int) -> None:
    path = tmp_path / "grades.csv"
    path.write_text("ada,3\n")
    path.chmod(mode)
    replace_file(path, "ada,4\n")
    assert (mode_of(path), path.read_text()) == (mode, "ada,4\n")


def test_a_link_is_replaced_and_its_target_left_alone(tmp_path: Path, umask: int) -> None:
    (tmp_path / "other").write_text("other")
    (tmp_path / "grades.csv").symlink_to("other")
    assert mode_of(replace_file(tmp_path / "grades.csv", "ada\n")) == 0o666 & ~umask
    assert (tmp_path / "other").read_text() == "other"


def test_a_file_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "grades.csv").mkdir()
    with pytest.raises(UserError, match="can't be written"):
        replace_file(tmp_path / "grades.csv", "ada\n")
    assert [path.name for path in tmp_path.iterdir()] == ["grades.csv"]


def test_everything_that_a_class_writes_obeys_the_umask(
    class_folder: Path, umask: int, make_result: Callable[..., SubmissionResult]
) -> None:
    with ResultsFile(class_folder / "results.jsonl") as file:
        file.append(make_result("ada"))
    before = set(class_folder.rglob("*"))
    autograder.write_feedback(class_folder)
    autograder.write_report(class_folder)
    autograder.export("csv", class_folder)
    made = [path for path in class_folder.rglob("*") if path not in before and path.is_file()]
    assert len(made) > 3
    wide = {path.name: oct(mode_of(path)) for path in made if mode_of(path) & umask}
    assert not wide
