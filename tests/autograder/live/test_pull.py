"""A pull shows its changes beforehand, and copies people, dates and submissions only once."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from autograder.classroom import (
    arrival,
    read_dates,
    read_extensions,
    read_origins,
    read_roster,
    withdraw,
)
from autograder.classroom.decisions import EVERYTHING
from autograder.errors import UserError

from .conftest import Class
from .servers import MOODLE_TOKEN, Canvas, Fault, Moodle, Response

FIRST, SECOND = "2026-11-20T10:00:00Z", "2026-11-21T10:00:00Z"


def test_a_course_on_canvas_becomes_a_class(canvas: Canvas, on_canvas: Class) -> None:
    canvas.submit(101, 991, FIRST, {"masking.py": b"x = 1\n", "dropout.py": b"y = 1\n"})
    canvas.submit(103, 991, SECOND, {"Masking-1.py": b"x = 2\n"})
    report = on_canvas.pull()
    people = {person.student: person for person in read_roster(on_canvas.folder).people}
    assert list(people) == ["ada", "ben", "ben2", "emmy"]
    assert (people["ben2"].section, people["ben2"].number) == ("Tutorial B", "103")
    due = read_dates(on_canvas.folder).dates["masks", ""]
    assert f"{due.at:%Y-%m-%d %H:%M:%S} {due.zone}" == "2026-11-20 23:59:59 Europe/Berlin"
    assert on_canvas.file("ada").read_text() == "x = 1\n"
    assert on_canvas.file("ben2").read_text() == "x = 2\n"
    assert str(arrival(on_canvas.file("ada").parent).stamped) == "2026-11-20 10:00:00"
    assert report.collected is not None
    assert len(report.collected.collected) == 2
    assert report.waits == ()


@pytest.mark.parametrize("files", [("a", "a/b", "a/b/c"), ("a/b/c", "a/b", "a")])
def test_a_file_named_as_a_folder_stops_no_pull(
    moodle: Moodle, on_moodle: Class, files: tuple[str, ...]
) -> None:
    moodle.submit(11, 31, 1795200000, {"masking.py": b"x = 1\n", **dict.fromkeys(files, b"y")})
    moodle.submit(12, 31, 1795200000, {"masking.py": b"x = 2\n"})
    report = on_moodle.pull()
    assert report.collected is not None
    assert len(report.collected.collected) == 2
    assert on_moodle.file("ada").read_text() == "x = 1\n"
    assert len([path for path in on_moodle.file("ada").parent.rglob("*") if path.is_file()]) >= 4


def test_a_second_pull_finds_nothing_to_do(canvas: Canvas, on_canvas: Class) -> None:
    canvas.submit(101, 991, FIRST, {"masking.py": b"x = 1\n"})
    on_canvas.pull()
    canvas.requests.clear()
    report = on_canvas.pull(at=None)
    assert not report.plan.changes_something
    assert len(on_canvas.plans) == 1
    assert not [r for r in canvas.requests if r.path.startswith("/files")]


def test_nothing_changes_before_it_is_approved(canvas: Canvas, on_canvas: Class) -> None:
    canvas.submit(101, 991, FIRST, {"masking.py": b"x = 1\n"})
    report = on_canvas.pull(yes=False)
    assert not report.is_done
    assert report.plan.changes_something
    assert list(on_canvas.folder.iterdir()) == []
    assert {request.method for request in canvas.requests} == {"GET"}


def test_a_new_attempt_moves_the_one_before_to_earlier(canvas: Canvas, on_canvas: Class) -> None:
    canvas.submit(101, 991, FIRST, {"masking.py": b"x = 1\n"})
    on_canvas.pull()
    canvas.submit(101, 991, SECOND, {"masking.py": b"x = 2\n"})
    on_canvas.pull()
    assert on_canvas.file("ada").read_text() == "x = 2\n"
    (earlier,) = on_canvas.folder.glob("earlier/ada/masks/*/masking.py")
    assert earlier.read_text() == "x = 1\n"


def test_the_last_attempt_in_time_counts_if_configured(canvas: Canvas, on_canvas: Class) -> None:
    (on_canvas.folder / "class.toml").write_text('counts = "last in time"\n')
    canvas.submit(101, 991, FIRST, {"masking.py": b"x = 1\n"})
    canvas.submit(101, 991, SECOND, {"masking.py": b"x = 2\n"})
    on_canvas.pull()
    assert on_canvas.file("ada").read_text() == "x = 1\n"
    assert not on_canvas.pull().plan.changes_something


def test_a_file_that_was_edited_by_hand_stays(canvas: Canvas, on_canvas: Class) -> None:
    canvas.submit(101, 991, FIRST, {"masking.py": b"x = 1\n"})
    on_canvas.pull()
    on_canvas.file("ada").write_text("x = 1  # repaired\n")
    canvas.submit(101, 991, SECOND, {"masking.py": b"x = 2\n"})
    report = on_canvas.pull()
    assert on_canvas.file("ada").read_text() == "x = 1  # repaired\n"
    assert report.collected is not None
    assert len(report.collected.waiting) == 1
    assert not on_canvas.pull().plan.changes_something


def test_dates_of_sections_and_people_become_rows_and_extensions(
    canvas: Canvas, on_canvas: Class
) -> None:
    canvas.assignments[0]["overrides"] = [
        {"course_section_id": 2, "due_at": "2026-11-22T22:59:59Z"},
        {"student_ids": [104], "due_at": "2026-11-24T22:59:59Z"},
        {"student_ids": [101], "due_at": "2026-11-19T22:59:59Z"},
    ]
    report = on_canvas.pull()
    dates = read_dates(on_canvas.folder).dates
    assert dates["masks", "Tutorial B"].at - dates["masks", ""].at == timedelta(days=2)
    assert dict(read_extensions(on_canvas.folder)) == {("emmy", "masks"): timedelta(days=2)}
    (note,) = [note for note in report.plan.notes if note.startswith("ada")]
    assert "before the class's date" in note
    assert not on_canvas.pull().plan.changes_something


def test_a_student_renamed_on_canvas_keeps_the_folder(canvas: Canvas, on_canvas: Class) -> None:
    canvas.submit(101, 991, FIRST, {"masking.py": b"x = 1\n"})
    on_canvas.pull()
    canvas.users[0] |= {
        "name": "Ada King",
        "sortable_name": "King, Ada",
        "login_id": "aking",
        "email": "aking@uni.example",
        "sis_user_id": None,
    }
    canvas.submit(101, 991, SECOND, {"masking.py": b"x = 2\n"})
    report = on_canvas.pull()
    assert report.plan.roster is not None
    assert report.plan.roster.added == ()
    assert report.plan.roster.updated == ("ada",)
    assert on_canvas.file("ada").read_text() == "x = 2\n"
    assert read_roster(on_canvas.folder).people[0].login == "aking"


def test_people_who_left_stay_on_the_roster_and_are_named(canvas: Canvas, on_canvas: Class) -> None:
    on_canvas.pull()
    del canvas.users[3]
    (note,) = on_canvas.pull().plan.notes
    assert note.startswith("1 on the roster are not on Canvas: emmy")
    assert len(read_roster(on_canvas.folder).people) == 4
    withdraw(on_canvas.folder, ("emmy", EVERYTHING), "left")
    assert on_canvas.pull().plan.notes == ()


def test_a_renamed_assignment_stays_linked(canvas: Canvas, on_canvas: Class) -> None:
    on_canvas.pull()
    canvas.assignments[0]["name"] = "Week 3"
    canvas.submit(101, 991, FIRST, {"masking.py": b"x = 1\n"})
    report = on_canvas.pull()
    assert "masks: 'Masks' is now called 'Week 3'" in report.plan.notes
    assert on_canvas.file("ada").is_file()
    assert on_canvas.pull().plan.notes == ()


def test_an_assignment_of_another_name_is_linked_by_number(
    canvas: Canvas, on_canvas: Class
) -> None:
    canvas.assignments[0]["name"] = "Week 3"
    canvas.submit(101, 991, FIRST, {"masking.py": b"x = 1\n"})
    (wait,) = on_canvas.pull().waits
    assert "'Week 3' (991)" in wait
    assert "--link masks=NUMBER" in wait
    on_canvas.pull(links={"masks": "991"})
    assert on_canvas.file("ada").is_file()
    assert on_canvas.pull().waits == ()


_ASK = "ask for the file, or grade it by hand"


def test_typed_text_becomes_a_submission_to_look_at(canvas: Canvas, on_canvas: Class) -> None:
    canvas.submit(101, 991, FIRST, {}, typed="<p>def mask(): ...</p>")
    canvas.submit(102, 991, FIRST, {})  # neither files nor a text
    report = on_canvas.pull()
    assert report.waits == (f"ben/masks: a text was submitted: {_ASK}",)
    text = on_canvas.folder / "submitted" / "ada" / "masks" / "text.html"
    assert text.read_text() == "<p>def mask(): ...</p>"
    assert report.collected is not None and "text.html" in report.collected.looks[0]
    assert not on_canvas.pull().plan.changes_something


def test_typed_text_replaces_no_file(canvas: Canvas, on_canvas: Class) -> None:
    canvas.submit(101, 991, FIRST, {"masking.py": b"x = 1\n"})
    canvas.submit(101, 991, SECOND, {}, typed="is it right?")
    for _ in range(2):
        assert on_canvas.pull().waits == (f"ada/masks: a text was submitted: {_ASK}",)
    assert on_canvas.file("ada").read_text() == "x = 1\n"


def test_text_typed_into_moodle_becomes_a_submission(moodle: Moodle, on_moodle: Class) -> None:
    moodle.submit(11, 31, 1795200000, {}, typed="def mask(): ...")
    on_moodle.pull()
    (text,) = on_moodle.folder.glob("submitted/*/*/onlinetext.html")
    assert text.read_text() == "def mask(): ..."


def test_an_interrupted_download_continues_where_it_stopped(
    canvas: Canvas, on_canvas: Class
) -> None:
    for number in (101, 102, 103):
        canvas.submit(number, 991, FIRST, {"masking.py": b"x = %d\n" % number})
    canvas.faults.append(Fault("/files/9002", Response(b"", 503), times=99))
    with pytest.raises(UserError, match="with status 503"):
        on_canvas.pull()
    assert [item.is_here for item in on_canvas.plans[-1].submissions] == [False] * 3
    assert not (on_canvas.folder / "submitted").exists()
    (part,) = (on_canvas.folder / ".pulling").rglob("101-1-*")
    (part / ".writing-of-a-pull-that-was-killed").write_text("x =")
    canvas.faults.clear()
    canvas.requests.clear()
    on_canvas.pull()
    assert [item.is_here for item in on_canvas.plans[-1].submissions] == [True, True, False]
    assert on_canvas.file("ada").is_file()
    assert [path.name for path in on_canvas.file("ada").parent.glob(".*")] == []
    files = [r.path for r in canvas.requests if r.path.startswith("/files")]
    assert files == ["/files/9002/download"]
    assert not (on_canvas.folder / ".pulling").exists()


def test_an_assignment_that_is_anonymous_stops_no_other_part(
    canvas: Canvas, on_canvas: Class
) -> None:
    hidden = Response([{"anonymous_id": "3kf9a", "submission_history": []}])
    canvas.faults.append(Fault("assignments/991/submissions", hidden))
    (wait,) = on_canvas.pull().waits
    assert wait.startswith("masks: 'Masks' is graded anonymously on Canvas")
    assert len(read_roster(on_canvas.folder).people) == 4


def test_a_file_that_is_gone_costs_its_own_submission_only(
    canvas: Canvas, on_canvas: Class
) -> None:
    canvas.submit(101, 991, FIRST, {"masking.py": b"x = 1\n"})
    canvas.submit(102, 991, FIRST, {"masking.py": b"x = 2\n"})
    del canvas.store.files["9000"]
    (wait,) = on_canvas.pull().waits
    assert wait.startswith("ada/masks: ")
    assert "can't be downloaded" in wait
    assert on_canvas.file("ben").is_file()


@pytest.mark.parametrize("platform", ["canvas", "moodle"])
def test_a_token_that_is_revoked_in_the_middle_stops_all(
    platform: str, canvas: Canvas, moodle: Moodle, on_canvas: Class
) -> None:
    canvas.submit(101, 991, FIRST, {"masking.py": b"x = 1\n"})
    moodle.submit(11, 31, 1795200000, {"masking.py": b"x = 1\n"})
    server = canvas if platform == "canvas" else moodle
    there = Class(platform, on_canvas.folder, on_canvas.course, server.course, server.token)
    at = "/files" if platform == "canvas" else "pluginfile"
    refused = {"error": "Invalid token", "errorcode": "invalidtoken"}
    bad = Response(refused, 401 if platform == "canvas" else 200)
    server.faults.append(Fault(at, bad, times=9))
    server.faults.append(Fault("get_site_info", bad, times=9, skip=1))
    with pytest.raises(UserError, match="does not accept the token"):
        there.pull()
    assert there.waited == []


@pytest.mark.parametrize(
    "content",
    [b"x = 1234\n", b"[" * 2_500, b'{"errorcode": "invalidtoken", "error": "Invalid token"}'],
    ids=["code", "nested", "an_error_of_moodle"],
)
def test_a_file_replaced_during_a_pull_costs_one_submission(
    content: bytes, moodle: Moodle, on_moodle: Class
) -> None:
    moodle.submit(11, 31, 1795200000, {"masking.py": b"x = 1\n"})
    moodle.submit(12, 31, 1795200000, {"masking.py": b"x = 2\n"})
    moodle.faults.append(Fault("file/110/masking.py", Response(content), times=99))
    (wait,) = on_moodle.pull().waits
    assert wait.startswith("ada/masks: ") and MOODLE_TOKEN not in wait
    assert on_moodle.file("ben").is_file()


def test_a_path_in_an_uploads_name_leads_nowhere(canvas: Canvas, on_canvas: Class) -> None:
    # these lead to the temporary folder of downloads, to the class folder, and out of it
    names = ["../" * depth + "evil.py" for depth in (3, 4, 5)]
    canvas.submit(101, 991, FIRST, {**dict.fromkeys(names, b"x"), "masking.py": b"x = 1\n"})
    on_canvas.pull()
    assert on_canvas.file("ada").is_file()
    assert not list(on_canvas.folder.parent.rglob("evil.py"))


def test_a_course_on_moodle_becomes_a_class(moodle: Moodle, on_moodle: Class) -> None:
    moodle.mappings[31, 11] = 12001
    moodle.submit(11, 31, 1795200000, {"masking.py": b"x = 1\n"})
    moodle.submit(13, 31, 1795200001, {"masking.py": b"x = 3\n"}, status="draft")
    moodle.flags[31, 13] = {"extensionduedate": 1795215599 + 86400}
    on_moodle.pull()
    assert [person.student for person in read_roster(on_moodle.folder).people] == [
        *("ada", "ben", "emmy")
    ]
    assert on_moodle.file("ada").read_text() == "x = 1\n"
    assert not on_moodle.file("emmy").exists()
    assert read_origins(on_moodle.folder)["ada", "masks"].number == "12001"
    assert dict(read_extensions(on_moodle.folder)) == {("emmy", "masks"): timedelta(days=1)}
    assert not on_moodle.pull(at=None).plan.changes_something


def test_the_work_of_a_group_is_that_of_each_member(moodle: Moodle, on_moodle: Class) -> None:
    moodle.submit(0, 31, 1795200000, {"masking.py": b"x = 5\n"}, group=5)
    on_moodle.pull()
    assert on_moodle.file("ada").read_text() == on_moodle.file("ben").read_text() == "x = 5\n"
    assert not on_moodle.file("emmy").exists()


@pytest.mark.parametrize("time", [10**18, -(10**18), -5])
def test_an_impossible_time_is_unknown(moodle: Moodle, on_moodle: Class, time: int) -> None:
    moodle.submit(11, 31, time, {"masking.py": b"x = 1\n"})
    on_moodle.pull()
    assert on_moodle.file("ada").is_file()
    assert not (on_moodle.file("ada").parent / "timestamp.txt").exists()


def test_moodles_participants_come_in_pages(moodle: Moodle, on_moodle: Class) -> None:
    for number in range(100, 350):
        moodle.enrol(number, f"Student Number{number}", f"s{number}")
    on_moodle.pull()
    assert len(read_roster(on_moodle.folder).people) == 253


def test_a_class_belongs_to_one_course(canvas: Canvas, on_canvas: Class) -> None:
    on_canvas.pull()
    with pytest.raises(UserError, match="use another class folder"):
        on_canvas.pull(at=f"{canvas.address}/courses/12")


def test_no_file_of_the_class_contains_the_token(
    canvas: Canvas, on_canvas: Class, moodle: Moodle
) -> None:
    canvas.submit(101, 991, FIRST, {"masking.py": b"x = 1\n"})
    on_canvas.pull()
    on_moodle = Class("moodle", on_canvas.folder, on_canvas.course, moodle.course, moodle.token)
    on_moodle.pull()
    files = [path for path in Path(on_canvas.folder).rglob("*") if path.is_file()]
    assert len(files) > 5
    texts = [path.read_bytes() for path in files]
    assert not [text for text in texts if canvas.token.encode() in text]
    assert not [text for text in texts if moodle.token.encode() in text]
