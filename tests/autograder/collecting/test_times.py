"""Times from a worksheet or from nbgrader are exact or unknown."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.classroom import Person, utc_text
from autograder.classroom.times import read_stamp
from autograder.collecting import (
    CANVAS,
    CollectOptions,
    Outcome,
    Owner,
    collect,
    read_times,
)
from autograder.deadlines import moment_text, parse_duedate

COURSE = {"simplified_attention": ("scores", "softmax")}


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-11-19 10:00:00.123456 UTC", "2026-11-19 10:00:00"),
        ("2026-11-19 10:00:00", "2026-11-19 10:00:00"),
        ("2026-11-19 13:00:00 CET", "2026-11-19 12:00:00"),
        ("2026-11-30 10:00:00 America/New_York", "2026-11-30 15:00:00"),
        ("2026-11-30 10:00:00 XYZ", None),
        ("Friday, 20 November 2026, 18:05", None),
        ("soon", None),
        (" " * 300 + "2026-11-19 10:00:00", None),
        ("0001-01-01 00:00:00 +1400", None),
        ("9999-12-31 23:59:59 -1400", None),
        ("9999-12-31 23:59:59", None),
        ("2026-11-19 10:00:00 ../../etc/passwd", None),
        ("2026-11-19 10:00:00 zone.tab", None),
    ],
)
def test_the_time_that_nbgrader_wrote_is_kept_as_a_moment(
    text: str, time: str | None, tmp_path: Path
) -> None:
    folder = tmp_path / "submitted" / "ada" / "simplified_attention"
    folder.mkdir(parents=True)
    (folder / "scores.py").write_text("x")
    (folder / "timestamp.txt").write_text(text + "\n")
    report = collect([tmp_path / "submitted"], tmp_path / "course" / "submitted", COURSE)
    (made,) = report.collected
    stamp = made.folder / "timestamp.txt"
    if time is None:
        assert made.time is None
        assert not stamp.exists()
        assert "unknown" in report.skipped[0].reason
        return
    assert made.time == datetime.fromisoformat(time).replace(tzinfo=UTC)
    assert stamp.read_text() == f"{time} UTC\n"
    kept = (tmp_path / "course" / "collected.csv").read_text()
    assert f"{time} UTC,timestamp.txt" in kept


@given(
    st.datetimes(),
    st.sampled_from(["", " UTC", "+14:00", " -1400", " Pacific/Kiritimati", " Pacific/Midway"]),
    st.sampled_from(["Pacific/Kiritimati", "Pacific/Midway", "-14:00", "+14:00"]),
)
def test_a_known_time_can_be_written_in_any_zone(
    moment: datetime, zone: str, of_due_date: str
) -> None:
    stamped = read_stamp(f"{moment.isoformat(' ', 'seconds')}{zone}".encode())
    if stamped is not None:
        assert read_stamp(utc_text(stamped).encode()) == stamped
        due = parse_duedate(f"2026-11-20 18:00 {of_due_date}")
        assert moment_text(stamped.replace(tzinfo=None), due)


def handed_in(folder: Path, time: str, **files: str) -> Path:
    """Returns a class in nbgrader's layout in which ada has submitted."""
    place = folder / "submitted" / "ada" / "simplified_attention"
    place.mkdir(parents=True)
    for name, text in files.items():
        (place / f"{name}.py").write_text(text)
    (place / "timestamp.txt").write_text(time)
    return folder / "submitted"


def test_an_older_archive_that_is_collected_later_replaces_nothing(tmp_path: Path) -> None:
    target = tmp_path / "course" / "submitted"
    new = handed_in(tmp_path / "new", "2026-11-19 10:00:00 UTC", scores="new")
    old = handed_in(tmp_path / "old", "2026-11-18 10:00:00 UTC", scores="old")
    collect([new], target, COURSE)
    before = (tmp_path / "course" / "collected.csv").read_text()
    for _ in range(2):  # collecting the same files again keeps no second copy
        (made,) = collect([old], target, COURSE).collected
        assert made.is_older
        assert not made.is_new
        assert made.earlier is not None
        assert (made.earlier / "scores.py").read_text() == "old"
        assert len(list(made.earlier.parent.iterdir())) == 1
    there = target / "ada" / "simplified_attention"
    assert (there / "scores.py").read_text() == "new"
    assert (there / "timestamp.txt").read_text() == "2026-11-19 10:00:00 UTC\n"
    assert (tmp_path / "course" / "collected.csv").read_text() == before


def contents(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def archive(path: Path, files: Mapping[str, str]) -> Path:
    with zipfile.ZipFile(path, "w") as made:
        for name, text in files.items():
            made.writestr(name, text)
    return path


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("ada_104_5010_scores.py", "ada_104_7003_scores-1.py"),
        ("Ada_17_assignsubmission_file_/scores.py", "Ada_17_assignsubmission_file_/scores.py"),
        ("ada/scores.py", "ada/scores.py"),
    ],
    ids=["canvas", "moodle", "folder"],
)
def test_an_archive_that_was_replaced_replaces_nothing(tmp_path: Path, old: str, new: str) -> None:
    course = tmp_path / "course"
    first = archive(tmp_path / "1.zip", {old: "old"})
    second = archive(tmp_path / "2.zip", {new: "new"})
    collect([first], course / "submitted", COURSE)
    (made,) = collect([second], course / "submitted", COURSE).collected
    assert made.outcome is Outcome.NEW
    before = contents(course)
    for source, outcome in ((first, Outcome.OLDER), (second, Outcome.SAME)) * 2:
        (made,) = collect([source], course / "submitted", COURSE).collected
        assert made.outcome is outcome
        assert contents(course) == before


