"""`grade` reports due dates and late students before the gradebook applies penalties."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.counts import number_of
from autograder.course import Course
from autograder.errors import UserError
from autograder.nbgrader import lateness_report
from autograder.operations.grade import grade


def test_due_date_and_late_students_are_sentences(
    make_course: Callable[..., Course], tmp_path: Path
) -> None:
    course = make_course(tmp_path / "term", duedate="2026-05-01 Europe/Berlin")
    place = tmp_path / "term" / "course" / "submitted" / "ada" / "masks"
    place.mkdir(parents=True)
    (place / "timestamp.txt").write_text("2026-05-02 01:00:00 UTC")
    sentences = lateness_report(
        tmp_path / "term" / "course", course.assignments, [("ada", "masks")]
    )
    assert sentences == (
        "masks is due Friday, 2026-05-01 23:59:59 Europe/Berlin; 1 of 1 is late",
        "late for masks: ada by 3 h 1 min",
    )


@pytest.mark.parametrize(
    ("students", "late", "counted"),
    [("a", "", "0 of 1 is"), ("ab", "", "0 of 2 are"), ("ab", "a", "1 of 2 is")],
)
def test_counts_of_late_students_are_grammatical(
    make_course: Callable[..., Course], tmp_path: Path, students: str, late: str, counted: str
) -> None:
    course = make_course(tmp_path / "term", duedate="2026-05-01 Europe/Berlin")
    for student in students:
        place = course.root / "course" / "submitted" / student / "masks"
        place.mkdir(parents=True)
        day = 3 if student in late else 1
        (place / "timestamp.txt").write_text(f"2026-05-0{day} 01:00:00 UTC")
    keys = [(student, "masks") for student in students]
    sentence = lateness_report(course.root / "course", course.assignments, keys)[0]
    assert sentence.endswith(f"; {counted} late")


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 points"), (1, "1 point"), (1.0, "1 point"), ("1", "1 point"), (0.5, "0.5 points")],
)
def test_one_thing_is_counted_in_the_singular(count: float | str, text: str) -> None:
    assert number_of(count, "point") == text
    assert number_of(1, "person", "people") == "1 person"
    assert number_of(2, "person", "people") == "2 people"


def test_without_a_due_date_nothing_is_printed(course: Course, class_folder: Path) -> None:
    assert lateness_report(class_folder, course.assignments, [("ada", "masks")]) == ()


def test_an_unreadable_roster_is_reported_before_anything_is_graded(
    course: Course, class_folder: Path
) -> None:
    place = class_folder / "submitted" / "ada" / "masks"
    place.mkdir(parents=True)
    (class_folder / "roster.csv").write_text("student,extra_time\nada,soon\n")
    with pytest.raises(
        UserError, match=r"roster\.csv: extra time for 'ada': 'soon' is not a duration"
    ):
        grade(class_folder / "submitted", course=course.root)
    assert not (class_folder / "results.jsonl").exists()
