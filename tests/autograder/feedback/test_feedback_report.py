"""The class report has the right numbers, and its page works in a browser."""

from __future__ import annotations

import json
import shutil
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Dialog, sync_playwright

import autograder
from autograder.classroom import lateness
from autograder.escaping import for_json
from autograder.feedback import ClassFacts, class_report, drill_down, write_report
from autograder.feedback.report import discrimination, histogram, quartiles
from autograder.operations.grades import DisplayOptions
from autograder.records import ExerciseStatus, SubmissionStatus, Verdict
from autograder.results.last import LastResults

MakeResult = Callable[..., autograder.SubmissionResult]

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
ARGUMENTS = ["--no-sandbox", "--disable-dev-shm-usage"]
HOSTILE = "</script><img src=x onerror=alert(1)>"


def test_a_question_has_its_mean_verdicts_and_misconceptions(
    make_result: MakeResult,
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
    make_result: MakeResult,
) -> None:
    report = class_report([make_result(scores=(0, 0, 0)), make_result(scores=(2, 2, 2))])
    assert (report.submissions, report.students[0].score) == (1, 6.0)


def test_a_student_to_look_at_is_named_with_the_reason(
    make_result: MakeResult,
) -> None:
    statuses = (ExerciseStatus.GRADED, ExerciseStatus.UNREADABLE)
    failed = make_result("zoe", status=SubmissionStatus.FAILED)
    report = class_report([make_result("ada", statuses=statuses), make_result("ben"), failed])
    looks = {student.student: student.look for student in report.students}
    assert looks["ada"] == ("masks: dropout: dropout.py can't be read",)
    assert looks["ben"] == ()
    assert "the grader failed" in looks["zoe"][0]
    assert report.failed == 1


def test_a_file_with_another_name_is_not_suspicious(
    make_result: MakeResult, tmp_path: Path
) -> None:
    note = "look at masking copy.py: expected masking.py or masking.ipynb; is the name wrong?"
    result = make_result("ada")
    exercises = (replace(result.exercises[0], notes=(note,)), *result.exercises[1:])
    report = class_report([replace(result, exercises=exercises)])
    page = write_report(report, tmp_path / "report.html").read_text(encoding="utf-8")
    assert "A file with a different name, or an archive: is it an answer?" in page
    assert "evade a rule" not in page


