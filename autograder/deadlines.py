"""Parses and formats due dates and durations as people write them; rejects ambiguous input.

A due date must name its time zone, because otherwise the same words mean different moments in
different places. Work is on time until the end of the minute in which it is due or, if the due date
has seconds, until the end of that second. A date without a time means the end of that day.
"""

from __future__ import annotations

import itertools
import re
import zoneinfo
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo

from .counts import number_of
from .records import DueDate

_EXAMPLE = "2027-01-31 23:59 Europe/Berlin"
HOW_TO_WRITE = f'write duedate = "{_EXAMPLE}"'

_DATE = r"(?P<date>\d{4}-\d{2}-\d{2})"
_TIME = r"(?:[ T](?P<time>\d{2}:\d{2}(?::\d{2})?)(?: ?(?P<half>(?i:[AP]M))\b)?)?"
_WHOLE = re.compile(rf"{_DATE}{_TIME}(?: ?(?P<zone>[^\s\d].*|[+-]\d.*))?")
_OFFSET = re.compile(r"(?P<sign>[+-])(?P<hours>\d{2}):?(?P<minutes>\d{2})")
_END_OF_DAY = time(23, 59, 59)
#: the first and last year that are accepted; near the ends of Python's calendar, a conversion to
#: another time zone may fail
_FIRST_YEAR, _LAST_YEAR = 1970, 2999
#: abbreviations that mean the same offset everywhere but are not the names of time zones
_OFFSETS_OF = {
    **{"CEST": 2, "EEST": 3, "WEST": 1, "EDT": -4, "MDT": -6, "PDT": -7},
    **{"AEDT": 11, "AEST": 10, "NZDT": 13, "NZST": 12},
}
#: a place where each abbreviation is used; a date is rejected if a different one is in use there on
#: that day
_PLACES_OF = {
    **{"CEST": "Europe/Berlin", "EEST": "Europe/Athens", "WEST": "Europe/Lisbon"},
    **{"EDT": "America/New_York", "MDT": "America/Denver", "PDT": "America/Los_Angeles"},
    **{"AEDT": "Australia/Sydney", "AEST": "Australia/Brisbane"},
    **{"NZDT": "Pacific/Auckland", "NZST": "Pacific/Auckland"},
}
#: system files in the folder of time zones, which other machines may lack or define differently
_NOT_ZONES = ("localtime", "posixrules", "Factory", "right/", "posix/")

_UNITS = {
    "w": timedelta(weeks=1),
    "d": timedelta(days=1),
    "h": timedelta(hours=1),
    "m": timedelta(minutes=1),
}
_PART = re.compile(
    r"(?<!\d)(\d+(?:\.\d+)?)\s*(w(?:eeks?)?|d(?:ays?)?|h(?:ours?)?|m(?:in(?:utes?)?)?)\b"
)
_LONGEST = timedelta(days=3660)


class DateError(ValueError):
    """Raised for a date that can't be read; `problem` is a predicate that continues the date.

    `instead` contains what can be written in its place: the date itself, corrected, if its meaning
    is clear, with alternatives if it has several meanings; otherwise an example.
    """

    def __init__(self, text: str, problem: str, *instead: str) -> None:
        super().__init__(f"{text!r} {problem}")
        self.text, self.problem, self.instead = text, problem, instead or (_EXAMPLE,)

    def remedy(self, form: str = "{}") -> str:
        """Returns what to write; `form` is how the file writes a date, with `{}` in its place."""
        return " or ".join(form.format(date) for date in self.instead)


def duedate_text(due: DueDate) -> str:
    """Formats a due date with its weekday, time zone and grace period."""
    text = f"{due.at:%A, %Y-%m-%d} {due.at:%H:%M:%S} {due.zone}"
    return f"{text} (and {duration_text(due.grace)} of grace)" if due.grace else text


