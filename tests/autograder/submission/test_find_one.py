"""A path that is not a submission is rejected with a message that names the right path."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder.errors import UserError
from autograder.submission import submission_at

KNOWN = ("masks", "heads")


@pytest.mark.parametrize("assignment", ["masks", None])
def test_a_students_folder_is_not_a_submission(tmp_path: Path, assignment: str | None) -> None:
    place = tmp_path / "submitted" / "ada" / "masks"
    place.mkdir(parents=True)
    assert submission_at(place, KNOWN, assignment).student == "ada"
    why = "is a student's folder: the submission is .*ada/masks" if assignment else "no assignment"
    with pytest.raises(UserError, match=why):
        submission_at(place.parent, KNOWN, assignment)


def test_a_folder_of_any_name_is_the_named_assignment(tmp_path: Path) -> None:
    place = tmp_path / "ada" / "work"
    place.mkdir(parents=True)
    assert submission_at(place, KNOWN, "masks").assignment == "masks"


def test_an_impossible_file_name_is_refused_in_one_sentence() -> None:
    with pytest.raises(UserError, match=r"x\.\.\. can't be read: File name too long") as caught:
        submission_at(Path("x" * 100_000), KNOWN)
    assert len(str(caught.value)) < 300


def test_a_student_who_is_a_link_to_another_is_refused(tmp_path: Path) -> None:
    (tmp_path / "zoe" / "masks").mkdir(parents=True)
    (tmp_path / "mal").symlink_to("zoe")
    with pytest.raises(UserError, match="mal is a link to the folder of 'zoe'"):
        submission_at(tmp_path / "mal" / "masks", KNOWN)
    assert submission_at(tmp_path / "zoe" / "masks", KNOWN).student == "zoe"
