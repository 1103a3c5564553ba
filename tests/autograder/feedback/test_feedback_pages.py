"""A student's page has the right contents, and escapes everything that students wrote."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from html import unescape
from pathlib import Path

import pytest

from autograder.classroom import lateness
from autograder.course import Course
from autograder.feedback import pages, write_feedback
from autograder.records import (
    Assignment,
    ExerciseStatus,
    QuestionResult,
    SubmissionResult,
    SubmissionStatus,
    Verdict,
)
from autograder.results.manual import HumanGrade, HumanWork
from autograder.results.wording import NEXT_STEPS, VERDICT_WORDS, readable_test


def text_of(page: str) -> str:
    """Returns the text of a page as a reader sees it."""
    body = page.partition("<body>")[2]
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", body)).split())


def test_a_page_shows_score_verdicts_tests_hint_and_next_step(
    course: Course, class_folder: Path, make_result: Callable[..., SubmissionResult]
) -> None:
    (path,) = write_feedback(course, class_folder, [make_result("ada", message="got 1\nwant 2")])
    assert path == class_folder / "feedback" / "ada" / "masks" / "feedback.html"
    words = text_of(path.read_text(encoding="utf-8"))
    for part in (
        "Masks Feedback for ada 4 of 6 points 2 of 3 questions correct",
        "Not right yet",
        "Hint. May a token see itself?",
        NEXT_STEPS[Verdict.WRONG],
        "Diagonal is allowed not passed (0 of 1) got 1 want 2",
        "Future is masked passed",
    ):
        assert part in words


def test_other_solutions_are_shown_below_right_answers_only(
    course: Course, class_folder: Path, make_result: Callable[..., SubmissionResult]
) -> None:
    names = ("causal_mask", "mask_scores")
    ways = "".join(f'[{name}]\nway_of_{name} = "{name} costs <less>."\n' for name in names)
    (course.root / "source" / "masks" / "ways.toml").write_text(ways, encoding="utf-8")
    path = course.variants("alternatives", course.assignments[0].exercises[0])
    path.parent.mkdir(parents=True)
    code = "".join(f"def way_of_{name}(x):\n    return x\n" for name in names)
    path.write_text(code, encoding="utf-8")
    (page,) = write_feedback(course, class_folder, [make_result("ada", scores=(2.0, 0.0, 2.0))])
    words = text_of(page.read_text(encoding="utf-8"))
    assert "causal_mask costs <less>. def causal_mask(x): return x" in words
    assert "mask_scores costs" not in words


def test_other_solutions_are_read_once_for_a_class(
    course: Course,
    class_folder: Path,
    make_result: Callable[..., SubmissionResult],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[str] = []

    def reading(_: Course, assignment: Assignment) -> pages.Ways:
        read.append(assignment.name)
        return {}

    monkeypatch.setattr(pages, "ways_of", reading)
    write_feedback(course, class_folder, [make_result("ada"), make_result("ben")])
    assert read == ["masks"]


def test_the_first_message_is_open_and_long_later_ones_unfold(
    course: Course, class_folder: Path, make_result: Callable[..., SubmissionResult]
) -> None:
    result = make_result("ada")
    exercise = result.exercises[0]
    wrong = next(q for q in exercise.questions if q.verdict is Verdict.WRONG)
    messages = ("", "A first.\n1\n2\n3\n4", "\nA second.\n1\n2\n3\n4", "A short one.\n1")
    tests = tuple(replace(wrong.tests[0], name=f"test_{m[:9]}", message=m) for m in messages)
    questions = tuple(replace(wrong, tests=tests) if q is wrong else q for q in exercise.questions)
    exercises = (replace(exercise, questions=questions), *result.exercises[1:])
    page = write_feedback(course, class_folder, [replace(result, exercises=exercises)])[0]
    folded = re.findall(
        r"<details><summary>(A .*?)</summary><pre>(.*?)</pre>", page.read_text(), re.S
    )
    assert folded == [("A second.", messages[2])]
    assert all(message in page.read_text() for message in messages)


def test_pages_say_what_to_submit_for_missing_or_unreadable_exercises(
    course: Course, class_folder: Path, make_result: Callable[..., SubmissionResult]
) -> None:
    statuses = (ExerciseStatus.MISSING, ExerciseStatus.UNREADABLE)
    result = make_result(scores=(0, 0, 0), files=(None, "dropout.ipynb"), statuses=statuses)
    words = text_of(write_feedback(course, class_folder, [result])[0].read_text())
    assert "Not found No file for this exercise could be graded." in words
    assert "dropout.ipynb could not be read as Python or as a notebook" in words
    assert "Not judged: causal_mask (2 points), mask_scores (2 points)" in words


def test_unjudged_questions_have_a_next_step_in_both_forms(
    course: Course, class_folder: Path, make_result: Callable[..., SubmissionResult]
) -> None:
    statuses = (ExerciseStatus.UNREADABLE, ExerciseStatus.GRADED)
    result = make_result(scores=(0, 0, 2), files=("masking.py", "dropout.ipynb"), statuses=statuses)
    note = "masking.py is not valid Python: SyntaxError in line 7"
    first, *others = result.exercises
    result = replace(result, exercises=(replace(first, notes=(note,)), *others))
    (path,) = write_feedback(course, class_folder, [result])
    page, text = path.read_text(), path.with_name("feedback.txt").read_text()
    links = set(re.findall(r'href="#([^"]+)"', page))
    assert links
    assert links <= set(re.findall(r' id="([^"]+)"', page))
    assert note in page
    assert note in " ".join(text.split())
    assert "* causal_mask: not checked, 0 of 2 points" in text
    for question in first.questions:  # no test ran, so this advice would not help
        assert NEXT_STEPS[question.verdict] not in " ".join(text.split())


def test_the_students_own_code_of_the_question_is_shown(
    course: Course,
    class_folder: Path,
    make_result: Callable[..., SubmissionResult],
    submit: Callable[..., Path],
) -> None:
    submit("ada", {"masking.py": "def causal_mask(x):\n    return x < '</pre><script>'\n"})
    page = write_feedback(course, class_folder, [make_result("ada")])[0].read_text()
    assert "return x &lt; &#x27;&lt;/pre&gt;&lt;script&gt;&#x27;" in page
    assert "<script" not in page


HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>{{ 7*7 }}\"'"


def test_names_and_messages_are_data_and_the_page_allows_nothing(
    course: Course, class_folder: Path, make_result: Callable[..., SubmissionResult]
) -> None:
    result = make_result(HOSTILE, files=(HOSTILE, HOSTILE), message=HOSTILE)
    page = write_feedback(course, class_folder, [result])[0].read_text(encoding="utf-8")
    assert "<script" not in page
    assert "<img" not in page
    assert "49" not in text_of(page)
    assert "default-src &#x27;none&#x27;; style-src &#x27;sha256-" in page
    assert not re.search(r"(?:src|href)=\"(?!#)", page)
    assert "http" not in page.replace("http-equiv", "")


@pytest.mark.parametrize("name", ["../evil", "..", ".", "", "/etc", "a\x00b", "\udcff", "x" * 300])
def test_every_name_gets_a_page_inside_the_class_folder(
    course: Course, class_folder: Path, make_result: Callable[..., SubmissionResult], name: str
) -> None:
    first, second = write_feedback(course, class_folder, [make_result(name), make_result("zoe")])
    folders = {path.resolve().parents[1] for path in (first, second)}
    assert len(folders) == 2
    assert {folder.parent for folder in folders} == {(class_folder / "feedback").resolve()}


def test_names_that_differ_get_pages_that_differ(
    course: Course, class_folder: Path, make_result: Callable[..., SubmissionResult]
) -> None:
    names = ["../a", "%2E%2E%2Fa", "..\\a", "x" * 300, "x" * 299 + "y"]
    paths = write_feedback(course, class_folder, [make_result(name) for name in names])
    assert len(set(paths)) == len(names)


def test_a_submission_that_the_grader_failed_on_gets_no_page(
    course: Course, class_folder: Path, make_result: Callable[..., SubmissionResult]
) -> None:
    result = make_result("ada", status=SubmissionStatus.FAILED)
    assert write_feedback(course, class_folder, [result]) == []


def test_a_huge_message_stays_readable(
    course: Course, class_folder: Path, make_result: Callable[..., SubmissionResult]
) -> None:
    result = make_result("ada", scores=(0, 0, 0), message="x" * 5_000_000)
    page = write_feedback(course, class_folder, [result])[0]
    assert page.stat().st_size < 100_000


def test_every_verdict_has_words_and_a_next_step() -> None:
    assert set(VERDICT_WORDS) == set(NEXT_STEPS) == set(Verdict)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("test_diagonal_is_allowed", "Diagonal is allowed"),
        ("test_rows[float64-3]", "Rows (float64-3)"),
        ("a/test_x.py::test_one_token", "One token"),
    ],
)
def test_a_tests_name_reads_as_a_sentence(name: str, words: str) -> None:
    assert readable_test(name) == words


def test_graders_entries_and_the_late_penalty_count_and_are_shown(
    course: Course, class_folder: Path, make_result: Callable[..., SubmissionResult]
) -> None:
    human = HumanWork(
        grades={
            ("ada", "masks", "masking", "mask_scores"): HumanGrade(1.5, 0.5, "Nice <i>try</i>")
        },
        penalties={("ada", "masks"): 1.0},
    )
    result = make_result("ada", (2.0, 0.0, 2.0))
    page = write_feedback(course, class_folder, [result], human)[0]
    words = text_of(page.read_text())
    assert "5 of 6 points" in words
    assert "Deducted because this was submitted late: 1 point." in words
    assert "A grader set the points for this question. A grader wrote: Nice <i>try</i>" in words
    plain = " ".join(page.with_suffix(".txt").read_text().split())
    assert "A grader set the points for this question. A grader wrote: Nice <i>try</i>" in plain


def test_a_stub_lists_future_tests_and_shows_no_failures(
    course: Course,
    class_folder: Path,
    make_result: Callable[..., SubmissionResult],
    make_question: Callable[..., QuestionResult],
) -> None:
    result = make_result("ada", (0.0, 2.0, 2.0))
    stub = make_question("causal_mask", 0.0, Verdict.NOT_IMPLEMENTED, "not implemented yet")
    masking = replace(result.exercises[0], questions=(stub, result.exercises[0].questions[1]))
    result = replace(result, exercises=(masking, result.exercises[1]))
    words = text_of(write_feedback(course, class_folder, [result])[0].read_text())
    assert "What will be tested Diagonal is allowed (1) Future is masked (1)" in words
    assert "not implemented yet" not in words


def test_times_are_in_the_zone_of_the_due_date(
    make_course: Callable[..., Course], make_result: Callable[..., SubmissionResult], tmp_path: Path
) -> None:
    course = make_course(tmp_path / "term", duedate="2026-05-01 Europe/Berlin")
    folder = tmp_path / "term" / "course"
    submitted, due = datetime(2026, 5, 2, 1), datetime(2026, 5, 1, 21, 59, 59)
    for end, ending in (
        (due, ", 3 h 1 min late; your deadline was 2026-05-01 23:59:59 Europe/Berlin."),
        (submitted, "."),
    ):
        arrivals = {("ada", "masks"): lateness(submitted, end)}
        (page,) = write_feedback(course, folder, [make_result("ada")], arrivals=arrivals)
        sentence = f"Submitted 2026-05-02 03:00:00 Europe/Berlin{ending}"
        assert sentence in text_of(page.read_text())
        assert sentence in page.with_suffix(".txt").read_text()


def test_nothing_in_the_plain_text_controls_a_terminal(
    course: Course, class_folder: Path, make_result: Callable[..., SubmissionResult]
) -> None:
    message = "got \x1b[2J\x9b1m \u202e wanted"
    result = replace(make_result("esc\x1b[31m", message=message), notes=("look at \x07\x1b]0;x",))
    (path,) = write_feedback(course, class_folder, [result])
    text = path.with_name("feedback.txt").read_text(encoding="utf-8")
    assert "Feedback for esc" in text and "wanted" in text and "look at" in text
    assert not [sign for sign in text if not sign.isprintable() and sign != "\n"]


def test_pages_say_one_point_and_two_points(
    course: Course, class_folder: Path, make_result: Callable[..., SubmissionResult]
) -> None:
    result = make_result("ada", (2.0, 0.0, 2.0))
    masking, dropout = result.exercises
    one = replace(dropout.questions[0], score=1.0, max_score=1.0)
    small = replace(dropout, questions=(one,), score=1.0, max_score=1.0)
    page = write_feedback(course, class_folder, [replace(result, exercises=(masking, small))])[0]
    for text in (text_of(page.read_text()), page.with_suffix(".txt").read_text()):
        assert "1 of 1 point" in text and "1 of 1 points" not in text
        assert "2 of 2 points" in text