def test_the_page_escapes_names_and_says_its_numbers_in_words(
    make_result: MakeResult, tmp_path: Path
) -> None:
    report = class_report([make_result("<script>x</script>"), make_result("ben")])
    page = write_report(report, tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<script>x" not in page
    assert "2 students, 2 submissions" in page
    assert "2 not right yet" in page


def test_a_report_without_results_says_what_to_do(tmp_path: Path) -> None:
    page = write_report(class_report([]), tmp_path / "report.html").read_text()
    assert "Run <code>autograder grade</code> first." in page


def test_a_shared_mistake_is_shown_with_hint_and_code(
    make_result: MakeResult,
) -> None:
    results = [make_result(name, (0.0, 2.0, 2.0)) for name in ("ada", "ben", "eve")]
    key = ("masks", "masking", "causal_mask")
    known = ClassFacts(
        codes={
            ("ada", *key): "def a(): 1",
            ("ben", *key): "def a(): 1",
            ("eve", *key): "def b(): 2",
        },
        sentences={"masks/masking.diagonal_masked": "above with on the diagonal"},
    )
    (mistake,) = class_report(results, known).mistakes
    assert (mistake.name, mistake.count, mistake.submissions) == ("Diagonal masked", 3, 3)
    assert (mistake.sentence, mistake.hint) == (
        "above with on the diagonal", "May a token see itself?",
    )  # fmt: skip
    assert mistake.excerpts == ("def a(): 1", "def b(): 2")


def test_answers_with_equal_behavior_are_a_group_without_a_name(make_result: MakeResult) -> None:
    def nameless(student: str, behaviour: str) -> autograder.SubmissionResult:
        result = make_result(student, (0.0, 2.0, 2.0))
        first, *others = result.exercises[0].questions
        other = replace(first, misconception=None, hint=None, behaviour=behaviour)
        exercise = replace(result.exercises[0], questions=(other, *others))
        return replace(result, exercises=(exercise, result.exercises[1]))

    pairs = [("ada", "x"), ("ben", "x"), ("eve", "y")]
    (mistake,) = class_report([nameless(*pair) for pair in pairs]).mistakes
    assert (mistake.name, mistake.students) == ("", ("ada", "ben"))
    assert mistake.message == "rows and columns"


def test_figures_of_a_question(make_result: MakeResult) -> None:
    results = [make_result(f"s{n}", (2.0 * (n > 2), 0.0, 2.0 * (n > 1))) for n in range(6)]
    first, second, third = class_report(results).questions
    assert first.share == 0.5
    assert first.discrimination is not None and first.discrimination > 0.5
    assert second.discrimination is None  # because all scores are equal
    assert second.passed_by_nobody == ("test_diagonal_is_allowed", "test_future_is_masked")
    assert third.passed_by_all == ()
    assert discrimination([1.0], [1.0]) is None
    assert histogram([0.0, 0.05, 0.95, 1.0]) == (2, 0, 0, 0, 0, 0, 0, 0, 0, 2)
    assert quartiles([0.5]) == (0.5, 0.5, 0.5)


def test_the_time_of_submission_is_plotted_against_points(make_result: MakeResult) -> None:
    due = datetime(2027, 1, 31)
    results = [make_result(name) for name in ("ada", "ben", "eve", "zoe")]
    times = {"ada": -timedelta(days=9), "ben": -timedelta(hours=1), "eve": timedelta(hours=1)}
    arrivals = {(name, "masks"): lateness(due + time, due) for name, time in times.items()}
    (assignment,) = class_report(results, ClassFacts(arrivals=arrivals)).assignments
    assert [(group.when, group.submissions) for group in assignment.arrivals] == [
        ("more than 3 days before", 1), ("in the last 3 hours", 1), ("late", 1),
    ]  # fmt: skip


def test_data_of_the_script_cannot_end_its_element(make_result: MakeResult) -> None:
    text = drill_down([make_result("ada", message=HOSTILE)], {})
    assert "<" not in text and ">" not in text
    document = json.loads(text)
    assert document["messages"] == [HOSTILE]
    assert document["rows"] == [[0, 1, 0.0, 0, 0, 0, -1]]


def test_nothing_changes_the_text_direction_of_what_the_script_shows(
    make_result: MakeResult,
) -> None:
    turned = "a\u202eb"
    result = make_result(turned, message=turned)
    codes = {
        (turned, result.assignment, exercise.exercise, question.question): turned
        for exercise, question in result.questions()
    }
    document = json.loads(drill_down([result], codes))
    # must equal the text of the page's cells, in which the page searches for it
    for name in ("students", "messages", "codes"):
        assert document[name] == ["a\ufffdb"]


@pytest.fixture
def hostile(class_folder: Path, make_result: MakeResult, submit: Callable[..., Path]) -> Path:
    """Returns a class of two students whose names, messages and code contain markup."""
    code = "def mask_scores(x):\n    # by me\n    return '</script><script>alert(2)</script>'\n"
    lines = []
    for name in ("ada", "<b>ben"):
        submit(name, {"masking.py": code})
        lines.append(json.dumps(make_result(name, message=HOSTILE).to_json()) + "\n")
    (class_folder / "results.jsonl").write_text("".join(lines))
    autograder.write_report(class_folder, course=class_folder.parent)
    return class_folder


def test_excerpts_have_no_comment_and_the_projectors_page_no_name(hostile: Path) -> None:
    page = (hostile / "report.html").read_text(encoding="utf-8")
    assert "def mask_scores(x):" in page and "by me" not in page
    showing = DisplayOptions(is_anonymous=True)
    path = autograder.write_report(hostile, showing=showing, course=hostile.parent)
    page = path.read_text(encoding="utf-8")
    assert "def mask_scores(x):" in page and "Student 1" in page
    assert "ada" not in page.replace("Shadow", "") and "ben" not in page


@pytest.mark.skipif(CHROMIUM is None, reason="needs a browser: apt-get install chromium")
def test_a_browser_leads_from_a_question_to_student_and_code(hostile: Path) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        page = browser.new_page(viewport={"width": 390, "height": 844})
        asked: list[str] = []
        alerts: list[str] = []
        page.on("request", lambda request: asked.append(request.url))

        def on_dialog(dialog: Dialog) -> None:
            alerts.append(dialog.message)
            dialog.dismiss()

        page.on("dialog", on_dialog)
        page.goto((hostile / "report.html").as_uri())
        page.get_by_role("button", name="mask_scores").click()
        page.get_by_text("2 answers that are not right").wait_for()
        page.locator("#drill-list summary").first.click()
        assert "def mask_scores(x):" in page.locator("#drill-list pre").last.inner_text()
        page.locator("#drill-close").click()
        page.get_by_role("searchbox", name="Find").fill("<b>")
        assert page.locator("#student-table tbody tr:visible").count() == 1
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        browser.close()
    assert (len(asked), alerts) == (1, [])


def test_a_report_keeps_only_the_numbers_of_each_submission(
    tmp_path: Path, make_result: MakeResult
) -> None:
    line = for_json(make_result("ada", scores=(0, 1, 2)).to_json())
    path, few, many = tmp_path / "results.jsonl", 100, 400

    def peak(count: int) -> int:
        lines = (line.replace('"ada"', f'"s{number:04}"') for number in range(count))
        path.write_text("".join(f"{text}\n" for text in lines))
        results = LastResults(path)
        tracemalloc.start()
        try:
            assert class_report(results).submissions == count
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(few)  # creates the objects that later calls share
    assert peak(many) - peak(few) < 1_500 * (many - few)


def test_numbers_leave_out_what_never_ran_and_lines_are_unique(
    make_result: Callable[..., autograder.SubmissionResult],
) -> None:
    unread = (ExerciseStatus.UNREADABLE, ExerciseStatus.UNREADABLE)
    results = [make_result("ada"), make_result("ben"), make_result("cy", statuses=unread)]
    found = class_report(results)
    (masks,) = found.assignments
    assert (masks.submissions, masks.never_ran) == (2, 1)
    assert {question.submissions for question in found.questions} == {2}
    look = {student.student: student.look for student in found.students}
    assert len(look["cy"]) == 1
    assert "masking.py" in look["cy"][0]
    assert "dropout.py" in look["cy"][0]
    alone = class_report([make_result("cy", statuses=unread)])
    assert alone.assignments[0].quartiles == (0.0, 0.0, 0.0)