def moment_text(moment: datetime, due: DueDate | None) -> str:
    """Formats a naive UTC datetime in the due date's time zone, or in UTC if `due` is None.

    If clocks are set back and the time therefore occurs twice, the text includes the UTC offset.
    """
    if due is None:
        return f"{moment:%Y-%m-%d} {moment:%H:%M:%S} UTC"
    local = moment.replace(tzinfo=UTC).astimezone(due.at.tzinfo)
    first, second = (local.replace(fold=fold).utcoffset() for fold in (0, 1))
    offset = f" ({local:%z})" if first != second else ""
    return f"{local:%Y-%m-%d} {local:%H:%M:%S} {due.zone}{offset}"


def late_by(submitted: datetime, due: datetime) -> timedelta:
    """Returns how late a submission is, in whole minutes, or seconds if `due` has seconds.

    The minute or second that a due date names belongs to it, and so do those of the days after it:
    if work is due at 23:59, it is one day late at 23:59:30 on the next day.
    """
    arrived = submitted.replace(microsecond=0)
    arrived = arrived if due.second else arrived.replace(second=0)
    return max(arrived - due.replace(microsecond=0), timedelta())


def later(moment: datetime, duration: timedelta, due: DueDate | None) -> datetime:
    """Returns the time a duration after another; both are in UTC without a time zone.

    A day is a calendar day in the due date's time zone, or in UTC if `due` is None: it ends at the
    same time on the clock, even if the clocks change in between. If that time occurs twice or
    never, the later possible moment is used.
    """
    days = timedelta(days=duration.days)
    if due is None or not days:
        return moment + duration
    zone = due.at.tzinfo
    local = moment.replace(tzinfo=UTC).astimezone(zone).replace(tzinfo=None) + days
    ends = (local.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
    return max(ends).replace(tzinfo=None) + (duration - days)


def time_between(moment: datetime, end: datetime, due: DueDate | None) -> timedelta:
    """Returns the duration for which `later` returns `end`."""
    days = (end - moment).days + 1
    while (day := later(moment, timedelta(days=days), due)) > end:
        days -= 1
    return timedelta(days=days) + (end - day)


def days_late(submitted: datetime, end: datetime, due: DueDate | None) -> int:
    """Returns the number of days by which `end` must be moved for a submission to be on time."""
    days = itertools.count()
    return next(n for n in days if not late_by(submitted, later(end, timedelta(days=n), due)))


def parse_duedate(text: str) -> DueDate:
    """Parses a due date; raises a `DateError` that explains what is ambiguous or wrong."""
    return DueDate(*_parse(text))


def parse_moment(text: str) -> datetime:
    """Parses a date and time with a time zone; raises the same errors as `parse_duedate`."""
    return _parse(text)[0]


def _parse(text: str) -> tuple[datetime, str]:
    """Parses a date and time with a time zone; returns the moment and the zone's name."""
    match = _WHOLE.fullmatch(" ".join(text.split()))
    if match is None:
        raise DateError(text, "is ambiguous, or is not a date; the year must come first")
    day, clock = match["date"], match["time"] or ""
    if match["half"]:
        whole = _of_24_hours(clock, match["half"])
        problem = "has a time of 12 hours; the time must have 24 hours"
        raise DateError(text, problem, f"{day} {whole} {match['zone'] or 'Europe/Berlin'}")
    try:
        date_of = date.fromisoformat(day)
        time_of = time.fromisoformat(clock) if clock else _END_OF_DAY
    except ValueError as error:
        raise DateError(text, f"does not exist: {error}") from error
    in_berlin = " ".join(filter(None, (day, clock, "Europe/Berlin")))
    if not match["zone"]:
        raise DateError(text, "has no time zone, such as Europe/Berlin", in_berlin)
    try:
        zone, name = _zone(match["zone"])
    except ValueError as error:
        raise DateError(text, f"has an unknown time zone: {error}", in_berlin) from error
    moment = once(datetime.combine(date_of, time_of), zone, text)
    place = _PLACES_OF.get(name)
    local = moment.astimezone(zoneinfo.ZoneInfo(place) if place else zone)
    there = local.tzname()
    if name.isalpha() and name.isupper() and there not in (name, "UTC"):
        problem = f"names the wrong time zone: the zone is {there} on that day, not {name}"
        meant = f"{day} {clock or _END_OF_DAY} {place}" if place else _with_offset(local)
        raise DateError(text, problem, meant)
    return moment, name


def _of_24_hours(clock: str, half: str) -> str:
    hour = int(clock[:2])
    if 1 <= hour <= 12:
        hour = hour % 12 + 12 * (half.upper() == "PM")
    return f"{hour:02}{clock[2:]}"


def zone_of(name: str) -> tzinfo:
    """Returns the time zone for a name or an offset; raises `ValueError` if there is none."""
    return _zone(name)[0]


def _zone(name: str) -> tuple[tzinfo, str]:
    if name in ("Z", "UTC"):
        return UTC, "UTC"
    if name in _OFFSETS_OF:
        return timezone(timedelta(hours=_OFFSETS_OF[name]), name), name
    try:
        if match := _OFFSET.fullmatch(name):
            offset = timedelta(hours=int(match["hours"]), minutes=int(match["minutes"]))
            return timezone(-offset if match["sign"] == "-" else offset), name
        if name.startswith(_NOT_ZONES):
            raise ValueError(name)
        return zoneinfo.ZoneInfo(name), name
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(
            f"there is no time zone {name!r}; expected a name such as Europe/Berlin or an offset "
            "such as +01:00"
        ) from None


def once(moment: datetime, zone: tzinfo, text: str) -> datetime:
    """Adds a time zone to a local time; raises `DateError` if that time occurs twice or never.

    Such times exist when clocks are changed; Python then returns a different offset for each value
    of `fold`. A year before 1970 or after 2999 also raises `DateError`. The error's message quotes
    `text`.
    """
    if not _FIRST_YEAR <= moment.year <= _LAST_YEAR:
        raise DateError(text, f"needs a year from {_FIRST_YEAR} to {_LAST_YEAR}")
    first, second = (moment.replace(tzinfo=zone, fold=fold) for fold in (0, 1))
    if first.utcoffset() == second.utcoffset():
        return first
    back = [one.astimezone(UTC).astimezone(zone) for one in (first, second)]
    if back[0].replace(tzinfo=None) == moment:
        problem = "occurs twice, because the clocks are set back in that hour"
    else:
        problem = "does not exist, because the clocks are set forward in that hour"
    raise DateError(text, problem, *(_with_offset(one) for one in back))


def _with_offset(moment: datetime) -> str:
    """Formats a moment with its UTC offset, and with seconds only if there are any."""
    return moment.isoformat(timespec="seconds" if moment.second else "minutes")


def parse_duration(text: str) -> timedelta:
    """Parses a duration such as `2d`, `36 h`, `1 day 12 hours`, `90min` or `0`.

    Raises `ValueError` for any other text.
    """
    rest = text.strip().lower().removeprefix("+").strip()
    if rest == "0":
        return timedelta()
    parts = _PART.findall(rest)
    if not parts or _PART.sub("", rest).strip(" ,"):
        raise ValueError(f"{text!r} is not a duration: write 2d, 36h, 90min, or 1d 12h")
    found = sum((float(number) * _UNITS[unit[0]] for number, unit in parts), timedelta())
    if found > _LONGEST:
        raise ValueError(f"{text!r} is longer than ten years")
    return found


def duration_text(duration: timedelta) -> str:
    """Formats a duration in words, rounded up to a minute: `2 days 3 h 5 min`."""
    minutes = -(-int(duration.total_seconds()) // 60)
    days, minutes = divmod(minutes, 24 * 60)
    hours, minutes = divmod(minutes, 60)
    parts = [
        number_of(days, "day") if days else "",
        f"{hours} h" if hours else "",
        f"{minutes} min" if minutes else "",
    ]
    return " ".join(part for part in parts if part) or "0 min"