def test_a_canvas_archive_with_lower_numbers_is_older(tmp_path: Path) -> None:
    submitted = tmp_path / "course" / "submitted"
    for number, outcome in ((7003, Outcome.NEW), (5010, Outcome.OLDER), (9000, Outcome.NEW)):
        source = archive(tmp_path / "1.zip", {f"ada_104_{number}_scores.py": str(number)})
        (made,) = collect([source], submitted, COURSE).collected
        assert made.outcome is outcome


def test_returning_to_an_earlier_version_later_is_a_new_submission(tmp_path: Path) -> None:
    target = tmp_path / "course" / "submitted"
    for day, text in ((18, "a"), (19, "b"), (20, "a")):
        source = handed_in(tmp_path / str(day), f"2026-11-{day} 10:00:00 UTC", scores=text)
        (made,) = collect([source], target, COURSE).collected
        assert made.outcome is Outcome.NEW


def of_table(tmp_path: Path, time: str) -> CollectOptions:
    table = tmp_path / "times.csv"
    table.write_text(f"student,time\nada,{time}\n")
    return CollectOptions(times=read_times(table, None))


def test_a_known_time_stays_when_no_source_states_one(tmp_path: Path) -> None:
    course = tmp_path / "course"
    source = archive(tmp_path / "1.zip", {"ada/scores.py": "1"})
    collect([source], course / "submitted", COURSE, of_table(tmp_path, "2026-11-19 10:00:00 UTC"))
    before = contents(course)
    assert "2026-11-19 10:00:00 UTC,time of times.csv" in before["collected.csv"]
    (made,) = collect([source], course / "submitted", COURSE).collected
    assert made.time == datetime(2026, 11, 19, 10, tzinfo=UTC)
    assert contents(course) == before
    later = of_table(tmp_path, "2026-11-19 11:00:00 UTC")
    (made,) = collect([source], course / "submitted", COURSE, later).collected
    assert made.time == datetime(2026, 11, 19, 11, tzinfo=UTC)


def test_a_commits_time_does_not_replace_a_platforms_time(tmp_path: Path) -> None:
    course, clones = tmp_path / "course", tmp_path / "clones"
    for student in ("ada", "bea"):
        own = clones / f"simplified-attention-{student}"
        (own / ".git" / "objects" / "aa").mkdir(parents=True)
        (own / ".git" / "HEAD").write_text("aa" * 20)
        commit = b"committer a <a@b> 1773000000 +0000\n\nx"
        data = zlib.compress(b"commit %d\0" % len(commit) + commit)
        (own / ".git" / "objects" / "aa" / ("aa" * 19)).write_bytes(data)
        (own / "scores.py").write_text("1")

    def times(options: CollectOptions) -> list[str]:
        made = collect([clones], course / "submitted", COURSE, options).collected
        stamps = [one.folder / "timestamp.txt" for one in made]
        assert [f"{utc_text(one.time)}\n" for one in made] == [s.read_text() for s in stamps]
        return [utc_text(one.time) for one in made]

    committed, pushed = "2026-03-08 20:00:00 UTC", "2026-03-09 10:00:00 UTC"
    assert times(CollectOptions()) == [committed, committed]
    assert times(of_table(tmp_path, pushed)) == [pushed, committed]
    before = contents(course)
    assert times(CollectOptions()) == [pushed, committed]
    assert contents(course) == before


def test_unknown_students_and_empty_times_are_reasons_to_look(tmp_path: Path) -> None:
    course, table = tmp_path / "course", tmp_path / "times.csv"
    files = {f"{student}/scores.py": "1" for student in ("ada", "bea", "cy")}
    source = archive(tmp_path / "1.zip", files)
    course.mkdir()
    (course / "roster.csv").write_text("student,name,email\ndi,Di Dee,di@uni.example\n")
    time = "2026-11-19 10:00:00 UTC"
    table.write_text(f"student,time\nada,{time}\nbae,{time}\ndi@uni.example,{time}\ncy,\n,\n")
    options = CollectOptions("simplified_attention", times=read_times(table, None))
    looks = collect([source], course / "submitted", COURSE, options).looks
    assert looks == (
        "time of times.csv: 1 row with a time for nobody in the class: 'bae': are the names "
        "written correctly?",
        "time of times.csv: the time is empty for 1 student with a submission: 'cy'",
    )


def test_files_that_only_the_earlier_submission_had_are_reported(tmp_path: Path) -> None:
    target = tmp_path / "course" / "submitted"
    first = handed_in(tmp_path / "1", "2026-11-18 10:00:00 UTC", scores="1", softmax="1")
    second = handed_in(tmp_path / "2", "2026-11-19 10:00:00 UTC", scores="2")
    collect([first], target, COURSE)
    (made,) = collect([second], target, COURSE).collected
    assert made.is_new
    assert made.lacks == ("softmax.py",)
    assert made.earlier is not None
    assert (made.earlier / "softmax.py").read_text() == "1"


def test_a_university_number_distinguishes_namesakes(tmp_path: Path) -> None:
    table = tmp_path / "times.csv"
    rows = [f"Zoë Müller,S-{n},2026-11-20T23:3{n}:00Z\n" for n in (2, 3)]
    table.write_text("Name,Matrikelnummer,submitted_at\n" + "".join(rows), encoding="utf-8")
    person = Person("zoe", name="Müller, Zoë", number="102", sis_id="S-2")
    time = read_times(table, None).of(Owner("müllerzoë", "Canvas 102", CANVAS, "102"), person)
    assert time is not None and time.minute == 32
