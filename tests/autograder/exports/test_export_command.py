"""The command `autograder export` writes the right files, output and exit code."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from autograder.cli.results import export
from autograder.errors import UserError
from autograder.records import SubmissionResult

ROSTER = "Student,ID,SIS User ID,SIS Login ID,Section\nLovelace,101,,ada,One\nHopper,102,,gh,One\n"


@pytest.fixture
def graded(class_folder: Path, make_result: Callable[..., SubmissionResult]) -> Path:
    """Returns a class folder with the results of two students and two assignments."""
    results = [
        make_result("ada", (0.0, 0.0, 0.0)),
        make_result("ada"),  # the last line counts
        make_result("ada", assignment="other"),
        make_result("zoe\x1b[2J"),
    ]
    lines = "".join(json.dumps(result.to_json()) + "\n" for result in results)
    (class_folder / "results.jsonl").write_text(lines, encoding="utf-8")
    return class_folder


def call(*arguments: str | Path) -> Result:
    options = [str(argument) for argument in arguments]
    return CliRunner().invoke(export, options, standalone_mode=False)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("csv", "grades.csv"),
        ("canvas", "grades.canvas.csv"),
        ("moodle", "grades.moodle"),
        ("gradescope", "gradescope"),
        ("junit", "grades.junit.xml"),
        ("markdown", "grades.md"),
    ],
)
def test_a_format_is_written_into_the_class_folder(graded: Path, kind: str, name: str) -> None:
    result = call(kind, graded)
    # without Moodle's identifiers, somebody has to look at the table
    assert result.return_value == (3 if kind == "moodle" else 0)
    assert (graded / name).exists()
    assert f"grades: {graded / name}" in result.output.replace("\n", "")


def test_a_roster_is_mapped_and_missing_people_are_named(graded: Path, tmp_path: Path) -> None:
    roster = tmp_path / "roster.csv"
    roster.write_text(ROSTER)
    result = call("canvas", graded, "--roster", roster)
    assert "note: 'Hopper' in roster.csv has no result here" in result.output
    assert "is not in roster.csv" in result.output
    assert result.return_value == 3
    assert "\x1b[2J" not in result.output
    table = (graded / "grades.canvas.csv").read_text(encoding="utf-8").splitlines()
    assert table[0] == "Student,ID,SIS User ID,SIS Login ID,Section,Masks,Other"
    assert table[2:4] == ["Lovelace,101,,ada,One,4,4", "Hopper,102,,gh,One,,"]


def test_notes_are_in_the_json_document(graded: Path, tmp_path: Path) -> None:
    roster = tmp_path / "roster.csv"
    roster.write_text(ROSTER)
    document = json.loads(call("canvas", graded, "--roster", roster, "--json").output)
    assert document["file"] == str(graded / "grades.canvas.csv")
    assert len(document["notes"]) == 3
    assert "yet (2 in all, of 1 student)" in document["notes"][0]


def test_one_submission_is_chosen_by_student_and_assignment(graded: Path, tmp_path: Path) -> None:
    target = tmp_path / "results.json"
    call("gradescope", graded, "--student", "ada", "--assignment", "masks", "--to", target)
    assert json.loads(target.read_text())["score"] == 4.0


def test_an_unknown_assignment_or_format_is_refused_with_known_ones(graded: Path) -> None:
    result = call("csv", graded, "--assignment", "mask")
    assert isinstance(result.exception, UserError)
    assert str(result.exception) == (
        "there is no result for 'mask'; assignments with results: masks, other"
    )
    assert "known: canvas, csv, excel, gradescope" in str(call("xls", graded).exception)


def test_a_results_file_may_replace_a_class_folder(graded: Path) -> None:
    assert call("markdown", graded / "results.jsonl").return_value == 0
    assert (graded / "grades.md").read_text().startswith("# Grades")
