"""A class's due dates, late days and counting rule override those of the course."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from autograder.classroom import (
    CountingRule,
    count_late_days,
    grant_extension,
    lateness,
    read_allowances,
    read_dates,
    read_late_days,
    read_roster,
    read_rules,
    unused_dates,
    with_class_dates,
)
from autograder.classroom.dates import ClassRules
from autograder.collecting import CollectOptions, Outcome, collect
from autograder.course import Course
from autograder.deadlines import moment_text, parse_duedate
from autograder.errors import ContentError, UserError
from autograder.records import Assignment, Limits

DUE = """\
assignment,section,date
masks,,2026-05-01 12:00 UTC
masks,Tuesday,2026-05-03 12:00 UTC
heads,Monday,2026-05-10 12:00 UTC
heads,Tuesday,2026-05-12 12:00 UTC
"""


@pytest.fixture
def course(tmp_path: Path) -> Course:
    names = ("masks", "heads", "other")
    return Course(tmp_path, tuple(Assignment(n, n, (), Limits()) for n in names))


def test_class_dates_override_course_dates_and_may_differ_by_section(
    course: Course, tmp_path: Path
) -> None:
    (tmp_path / "due.csv").write_text(DUE)
    (tmp_path / "roster.csv").write_text(
        "student,section,extra_time\nada,Monday,\nben,Tuesday,1d\ncy,Monday; Tuesday,\n"
    )
    dated = with_class_dates(course, tmp_path)
    allowed = read_allowances(tmp_path)
    ends = {}
    for name in ("masks", "heads"):
        due = dated.assignment(name).duedate
        assert due is not None
        for student in ("ada", "ben", "cy", "nobody"):
            more = allowed.of(student, name, due) or timedelta()
            ends[student, name] = f"{due.naive_utc + more:%m-%d}"
    assert ends == {
        ("ada", "masks"): "05-01",
        ("ben", "masks"): "05-04",
        ("cy", "masks"): "05-03",
        ("nobody", "masks"): "05-01",
        ("ada", "heads"): "05-10",
        ("ben", "heads"): "05-13",
        ("cy", "heads"): "05-12",
        ("nobody", "heads"): "05-12",
    }
    assert dated.assignment("other").duedate is None


@pytest.mark.parametrize(
    ("row", "fix"),
    [
        ("heads,,01.02.2027", "write 2027-01-31 23:59 Europe/Berlin"),
        ("heads,,2026-05-10 12:00", "write 2026-05-10 12:00 Europe/Berlin"),
        ("heads,Monday,2026-05-11 12:00 UTC", "remove one of the rows"),
        (
            "heads,,2026-10-25 02:30 Europe/Berlin",
            "write 2026-10-25T02:30+02:00 or 2026-10-25T02:30+01:00",
        ),
    ],
)
def test_a_bad_date_stops_its_assignment_and_no_other(
    row: str, fix: str, course: Course, tmp_path: Path
) -> None:
    (tmp_path / "due.csv").write_text(f"{DUE}{row}\n")
    dated = with_class_dates(course, tmp_path)
    with pytest.raises(ContentError, match=r"due\.csv:6: due date") as raised:
        dated.assignment("heads")
    assert raised.value.fix == fix
    assert [a.name for a in dated.assignments] == ["masks", "other"]


def test_a_date_of_an_unknown_assignment_or_section_is_reported(
    course: Course, tmp_path: Path
) -> None:
    rows = "mask,,2026-05-01 12:00 UTC\nhead,,01.02.2027\nother,,01.02.2027\n"
    (tmp_path / "due.csv").write_text(DUE + rows)
    (tmp_path / "roster.csv").write_text("student,section\nada,Monday\nben,Monday; Friday\n")
    (tmp_path / "source" / "other").mkdir(parents=True)
    dated = with_class_dates(course, tmp_path)
    assert [
        sentence.partition(": ")[2]
        for sentence in unused_dates(tmp_path, dated, read_roster(tmp_path))
    ] == [
        "no assignment is called 'head', so its date is not used; known: heads, masks, other",
        "no assignment is called 'mask', so its date is not used; known: heads, masks, other",
        "nobody on the roster is in the section 'Tuesday', so its date for heads is not "
        "used; sections on the roster: Friday, Monday",
        "nobody on the roster is in the section 'Tuesday', so its date for masks is not "
        "used; sections on the roster: Friday, Monday",
    ]


def test_headings_in_instructors_tables_may_have_any_case(course: Course, tmp_path: Path) -> None:
    (tmp_path / "due.csv").write_text("Assignment;Section;Date\nmasks;;2026-05-01 12:00 UTC\n")
    (date,) = read_dates(tmp_path).dates
    assert date == ("masks", "")
    (tmp_path / "roster.csv").write_text("Student,Section\nada,Monday\n")
    (ada,) = read_roster(tmp_path).people
    assert (ada.student, ada.section) == ("ada", "Monday")


def test_a_table_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "due.csv").write_text("a,b\n1,2\n")
    with pytest.raises(UserError, match="no column 'assignment'"):
        read_dates(tmp_path)


def test_all_kinds_of_extra_time_count_days_by_the_clock(tmp_path: Path) -> None:
    due = parse_duedate("2026-10-24 23:59 Europe/Berlin")
    (tmp_path / "due.csv").write_text(
        "assignment,section,date\nmasks,Tuesday,2026-10-26 23:59 Europe/Berlin\n"
        "masks,Friday,2026-10-24 23:59 America/New_York\n"
    )
    (tmp_path / "roster.csv").write_text(
        "student,section,extra_time\nada,,1d\nben,Tuesday,\ncy,,\ndi,,\neve,Friday,1w\n"
    )
    (tmp_path / "late_days.csv").write_text("student,assignment,days,left\ncy,masks,1,0\n")
    grant_extension(tmp_path, ("di", "masks"), timedelta(days=1), "ill")
    allowed = read_allowances(tmp_path)
    ends = {
        student: moment_text(
            due.naive_utc + (allowed.of(student, "masks", due) or timedelta()), due
        )
        for student in ("ada", "ben", "cy", "di", "eve")
    }
    sunday = "2026-10-25 23:59:00 Europe/Berlin"
    assert ends == {
        **dict.fromkeys(("ada", "cy", "di"), sunday),
        "ben": "2026-10-26 23:59:00 Europe/Berlin",
        "eve": "2026-11-01 04:59:00 Europe/Berlin",
    }
    arrived = due.naive_utc + timedelta(hours=25)  # at 23:59 on the next day
    count_late_days(tmp_path, 3, {("cy", "a"): (arrived, due.naive_utc)}, {("cy", "a"): due})
    assert read_late_days(tmp_path) == {("cy", "a"): 1}


def test_late_days_are_taken_in_order_of_due_dates(
    tmp_path: Path,
) -> None:
    first, second, third = (datetime(2026, 5, day, 12) for day in (1, 8, 15))
    ends = {
        ("ada", "c"): (third + timedelta(hours=1), third),
        ("ada", "a"): (first + timedelta(hours=30), first),
        ("ada", "b"): (second + timedelta(days=2), second),
        ("ben", "a"): (first, first),
        ("cy", "a"): (None, first),
    }
    for _ in range(2):  # repeated counting gives the same numbers
        sentences = count_late_days(tmp_path, 3, ends, {})
        assert read_late_days(tmp_path) == {("ada", "a"): 2, ("ada", "c"): 1}
    assert sentences == (
        "ada takes 2 late days for a and has 1 left",
        "ada needs 2 late days for b but has only 1 left, so takes none",
        "ada takes 1 late day for c and has 0 left",
    )
    allowed = read_allowances(tmp_path)
    assert allowed.of("ada", "a", None) == timedelta(days=2)
    assert allowed.of("ada", "b", None) is None


@pytest.mark.parametrize(("seconds", "days"), [(59, 0), (60, 1), (86459, 1), (86460, 2)])
def test_a_late_day_includes_the_minute_that_is_named(
    seconds: int, days: int, tmp_path: Path
) -> None:
    due = datetime(2026, 5, 1, 23, 59)
    arrived = due + timedelta(seconds=seconds)
    count_late_days(tmp_path, 3, {("ada", "a"): (arrived, due)}, {})
    assert read_late_days(tmp_path).get(("ada", "a"), 0) == days
    assert not lateness(arrived, due + timedelta(days=days)).is_late


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("", ClassRules()),
        ('late_days = 3\ncounts = "last in time"\n', ClassRules(3, CountingRule.IN_TIME)),
        ("late_days = -1", "late_days = -1"),
        ('counts = "first"', "counts = 'first'"),
        ("late_dais = 3", "unknown setting 'late_dais'"),
        ("late_days = ", "can't be read"),
    ],
)
def test_rules_are_read_or_refused(text: str, rules: ClassRules | str, tmp_path: Path) -> None:
    (tmp_path / "class.toml").write_text(text)
    if isinstance(rules, ClassRules):
        assert read_rules(tmp_path) == rules
        return
    with pytest.raises(UserError, match=rules):
        read_rules(tmp_path)


def test_a_late_second_upload_does_not_replace_one_in_time(
    tmp_path: Path,
) -> None:
    due = datetime(2026, 5, 1, 12)
    options = CollectOptions(ends=lambda _: due)
    target = tmp_path / "course" / "submitted"

    def hand_in(text: str, stamp: str) -> Outcome:
        source = tmp_path / stamp[:10] / "submitted"
        place = source / "ada" / "masks"
        place.mkdir(parents=True)
        (place / "masking.py").write_text(text)
        (place / "timestamp.txt").write_text(stamp)
        (made,) = collect([source], target, {"masks": ("masking",)}, options).collected
        return made.outcome

    assert hand_in("1", "2026-04-29 10:00:00 UTC") is Outcome.NEW
    assert hand_in("2", "2026-04-30 10:00:00 UTC") is Outcome.NEW
    assert hand_in("late", "2026-05-02 10:00:00 UTC") is Outcome.LATE
    assert (target / "ada" / "masks" / "masking.py").read_text() == "2"
    kept = [path.read_text() for path in (tmp_path / "course" / "earlier").rglob("*.py")]
    assert sorted(kept) == ["1", "late"]
