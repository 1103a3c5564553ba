"""Due dates and durations as people write them: one reading each, or refused.

A due date names its time zone, because the same words are another moment elsewhere. A date without
a time is the end of that day.
"""

from __future__ import annotations

import re
import zoneinfo
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo

from .records import DueDate

HOW_TO_WRITE = 'write duedate = "2027-01-31 23:59 Europe/Berlin"'

_DATE = r"(?P<date>\d{4}-\d{2}-\d{2})"
_TIME = r"(?:[ T](?P<time>\d{2}:\d{2}(?::\d{2})?))?"
_WHOLE = re.compile(rf"{_DATE}{_TIME}(?: ?(?P<zone>[^\s\d].*|[+-]\d.*))?")
_OFFSET = re.compile(r"(?P<sign>[+-])(?P<hours>\d{2}):?(?P<minutes>\d{2})")
_END_OF_DAY = time(23, 59, 59)

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


def duedate_text(due: DueDate) -> str:
    """A due date as it was understood: with its weekday, its zone and the grace."""
    text = f"{due.at:%A, %Y-%m-%d %H:%M:%S} {due.zone}"
    return f"{text} (and {duration_text(due.grace)} of grace)" if due.grace else text


def moment_text(moment: datetime, due: DueDate | None) -> str:
    """A moment of UTC without a zone, as people of the course read it: in their due date's zone.

    In the hour that is there twice the offset stands behind it. UTC where there is no due date.
    """
    if due is None:
        return f"{moment:%Y-%m-%d %H:%M:%S} UTC"
    local = moment.replace(tzinfo=UTC).astimezone(due.at.tzinfo)
    first, second = (local.replace(fold=fold).utcoffset() for fold in (0, 1))
    offset = f" ({local:%z})" if first != second else ""
    return f"{local:%Y-%m-%d %H:%M:%S} {due.zone}{offset}"


def parse_duedate(text: str) -> DueDate:
    """The moment that a text names; raises `ValueError` that says what can't be read in one way."""
    match = _WHOLE.fullmatch(" ".join(text.split()))
    if match is None:
        raise ValueError(
            f"{text!r} can be read in more than one way, or is not a date: year-month-day is not"
        )
    if not match["zone"]:
        raise ValueError(f"{text!r} names no time zone")
    zone, name = _zone(match["zone"])
    day = date.fromisoformat(match["date"])  # raises ValueError for the 31st of February
    clock = time.fromisoformat(match["time"]) if match["time"] else _END_OF_DAY
    return DueDate(_once(datetime.combine(day, clock), zone, text), name)


def zone_of(name: str) -> tzinfo:
    """A time zone by name or offset; raises `ValueError` for one that nobody knows."""
    return _zone(name)[0]


def _zone(name: str) -> tuple[tzinfo, str]:
    if name in ("Z", "UTC"):
        return UTC, "UTC"
    if match := _OFFSET.fullmatch(name):
        offset = timedelta(hours=int(match["hours"]), minutes=int(match["minutes"]))
        return timezone(-offset if match["sign"] == "-" else offset), name
    try:
        return zoneinfo.ZoneInfo(name), name
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(
            f"there is no time zone {name!r}; known are names such as Europe/Berlin and offsets "
            "such as +01:00"
        ) from None


def _once(moment: datetime, zone: tzinfo, text: str) -> datetime:
    """The moment in its zone; refused where the clocks are turned and it is there twice or never.

    Both ways of reading it are asked: `fold` is Python's word for the second one.
    """
    first, second = (moment.replace(tzinfo=zone, fold=fold) for fold in (0, 1))
    if first.utcoffset() != second.utcoffset():
        raise ValueError(f"{text!r} is there twice or never: the clocks are turned in that hour")
    return first


def parse_duration(text: str) -> timedelta:
    """`2d`, `36 h`, `1 day 12 hours`, `90min`, `0`; raises `ValueError` for anything else."""
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
    """A duration in words, to the minute and never less than it: `2 days 3 h 5 min`."""
    minutes = -(-int(duration.total_seconds()) // 60)
    days, minutes = divmod(minutes, 24 * 60)
    hours, minutes = divmod(minutes, 60)
    parts = [
        f"{days} day{'s' if days > 1 else ''}" if days else "",
        f"{hours} h" if hours else "",
        f"{minutes} min" if minutes else "",
    ]
    return " ".join(part for part in parts if part) or "0 min"
