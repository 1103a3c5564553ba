"""The CSV table has the right rows and columns, and treats names only as data."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.errors import UserError
from autograder.exports import Grades, Missing, export, export_formats
from autograder.records import ExerciseStatus, SubmissionResult, SubmissionStatus


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_csv_has_a_row_per_student_and_question_columns(
    make_result: Callable[..., SubmissionResult], tmp_path: Path
) -> None:
    results = [make_result("ben", (0.0, 0.5, 2.0)), make_result("ada")]
    rows = rows_of(export("csv", results, tmp_path / "new" / "grades.csv").path)
    assert list(rows[0]) == [
        "student",
        "masks/masking/causal_mask",
        "masks/masking/mask_scores",
        "masks/dropout/dropout",
        "masks/total",
        "masks/maximum",
        "points",
        "maximum",
        "needs_review",
    ]
    assert [row["student"] for row in rows] == ["ada", "ben"]
    assert list(rows[1].values()) == ["ben", "0.0", "0.5", "2.0", "2.5", "6.0", "2.5", "6.0", ""]


def test_missing_work_that_counts_as_zero_counts_in_the_maximum(
    make_result: Callable[..., SubmissionResult], tmp_path: Path
) -> None:
    results = [make_result("ada"), make_result("ada", assignment="heads"), make_result("ben")]
    for missing, sums in {Missing.ZERO: ("4.0", "12.0"), Missing.KEEP: ("4.0", "6.0")}.items():
        zeros = frozenset({"masks", "heads"})
        grades = Grades(results, missing=missing, zero_for=zeros, absent=("zoe",))
        ada, ben, zoe = rows_of(export("csv", grades, tmp_path / "grades.csv").path)
        assert (ada["points"], ada["maximum"]) == ("8.0", "12.0")
        assert (ben["points"], ben["maximum"]) == sums
        is_zero = missing is Missing.ZERO
        assert (zoe["points"], zoe["maximum"]) == (("0.0", "12.0") if is_zero else ("", ""))


def test_an_ungraded_result_is_empty_and_needs_review(
    make_result: Callable[..., SubmissionResult], tmp_path: Path
) -> None:
    statuses = (ExerciseStatus.GRADED, ExerciseStatus.UNREADABLE)
    results = [
        make_result("ada", status=SubmissionStatus.FAILED),
        make_result("ben", statuses=statuses),
    ]
    rows = rows_of(export("csv", results, tmp_path / "grades.csv").path)
    assert rows[0]["masks/total"] == ""
    assert rows[0]["needs_review"] == "masks: the grader failed: the worker's parent died"
    assert rows[1]["needs_review"] == "masks: dropout: dropout.py can't be read"


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", " =1"])
def test_a_name_is_not_a_formula(
    make_result: Callable[..., SubmissionResult], tmp_path: Path, name: str
) -> None:
    rows = rows_of(export("csv", [make_result(name)], tmp_path / "grades.csv").path)
    assert rows[0]["student"] == f"'{name}"


@pytest.mark.parametrize("name", ['a,"b"\nc', "<script>", "学生", "../evil", "x" * 300])
def test_any_name_is_read_as_it_was_written(
    make_result: Callable[..., SubmissionResult], tmp_path: Path, name: str
) -> None:
    rows = rows_of(export("csv", [make_result(name)], tmp_path / "grades.csv").path)
    assert rows[0]["student"] == name


def test_formats_are_found_by_module_and_unknown_ones_are_named(tmp_path: Path) -> None:
    assert "csv" in export_formats()
    written = export("csv", [], tmp_path / "empty.csv")
    assert written.path.read_bytes() == b"student,points,maximum,needs_review\r\n"
    with pytest.raises(UserError, match="no export format 'xls'; known: canvas, csv"):
        export("xls", [], tmp_path / "x")


def test_a_path_that_cant_be_written_is_a_clear_error(
    make_result: Callable[..., SubmissionResult], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="can't be written"):
        export("csv", [make_result()], tmp_path / "file" / "grades.csv")
