"""If only part of the class is exported, nobody else's grade changes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import autograder
from autograder.classroom import Selection, withdraw
from autograder.classroom.decisions import EVERYTHING
from autograder.course import Course
from autograder.exports import Missing
from autograder.operations.grades import DisplayOptions
from autograder.records import SubmissionResult
from autograder.results.file import ResultsFile

ROSTER = "student,section\nada,A\nben,B\ncyd,A\ndan,B\neve,A\n"
CANVAS = (
    "Student,ID,SIS User ID,SIS Login ID,Section,Masks (9)\n"
    "    Points Possible,,,,,6\n"
    "Ada,1,,ada,A,\nBen,2,,ben,B,5\nCyd,3,,cyd,A,\nDan,4,,dan,B,3\nEve,5,,eve,A,2\n"
    "Fay,6,,fay,A,1\n"
)
MOODLE = (
    "Identifier,Full name,Email address,Grade,Maximum Grade\n"
    "Participant 1,ada,,,6\nParticipant 2,ben,,5,6\nParticipant 3,cyd,,,6\n"
    "Participant 4,dan,,3,6\nParticipant 5,eve,,2,6\nParticipant 6,fay,,1,6\n"
)


@pytest.fixture
def folder(class_folder: Path, make_result: Callable[..., SubmissionResult]) -> Path:
    """Returns a class in which Ada and Ben submitted, Eve has left, and Fay is on no roster."""
    (class_folder / "roster.csv").write_text(ROSTER)
    (class_folder / "due.csv").write_text("assignment,date\nmasks,2020-01-01 23:59 UTC\n")
    with ResultsFile(class_folder / "results.jsonl") as file:
        for student in ("ada", "ben"):
            file.append(make_result(student))
    withdraw(class_folder, ("eve", EVERYTHING), "left")
    return class_folder


@pytest.mark.parametrize(("name", "table"), [("canvas", CANVAS), ("moodle", MOODLE)])
@pytest.mark.parametrize(
    ("selection", "missing", "expected"),
    [
        (Selection(section="A"), Missing.ZERO, ["4", "5", "0", "3", "2", "1"]),
        (Selection(section="A"), Missing.BLANK, ["4", "5", "", "3", "2", "1"]),
        (Selection(student="ada"), Missing.ZERO, ["4", "5", "", "3", "2", "1"]),
        (Selection(), Missing.ZERO, ["4", "4", "0", "0", "2", "0"]),
    ],
    ids=["section", "blank", "student", "all"],
)
def test_missing_work_counts_as_zero_only_for_chosen_people(
    folder: Path,
    course: Course,
    tmp_path: Path,
    name: str,
    table: str,
    selection: Selection,
    missing: Missing,
    expected: list[str],
) -> None:
    roster = tmp_path / "theirs.csv"
    roster.write_text(table)
    written = autograder.export(
        name, folder, showing=DisplayOptions(selection, missing), roster=roster, course=course.root
    )
    path = written.path if written.path.is_file() else next(written.path.glob("*.csv"))
    column, heads = (5, 2) if name == "canvas" else (3, 1)
    lines = path.read_text().splitlines()[heads:]
    assert [line.split(",")[column] for line in lines] == expected
