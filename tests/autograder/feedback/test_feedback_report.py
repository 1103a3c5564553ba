"""The class report: its numbers, and its page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from autograder.feedback import class_report, write_report
from autograder.records import ExerciseStatus, SubmissionResult, SubmissionStatus, Verdict


def test_a_question_has_its_mean_verdicts_and_misconceptions(
    make_result: Callable[..., SubmissionResult],
) -> None:
    results = [make_result("ada", (2.0, 0.0, 2.0)), make_result("ben", (1.0, 0.0, 2.0))]
    first, second, third = class_report(results).questions
    assert (first.question, first.mean, first.max_score, first.submissions) == (
        "causal_mask", 1.5, 2.0, 2,
    )  # fmt: skip
    assert set(first.verdicts) == {(Verdict.CORRECT, 1), (Verdict.WRONG, 1)}
    assert second.misconceptions == (("masking.diagonal_masked", 2),)
    assert third.verdicts == ((Verdict.CORRECT, 2),)


def test_only_the_last_result_of_a_submission_counts(
    make_result: Callable[..., SubmissionResult],
) -> None:
    report = class_report([make_result(scores=(0, 0, 0)), make_result(scores=(2, 2, 2))])
    assert (report.submissions, report.students[0].score) == (1, 6.0)


def test_a_student_to_look_at_is_named_with_the_reason(
    make_result: Callable[..., SubmissionResult],
) -> None:
    statuses = (ExerciseStatus.GRADED, ExerciseStatus.UNREADABLE)
    failed = make_result("zoe", status=SubmissionStatus.FAILED)
    report = class_report([make_result("ada", statuses=statuses), make_result("ben"), failed])
    looks = {student.student: student.look for student in report.students}
    assert looks["ada"] == ("masks: dropout: dropout.py can't be read",)
    assert looks["ben"] == ()
    assert "the grader failed" in looks["zoe"][0]
    assert report.failed == 1


def test_the_page_escapes_names_and_says_its_numbers_in_words(
    make_result: Callable[..., SubmissionResult], tmp_path: Path
) -> None:
    report = class_report([make_result("<script>x</script>"), make_result("ben")])
    page = write_report(report, tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert "2 students, 2 submissions" in page
    assert "2 not right yet" in page


def test_a_report_without_results_says_what_to_do(tmp_path: Path) -> None:
    page = write_report(class_report([]), tmp_path / "report.html").read_text()
    assert "Run <code>autograder grade</code> first." in page
