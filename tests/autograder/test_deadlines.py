"""Due dates and durations have one meaning, or are rejected with an example of the right form."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from autograder.deadlines import (
    DateError,
    days_late,
    duedate_text,
    duration_text,
    later,
    moment_text,
    parse_duedate,
    parse_duration,
    time_between,
)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2027-01-31 23:59 Europe/Berlin", (2027, 1, 31, 22, 59, 0)),
        ("2027-07-31 23:59:30 Europe/Berlin", (2027, 7, 31, 21, 59, 30)),
        ("2027-01-31T23:59:00+01:00", (2027, 1, 31, 22, 59, 0)),
        ("2027-01-31 23:59:00 -0500", (2027, 2, 1, 4, 59, 0)),
        ("2027-01-31 12:00Z", (2027, 1, 31, 12, 0, 0)),
        ("2027-01-31 12:00:00 UTC", (2027, 1, 31, 12, 0, 0)),
        ("2027-07-31 23:59 CEST", (2027, 7, 31, 21, 59, 0)),
        ("2027-01-31 23:59 AEST", (2027, 1, 31, 13, 59, 0)),
        ("2027-01-31 Europe/Berlin", (2027, 1, 31, 22, 59, 59)),
    ],
)
def test_a_due_date_is_one_moment(text: str, moment: tuple[int, ...]) -> None:
    assert parse_duedate(text).naive_utc == datetime(*moment)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("01.02.2027", "is ambiguous"),
        ("01/02/2027 UTC", "is ambiguous"),
        ("tomorrow", "not a date"),
        ("2027-01-31", "no time zone"),
        ("2027-01-31 23:59", "no time zone"),
        ("2027-01-31 23:59 Europe/Berlinn", "no time zone 'Europe/Berlinn'"),
        ("2027-01-31 23:59 ../../etc/passwd", "no time zone"),
        ("2027-13-01 UTC", "month"),
        ("2027-02-30 UTC", "day"),
        ("2027-07-31 23:59 CET", "the zone is CEST on that day"),
        ("2027-01-31 23:59 CEST", "the zone is CET on that day, not CEST"),
        ("2027-01-31 23:59 PDT", "the zone is PST on that day"),
        ("2027-01-31 23:59 NZST", "the zone is NZDT on that day"),
        ("2027-01-31 24:00 UTC", "'2027-01-31 24:00 UTC' does not exist: hour must be in"),
        ("2027-01-31 24:00", "'2027-01-31 24:00' does not exist: hour must be in"),
        ("2027-02-30 12:00 UTC", "'2027-02-30 12:00 UTC' does not exist"),
        ("2027-01-31 23:59 MEZ", "there is no time zone 'MEZ'"),
        ("31/01/27", "is not a date"),
        ("46418.9993", "is not a date"),
        ("2027-01-31 23:59 localtime", "no time zone"),
        ("2027-10-31 02:30 Europe/Berlin", "occurs twice, because"),
        ("2027-03-28 02:30 Europe/Berlin", "does not exist, because"),
    ],
)
def test_an_ambiguous_text_is_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse_duedate(text)


@pytest.mark.parametrize(
    ("text", "instead"),
    [
        ("01.02.2027", "2027-01-31 23:59 Europe/Berlin"),
        ("2027-02-30 UTC", "2027-01-31 23:59 Europe/Berlin"),
        ("2026-05-10 12:00", "2026-05-10 12:00 Europe/Berlin"),
        ("2026-05-10 12:00 MEZ", "2026-05-10 12:00 Europe/Berlin"),
        ("2026-05-10 12:00 +25:00", "2026-05-10 12:00 Europe/Berlin"),
        ("2026-05-10 11:59 PM Europe/Paris", "2026-05-10 23:59 Europe/Paris"),
        ("2026-05-10 12:30 am", "2026-05-10 00:30 Europe/Berlin"),
        ("2027-07-31 23:59 CET", "2027-07-31T23:59+02:00"),
        ("2027-01-31 23:59 PDT", "2027-01-31 23:59 America/Los_Angeles"),
        (
            "2026-10-25 02:30 Europe/Berlin",
            "2026-10-25T02:30+02:00 or 2026-10-25T02:30+01:00",
        ),
        (
            "2027-03-28 02:30 Europe/Berlin",
            "2027-03-28T03:30+02:00 or 2027-03-28T01:30+01:00",
        ),
    ],
)
def test_a_refused_date_has_a_remedy_that_works(text: str, instead: str) -> None:
    with pytest.raises(DateError) as raised:
        parse_duedate(text)
    assert raised.value.remedy() == instead
    assert all(parse_duedate(date) for date in raised.value.instead)


def test_a_due_date_is_shown_as_it_was_understood() -> None:
    due = parse_duedate("2027-01-31 Europe/Berlin")
    assert duedate_text(due) == "Sunday, 2027-01-31 23:59:59 Europe/Berlin"


@pytest.mark.parametrize(
    ("text", "duration"),
    [
        ("2d", timedelta(days=2)),
        ("+36h", timedelta(hours=36)),
        ("1 day 12 hours", timedelta(days=1, hours=12)),
        ("90min", timedelta(minutes=90)),
        ("1w", timedelta(days=7)),
        ("0", timedelta()),
    ],
)
def test_a_duration_is_read_as_people_write_it(text: str, duration: timedelta) -> None:
    assert parse_duration(text) == duration


@pytest.mark.parametrize("text", ["", "2", "-1d", "soon", "2 fortnights", "1d of grace", "9999w"])
def test_a_text_that_is_not_a_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="duration|ten years"):
        parse_duration(text)


@pytest.mark.parametrize("minutes", [0, 1, 59, 60, 61, 1439, 1440, 1441, 100_000])
def test_a_duration_in_words_is_read_back(minutes: int) -> None:
    duration = timedelta(minutes=minutes)
    assert parse_duration(duration_text(duration)) == duration


@pytest.mark.parametrize(
    ("due", "duration", "end"),
    [
        ("2026-10-24 23:59 Europe/Berlin", timedelta(days=1), "2026-10-25 23:59:00"),
        ("2026-10-24 23:59 Europe/Berlin", timedelta(days=1, hours=12), "2026-10-26 11:59:00"),
        ("2026-10-24 23:59 Europe/Berlin", timedelta(hours=12), "2026-10-25 10:59:00"),
        ("2027-03-27 23:59 Europe/Berlin", timedelta(days=1), "2027-03-28 23:59:00"),
        ("2027-03-27 02:30 Europe/Berlin", timedelta(days=1), "2027-03-28 03:30:00"),
        ("2026-10-24 02:30 Europe/Berlin", timedelta(days=1), "2026-10-25 02:30:00"),
        ("2026-10-24 23:59 +02:00", timedelta(days=1), "2026-10-25 23:59:00"),
        ("2026-10-24 23:59 Europe/Berlin", timedelta(), "2026-10-24 23:59:00"),
    ],
)
def test_a_day_ends_at_the_same_time_on_the_clock(due: str, duration: timedelta, end: str) -> None:
    parsed = parse_duedate(due)
    found = later(parsed.naive_utc, duration, parsed)
    assert moment_text(found, parsed).startswith(end)
    assert time_between(parsed.naive_utc, found, parsed) == duration
    whole = timedelta(days=duration.days) == duration
    assert days_late(found, parsed.naive_utc, parsed) == duration.days + (not whole)


def test_moments_are_shown_in_the_zone_of_the_due_date() -> None:
    due = parse_duedate("2027-01-31 23:59 Europe/Berlin")
    noon = datetime(2027, 7, 1, 12)
    assert moment_text(noon, due) == "2027-07-01 14:00:00 Europe/Berlin"
    assert moment_text(noon, None) == "2027-07-01 12:00:00 UTC"
    # this hour occurs twice, because clocks are put back
    twice = [moment_text(datetime(2027, 10, 31, hour, 30), due) for hour in (0, 1)]
    assert twice == [f"2027-10-31 02:30:00 Europe/Berlin ({zone})" for zone in ("+0200", "+0100")]
