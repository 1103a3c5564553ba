"""Exports and the class report include assignments that were graded only by nbgrader."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from nbgrader.api import Gradebook

import autograder
from autograder.nbgrader.gradebook.database import opened
from autograder.operations.classes import attendance
from autograder.operations.grades import DisplayOptions, class_grades
from autograder.records import Verdict

#: by student, the automatic score of `test` and the manual score of `essay`
GRADES = {"ada": (2.0, 4.0), "ben": (1.0, None)}


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """Returns a class folder with the assignment `ps1`, which is not part of our course."""
    folder = tmp_path / "cs101"
    (folder / "source" / "ps1").mkdir(parents=True)
    (folder / "source" / "ps1" / "p.ipynb").write_text("{}")
    (folder / "nbgrader_config.py").write_text("c = get_config()\n")
    address = f"sqlite:///{folder / 'gradebook.db'}"
    with opened(address):
        pass  # creates the tables without nbgrader, which would start a program for it
    with Gradebook(address) as gradebook:
        gradebook.add_assignment("ps1", duedate="2026-05-01 12:00 UTC")
        gradebook.add_notebook("p", "ps1")
        gradebook.add_grade_cell("test", "p", "ps1", max_score=2, cell_type="code")
        gradebook.add_grade_cell("essay", "p", "ps1", max_score=5, cell_type="markdown")
        for student, (automatic, by_hand) in GRADES.items():
            gradebook.add_student(student)
            (folder / "submitted" / student / "ps1").mkdir(parents=True)
            submission = gradebook.add_submission("ps1", student)
            submission.timestamp = datetime(2026, 5, 1, 10)
            test = gradebook.find_grade("test", "p", "ps1", student)
            test.auto_score, test.needs_manual_grade = automatic, False
            essay = gradebook.find_grade("essay", "p", "ps1", student)
            essay.manual_score, essay.needs_manual_grade = by_hand, by_hand is None
        gradebook.db.commit()
    return folder


def rows(folder: Path, showing: DisplayOptions | None = None) -> dict[str, dict[str, str]]:
    written = autograder.export("csv", folder, showing=showing)
    with written.path.open(encoding="utf-8", newline="") as file:
        return {row["student"]: row for row in csv.DictReader(file)}


def test_nbgraders_scores_are_exported_with_manual_ones(mixed: Path) -> None:
    found = rows(mixed)
    assert {name: row["ps1/total"] for name, row in found.items()} == {"ada": "6.0", "ben": "1.0"}
    assert found["ada"]["ps1/maximum"] == "7.0"
    assert "p: look at essay: a human has to grade it" in found["ben"]["needs_review"]
    assert found["ada"]["needs_review"] == ""


def test_a_comment_grades_no_other_answer_of_nbgraders_own(mixed: Path) -> None:
    with Gradebook(f"sqlite:///{mixed / 'gradebook.db'}") as gradebook:
        gradebook.find_grade("test", "p", "ps1", "ben").manual_score = 2
        gradebook.db.commit()
    assert "essay: a human has to grade it" in rows(mixed)["ben"]["needs_review"]


def test_beside_our_own_results_both_are_exported(
    mixed: Path, make_result: Callable[..., autograder.SubmissionResult]
) -> None:
    (mixed / "results.jsonl").write_text(json.dumps(make_result("ada").to_json()) + "\n")
    assert (rows(mixed)["ada"]["masks/total"], rows(mixed)["ada"]["ps1/total"]) == ("4.0", "6.0")
    report = autograder.report(mixed)
    assert {question.assignment for question in report.questions} == {"masks", "ps1"}
    verdicts = {question.question: dict(question.verdicts) for question in report.questions}
    assert verdicts["test"] == {Verdict.CORRECT: 1, Verdict.PARTIAL: 1}


def test_roster_extension_and_withdrawal_need_no_course_of_ours(
    mixed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(mixed)
    (mixed / "roster.csv").write_text("student\nada\nben\nzoe\n")
    (missing,) = attendance(mixed).missing.items()
    assert (missing[0], [person.student for person in missing[1]]) == ("ps1", ["zoe"])
    made = autograder.extend(mixed, "ben", "ps1", "2h", "train")
    assert made.until == datetime(2026, 5, 1, 14)
    with Gradebook(f"sqlite:///{mixed / 'gradebook.db'}") as gradebook:
        assert gradebook.find_submission("ps1", "ben").extension == timedelta(hours=2)
    autograder.withdraw(mixed, "ben", "ps1", "left")
    assert set(rows(mixed)) == {"ada", "zoe"}


@pytest.mark.parametrize(("due", "zero"), [("2026-05-01", "0"), ("2999-05-01", "")])
def test_a_missing_submission_is_zero_only_after_its_due_date(
    mixed: Path, due: str, zero: str
) -> None:
    (mixed / "roster.csv").write_text("student\nada\nzoe\n")
    with Gradebook(f"sqlite:///{mixed / 'gradebook.db'}") as gradebook:
        gradebook.update_or_create_assignment("ps1", duedate=f"{due} 12:00 UTC")
    from autograder.exports import Missing

    showing = DisplayOptions(missing=Missing.ZERO)
    grades = class_grades(mixed, autograder.final_results(mixed), showing)
    assert grades.missing_cell("zoe", "ps1") == zero
    notes = autograder.export("csv", mixed, showing=showing).notes
    assert any("not due yet" in note for note in notes) == (zero == "")


def test_only_students_with_more_time_have_no_zero_yet(mixed: Path) -> None:
    (mixed / "roster.csv").write_text("student,name\nada,\nzoe,Zoe Z\nyan,\n")
    with Gradebook(f"sqlite:///{mixed / 'gradebook.db'}") as gradebook:
        gradebook.update_or_create_assignment("ps1", duedate="2026-05-01 12:00 UTC")
    # an extension of ada, who has submitted, does not delay the others' zeros
    for student in ("zoe", "ada"):
        autograder.extend(mixed, student, "ps1", "500w", "abroad")
    from autograder.exports import Missing

    showing = DisplayOptions(missing=Missing.ZERO)
    found = {who: row["ps1/total"] for who, row in rows(mixed, showing).items()}
    assert (found["zoe"], found["yan"]) == ("", "0")
    sheet = mixed / "worksheet.csv"
    sheet.write_text("Identifier,Full name,Grade\nParticipant 1,Zoe Z,5\nParticipant 2,yan,7\n")
    written = autograder.export("moodle", mixed, showing=showing, roster=sheet)
    with written.path.open() as file:
        grades = {row["Full name"]: row["Grade"] for row in csv.DictReader(file)}
    assert (grades["Zoe Z"], grades["yan"]) == ("5", "0")
    assert any("zoe (ps1)" in note for note in written.notes)
