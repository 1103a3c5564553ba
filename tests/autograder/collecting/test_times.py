"""Times from a worksheet or from nbgrader are exact or unknown."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.classroom import Person, utc_text
from autograder.classroom.times import read_stamp
from autograder.collecting import CANVAS, Owner, collect, read_times
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
