"""A push writes grades and feedback once, and keeps grades that other people entered."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from autograder.classroom import withdraw
from autograder.classroom.decisions import EVERYTHING
from autograder.errors import UserError
from autograder.exports import Missing
from autograder.operations.grades import DisplayOptions
from autograder.operations.push import FeedbackKind

from .conftest import Class
from .servers import Canvas, Fault, Moodle, Response

Graded = Callable[..., None]
FULL, HALF, NONE = (2.0, 2.0, 2.0), (2.0, 1.0, 0.0), (0.0, 0.0, 0.0)


def scores(canvas: Canvas) -> dict[int, float]:
    found = {user: own["score"] for (_, user), own in canvas.submissions.items()}
    return {user: score for user, score in found.items() if score is not None}


def writes(canvas: Canvas) -> int:
    """Returns the number of requests that wrote grades."""
    return sum(request.path.endswith("/update_grades") for request in canvas.requests)


@pytest.fixture
def on_canvas(on_canvas: Class) -> Class:
    """Returns a class whose roster was pulled from Canvas."""
    on_canvas.pull()
    return on_canvas


@pytest.fixture
def on_moodle(on_moodle: Class) -> Class:
    """Returns a class whose roster was pulled from Moodle."""
    on_moodle.pull()
    return on_moodle


def test_grades_reach_their_students(canvas: Canvas, on_canvas: Class, graded: Graded) -> None:
    graded(ada=FULL, ben2=HALF)
    report = on_canvas.push()
    assert scores(canvas) == {101: 6.0, 103: 3.0}
    assert (report.written, report.waits) == (2, ())


def test_equal_grades_are_not_sent_again(canvas: Canvas, on_canvas: Class, graded: Graded) -> None:
    graded(ada=FULL, ben=HALF)
    on_canvas.push()
    report = on_canvas.push()
    assert (report.plan.changes, report.plan.same) == ((), 2)
    assert writes(canvas) == 1


def test_nothing_is_written_before_it_is_approved(
    canvas: Canvas, on_canvas: Class, graded: Graded
) -> None:
    graded(ada=FULL)
    assert not on_canvas.push(yes=False).is_done
    assert scores(canvas) == {}
    assert {request.method for request in canvas.requests} == {"GET"}


def test_our_grade_is_changed_and_a_persons_grade_stays(
    canvas: Canvas, on_canvas: Class, graded: Graded
) -> None:
    graded(ada=HALF, ben=HALF)
    on_canvas.push()
    canvas.submissions[991, 102] |= {"score": 5.5, "entered_score": 5.5}
    graded(ada=FULL, ben=FULL)
    report = on_canvas.push()
    assert scores(canvas) == {101: 6.0, 102: 5.5}
    assert report.waits == (
        "ben/masks: 5.5 there, entered by somebody else, and 6 here: the grade there stays "
        "(--overwrite replaces it)",
    )
    on_canvas.push(overwrite=True)
    assert scores(canvas) == {101: 6.0, 102: 6.0}


@pytest.mark.parametrize("is_after", [False, True], ids=["before", "after"])
def test_a_lost_connection_sends_no_comment_twice(
    canvas: Canvas, on_canvas: Class, graded: Graded, is_after: bool
) -> None:
    graded(ada=FULL, ben=HALF)
    canvas.faults.append(Fault("update_grades", None, is_after=is_after))
    report = on_canvas.push(feedback=FeedbackKind.COMMENT)
    assert scores(canvas) == {101: 6.0, 102: 3.0}
    assert [len(canvas.submissions[991, u]["submission_comments"]) for u in (101, 102)] == [1, 1]
    assert report.waits == ()


def test_writes_are_repeated_if_throttled_or_certainly_lost(
    canvas: Canvas, on_canvas: Class, graded: Graded
) -> None:
    graded(ada=FULL)
    limited = Response(b"403 Forbidden (Rate Limit Exceeded)", 403)
    canvas.faults += [
        Fault("update_grades", limited),
        Fault("update_grades", Response(b"", 502), is_after=True),
    ]
    on_canvas.push(feedback=FeedbackKind.COMMENT)
    assert writes(canvas) == 2
    assert len(canvas.submissions[991, 101]["submission_comments"]) == 1


def test_a_push_that_died_continues(canvas: Canvas, on_canvas: Class, graded: Graded) -> None:
    graded(ada=FULL)
    canvas.faults += [
        Fault("update_grades", None, is_after=True),
        Fault("assignments/991/submissions", Response(b"", 502), times=99, skip=2),
    ]
    with pytest.raises(UserError, match="run the command again later"):
        on_canvas.push()
    canvas.faults.clear()
    assert scores(canvas) == {101: 6.0}
    assert on_canvas.push().plan.same == 1
    assert writes(canvas) == 1


def test_feedback_is_a_comment_or_a_file_and_comes_once(
    canvas: Canvas, on_canvas: Class, graded: Graded
) -> None:
    graded(ada=HALF)
    on_canvas.push(feedback=FeedbackKind.COMMENT)
    on_canvas.push(feedback=FeedbackKind.COMMENT)
    (comment,) = canvas.submissions[991, 101]["submission_comments"]
    assert "May a token see itself?" in comment["comment"]
    on_canvas.push(feedback=FeedbackKind.FILE)
    on_canvas.push(feedback=FeedbackKind.FILE)
    (name,) = canvas.uploads.values()
    assert name.startswith("masks-feedback-") and name.endswith(".html")
    (page,) = canvas.contents.values()
    assert page == (on_canvas.folder / "feedback" / "ada" / "masks" / "feedback.html").read_bytes()


def test_a_missing_submission_is_zero_only_if_that_is_wanted(
    canvas: Canvas, on_canvas: Class, graded: Graded
) -> None:
    graded(ada=FULL)
    (on_canvas.folder / "due.csv").write_text("assignment,date\nmasks,2020-01-01 23:59 UTC\n")
    canvas.enrol(105, "New, Nora", "nora")
    canvas.submissions[991, 103] |= {"score": 4.0, "entered_score": 4.0}
    withdraw(on_canvas.folder, ("emmy", EVERYTHING), "left")
    on_canvas.push()
    assert scores(canvas) == {101: 6.0, 103: 4.0}
    on_canvas.push(showing=DisplayOptions(missing=Missing.ZERO))
    assert scores(canvas) == {101: 6.0, 102: 0.0, 103: 4.0}


def test_other_points_on_the_platform_stop_that_assignment(
    canvas: Canvas, on_canvas: Class, graded: Graded
) -> None:
    graded(ada=FULL)
    canvas.assignments[0]["points_possible"] = 100.0
    (wait,) = on_canvas.push().waits
    assert "is out of 100 there and out of 6 here" in wait
    assert scores(canvas) == {}


def test_a_student_who_left_waits_for_a_person(
    canvas: Canvas, on_canvas: Class, graded: Graded
) -> None:
    graded(ada=FULL, emmy=HALF)
    del canvas.users[3]
    report = on_canvas.push()
    assert report.waits == ("'emmy' is not in Canvas: no grade is written",)
    assert scores(canvas) == {101: 6.0}
    withdraw(on_canvas.folder, ("emmy", EVERYTHING), "left")
    assert on_canvas.push().waits == ()


def test_an_excused_student_gets_no_grade(canvas: Canvas, on_canvas: Class, graded: Graded) -> None:
    graded(ada=FULL)
    on_canvas.push(yes=False)
    canvas.submissions[991, 101]["excused"] = True
    assert on_canvas.push().plan.changes == ()
    assert scores(canvas) == {}


def test_a_late_policy_on_canvas_is_reported(
    canvas: Canvas, on_canvas: Class, graded: Graded
) -> None:
    graded(ada=FULL)
    on_canvas.push()
    canvas.submissions[991, 101] |= {"score": 5.4, "points_deducted": 0.6}
    report = on_canvas.push()
    assert report.plan.same == 1
    assert any("deducts points for 1 late" in note for note in report.plan.notes)


def test_grades_on_moodle_keep_comments_and_states(
    moodle: Moodle, on_moodle: Class, graded: Graded
) -> None:
    graded(ada=FULL, emmy=HALF)
    moodle.comments[31, 11] = "<p>See me.</p>"
    moodle.flags[31, 11] = {"workflowstate": "inreview"}
    report = on_moodle.push()
    assert moodle.grades == {(31, 11): 6.0, (31, 13): 3.0}
    assert moodle.comments[31, 11] == "<p>See me.</p>"
    assert moodle.flags[31, 11]["workflowstate"] == "inreview"
    assert (report.written, on_moodle.push().plan.same) == (2, 2)


def test_feedback_on_moodle_is_html_or_a_file(
    moodle: Moodle, on_moodle: Class, graded: Graded
) -> None:
    graded(ada=HALF)
    on_moodle.push(feedback=FeedbackKind.COMMENT)
    assert "May a token see itself?<br>" in moodle.comments[31, 11]
    on_moodle.push(feedback=FeedbackKind.FILE)
    assert moodle.feedback_files[31, 11].startswith("masks-feedback-")
    assert "May a token see itself?<br>" in moodle.comments[31, 11]


def test_one_refused_grade_costs_the_others_nothing(
    moodle: Moodle, on_moodle: Class, graded: Graded
) -> None:
    graded(ada=FULL, ben=HALF, emmy=NONE)
    moodle.refused.add(12)
    report = on_moodle.push()
    assert moodle.grades == {(31, 11): 6.0, (31, 13): 0.0}
    (wait,) = report.waits
    assert wait.startswith("ben/masks: ")
    assert "user 12 is not in the course" in wait
