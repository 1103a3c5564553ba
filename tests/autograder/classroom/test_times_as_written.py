"""A written time has one meaning on every machine, or is unknown."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from autograder.classroom import MissingZone, arrival, lateness, read_stamp, read_time
from autograder.deadlines import parse_duedate, zone_of

BERLIN = zone_of("Europe/Berlin")
SIX = datetime(2026, 11, 20, 18, 5)


@pytest.fixture(params=["UTC", "Europe/Berlin", "America/New_York"])
def _machine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Runs the test in each of several time zones."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", request.param)
        time.tzset()
        yield
    time.tzset()


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("Friday, 20 November 2026, 6:05 PM", SIX),
        ("Friday, 20 November 2026, 18:05", SIX),
        ("Friday, 20 November 2026, 12:05 AM", SIX.replace(hour=0)),
        ("Friday, 20 November 2026, 12:05 PM", SIX.replace(hour=12)),
        ("Freitag, 20. November 2026, 18:05", SIX),
        ("Freitag, 6. März 2026, 18:05", datetime(2026, 3, 6, 18, 5)),
        ("Freitag, 6. Ma\u0308rz 2026, 18:05", datetime(2026, 3, 6, 18, 5)),
        ("vendredi 20 novembre 2026, 18:05", SIX),
        ("viernes, 20 de noviembre de 2026, 18:05", SIX),
        ("piątek, 20 listopada 2026, 18:05", SIX),
        ("úterý, 7. července 2026, 08:05", datetime(2026, 7, 7, 8, 5)),
        ("20.11.2026 18:05", SIX),
        ("20.11.2026, 18:05:00", SIX),
        ("2026-11-20T18:05", SIX),
        ("Friday, 20 November 2026, 13:05 PM", None),
        ("Friday, 31 November 2026, 18:05", None),
        ("Freitag, 20. Nebelung 2026, 18:05", None),
        ("11/20/2026, 18:05", None),
        ("20 November 2026, 18:05 or later", None),
        ("25.10.2026 02:30", None),  # occurs twice, because clocks are put back
        ("20.11.2026", None),
    ],
)
def test_a_time_without_a_zone_is_read_in_the_platforms(text: str, moment: datetime | None) -> None:
    expected = moment.replace(tzinfo=BERLIN).astimezone(UTC) if moment else None
    assert read_time(text, BERLIN) == expected


def test_a_time_without_a_zone_needs_one() -> None:
    with pytest.raises(MissingZone, match="has no time zone"):
        read_time("20.11.2026 18:05")


@pytest.mark.usefixtures("_machine")
@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-07-20 23:58:00.123 UTC", "2026-07-20 23:58:00"),
        ("2026-07-20 23:58:00", "2026-07-20 23:58:00"),  # as nbgrader writes UTC
        ("2026-07-20 23:58:00 CEST", "2026-07-20 21:58:00"),
        ("2026-11-20 23:58:00 CET", "2026-11-20 22:58:00"),
        ("2026-07-20 23:58:00 +0100", "2026-07-20 22:58:00"),
        ("2026-07-20 23:58:00 EDT", "2026-07-21 03:58:00"),
        ("20.07.2026 23:58 Europe/Berlin", "2026-07-20 21:58:00"),
        ("2026-07-20 23:58:00 CET", None),  # but that day has CEST, so this is ambiguous
        ("2026-11-20 23:58:00 CEST", None),  # but that day has CET
        ("2026-11-20 23:58:00 MEZ", None),
        ("28/11/26", None),
        ("46354.9993", None),
        ("2026-07-20 23:58:00 IST", None),
        ("2026-07-20 23:58:00 localtime", None),
        ("20.07.2026 23:58", None),
        ("Montag, 20. Juli 2026, 23:58", None),
        ("", None),
    ],
)
def test_a_stamp_is_the_same_moment_on_every_machine(text: str, moment: str | None) -> None:
    expected = datetime.fromisoformat(moment).replace(tzinfo=UTC) if moment else None
    assert read_stamp(text.encode()) == expected


def test_a_stamp_that_is_not_certain_is_unknown_and_reported(tmp_path: Path) -> None:
    (tmp_path / "timestamp.txt").write_text("20.07.2026 23:58")
    found = arrival(tmp_path)
    assert found.stamped is None
    assert "'20.07.2026 23:58'" in (found.problem or "")
    due = parse_duedate("2020-01-01 23:59 UTC").naive_utc
    assert not lateness(found.stamped, due).is_late


@pytest.mark.parametrize(("second", "is_late"), [(0, False), (30, False), (59, False), (60, True)])
def test_the_minute_that_a_due_date_names_belongs_to_it(second: int, is_late: bool) -> None:
    due = parse_duedate("2026-07-20 23:59 Europe/Berlin")
    stamped = datetime(2026, 7, 20, 21, 59) + timedelta(seconds=second)
    assert lateness(stamped, due.naive_utc).is_late is is_late
