"""A class may have assignments with hidden suites as well as ordinary nbgrader assignments."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from nbgrader.api import Gradebook

from .conftest import run

REPOSITORY = Path(__file__).resolve().parents[4]
OURS = "simplified_attention"


@pytest.fixture(scope="module")
def mixed(released: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a copy of `released` with only two students, who both submitted our assignment."""
    course = tmp_path_factory.mktemp("mixed") / "cs101"
    shutil.copytree(released, course)
    shutil.rmtree(course / "submitted")
    shutil.copytree(released / "submitted" / "right" / "texts", course / "submitted/right/texts")
    for student in ("right", "ada"):
        example = REPOSITORY / "examples" / "submitted" / "ada" / OURS
        shutil.copytree(example, course / "submitted" / student / OURS)
    (course / "submitted" / "ada" / "essay").mkdir()
    with (course / "nbgrader_config.py").open("a") as config:
        config.write("\nfrom autograder.nbgrader import configure\n")
        config.write(f"\nconfigure(c, course={str(REPOSITORY)!r})\n")
    return course


@pytest.fixture(scope="module")
def done(mixed: Path) -> Any:
    """Returns the output of the command that grades the whole class."""
    return _graded(mixed)


def _graded(course: Path, *options: str) -> Any:
    return json.loads(run(course, "autograder", "grade", "submitted", *options, "--json").stdout)


def test_one_command_grades_both_and_finds_the_configured_course(mixed: Path, done: Any) -> None:
    scores = {(s["student"], s["assignment"]): s["score"] for s in done["submissions"]}
    assert scores[("ada", OURS)] == scores[("right", OURS)] == 100
    assert scores[("right", "texts")] > 0
    assert len(scores) == 3
    (skipped,) = done["skipped"]
    assert skipped["path"].endswith("ada/essay")
    assert "texts" in skipped["reason"] and OURS in skipped["reason"]
    with Gradebook(f"sqlite:///{mixed}/gradebook.db") as gradebook:
        for (student, assignment), score in scores.items():
            assert gradebook.find_submission(assignment, student).score == score


def test_one_kind_can_be_graded_alone(mixed: Path, done: Any) -> None:
    ours = _graded(mixed, "--assignment", OURS, "--resume")
    theirs = _graded(mixed, "--assignment", "texts")

    assert (ours["graded"], theirs["graded"]) == (0, 1)
    assert {s["assignment"] for s in ours["submissions"]} == {OURS}
    assert {s["assignment"] for s in theirs["submissions"]} == {"texts"}


def test_pages_and_records_find_the_course_too(mixed: Path, done: Any) -> None:
    run(mixed, "autograder", "feedback", ".")
    assert (mixed / "feedback" / "ada" / OURS).is_dir()
    assert "2 submissions recorded" in run(mixed, "autograder", "record", ".").stdout


def test_an_unknown_assignment_is_refused_by_its_name(mixed: Path) -> None:
    known = "no assignment is called 'essay'; this course has: .*texts"
    with pytest.raises(AssertionError, match=known):
        _graded(mixed, "--assignment", "essay")
