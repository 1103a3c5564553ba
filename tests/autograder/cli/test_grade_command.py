"""`autograder grade` before it grades: folders that are one level off."""

from __future__ import annotations

from pathlib import Path

import pytest

import autograder
from autograder.cli.grading import _print_profile
from autograder.course import load_course
from autograder.grading.shards import RunReport
from autograder.operations.courses import submissions_around
from autograder.operations.grade import GradeReport
from autograder.submission import Found

ROOT = Path(__file__).resolve().parents[3]


def test_a_class_folder_in_the_place_of_its_submissions_is_told_as_such(tmp_path: Path) -> None:
    (tmp_path / "submitted" / "ada" / "simplified_attention").mkdir(parents=True)
    with pytest.raises(autograder.UserError, match="autograder grade .*submitted"):
        autograder.grade(tmp_path, course=ROOT)


def test_a_students_folder_in_the_place_of_the_class_is_told_as_such(tmp_path: Path) -> None:
    (tmp_path / "ada" / "simplified_attention").mkdir(parents=True)
    with pytest.raises(autograder.UserError, match="the folder of one student.* the class"):
        autograder.grade(tmp_path / "ada", course=ROOT)


def test_a_folder_without_submissions_says_what_is_expected(tmp_path: Path) -> None:
    with pytest.raises(autograder.UserError, match="expected <student>/<assignment>/"):
        autograder.grade(tmp_path, course=ROOT)


@pytest.mark.parametrize(
    ("folder", "class_folder"),
    [
        ("course/submitted", "course"),
        ("course/submitted/ada/simplified_attention", "course"),
        ("course/submitted/group/2026", "course/submitted/group"),
        ("inbox/ada/simplified_attention", "inbox/ada"),
    ],
)
def test_one_submission_of_a_class_is_graded_into_its_class(
    tmp_path: Path, folder: str, class_folder: str
) -> None:
    around = submissions_around(tmp_path / folder, load_course(ROOT))
    assert around.parent == tmp_path.resolve() / class_folder


def test_a_misspelt_place_of_the_secret_makes_no_new_one(tmp_path: Path) -> None:
    (tmp_path / "submitted" / "ada" / "simplified_attention").mkdir(parents=True)
    with pytest.raises(autograder.UserError, match="clas is not there"):
        autograder.grade(
            tmp_path / "submitted", course=ROOT, secret=tmp_path / "clas" / "secret.key"
        )
    assert not (tmp_path / "clas").exists()
    (tmp_path / "results.jsonl").write_text("{}\n")
    with pytest.raises(autograder.UserError, match=r"asked with another secret.*misspelt"):
        autograder.grade(tmp_path / "submitted", course=ROOT, secret=tmp_path / "secert.key")
    assert not (tmp_path / "secert.key").exists()


def test_submissions_in_the_place_of_the_class_are_told_as_such(tmp_path: Path) -> None:
    (tmp_path / "results.jsonl").touch()
    (tmp_path / "submitted").mkdir()
    with pytest.raises(autograder.UserError, match="the class is .*: name that"):
        autograder.final_results(tmp_path / "submitted")


def test_an_assignment_that_is_not_there_has_no_mistakes_either(tmp_path: Path) -> None:
    (tmp_path / "results.jsonl").touch()
    with pytest.raises(autograder.AutograderError, match="no assignment is called 'nope'"):
        autograder.unnamed_mistakes(tmp_path, "nope", course=ROOT)


def test_a_profile_of_what_other_machines_graded_says_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = RunReport(Found((), ()), 0, 0, 0, None, None)
    _print_profile(GradeReport(run, Path("results.jsonl"), (), None))
    assert "nothing was graded by this machine" in capsys.readouterr().out
