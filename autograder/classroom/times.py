"""Reads submission times as platforms write them; an ambiguous time counts as unknown.

All other modules use this module to read the times in `timestamp.txt`, worksheets, exports and
tables. The meaning of a time never depends on this machine's time zone.
"""

from __future__ import annotations

import contextlib
import re
import unicodedata
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from pathlib import Path

from ..deadlines import DateError, once, parse_moment
from ..errors import SubmissionError
from ..submission.opened import read_bytes

#: the file in a submission's folder in which nbgrader stores when the submission arrived
TIMESTAMP_FILE = "timestamp.txt"
_MOST_BYTES = 200

#: the names of each month in en, de (with Austria), fr, es, it, nl, pt, sv, da and nb, fi, pl, cs,
#: tr; compared as whole words, because a month's name may begin with the name of another
_NAMES = (
    "january januar jänner janvier enero gennaio januari janeiro tammikuuta stycznia ledna ocak",
    "february februar feber février febrero febbraio februari fevereiro helmikuuta lutego února "
    "şubat",
    "march märz mars marzo maart março mars marts maaliskuuta marca března mart",
    "april avril abril aprile huhtikuuta kwietnia dubna nisan",
    "may mai mayo maggio mei maio maj toukokuuta maja května mayıs",
    "june juni juin junio giugno junho kesäkuuta czerwca června haziran",
    "july juli juillet julio luglio julho heinäkuuta lipca července temmuz",
    "august août agosto augustus augusti elokuuta sierpnia srpna ağustos",
    "september septembre septiembre settembre setembro syyskuuta września září eylül",
    "october oktober octobre octubre ottobre outubro lokakuuta października října ekim",
    "november novembre noviembre novembro marraskuuta listopada listopadu kasım",
    "december dezember décembre diciembre dicembre dezembro joulukuuta grudnia prosince aralık",
)
_MONTHS = {name: month for month, names in enumerate(_NAMES, 1) for name in names.split()}
#: Moodle's times, such as `Friday, 20 November 2026, 6:00 PM` or `Freitag, 20. November 2026,
#: 18:00`, in the language in which the worksheet was downloaded
_MOODLE = re.compile(
    r"\D*(?P<day>\d{1,2})\.?\s+(?:de\s+)?(?P<month>[^\W\d_]+)\s+(?:de\s+)?(?P<year>\d{4})\D{1,6}?"
    r"(?P<hour>\d{1,2}):(?P<minute>\d\d)(?:\s?(?P<half>[AP]M))?",
    re.IGNORECASE,
)
#: dates such as `20.11.2026 18:00`: all languages that write dates with dots put the day first
_DOTTED = re.compile(
    r"(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>\d{4}),?\s+"
    r"(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d))?(?P<rest>\s+\S.*)?"
)
_CLOCK = re.compile(r"\d:\d\d")


class MissingZone(ValueError):
    """Raised for a time that is ambiguous only because it does not name its time zone."""


@dataclass(frozen=True, slots=True)
class SubmissionTime:
    """The time in `timestamp.txt`, in UTC without a time zone; None if it is unknown."""

    stamped: datetime | None
    problem: str | None = None


def read_time(text: str, zone: tzinfo | None = None) -> datetime | None:
    """Reads a time from a string and converts it to UTC; returns None if the time is uncertain.

    `zone` is used for a time that names no zone; if `zone` is None, such a time raises
    `MissingZone`.
    """
    with contextlib.suppress(DateError):
        return certain_time(text, zone)
    return None


def certain_time(text: str, zone: tzinfo | None) -> datetime:
    """Does the same as `read_time`, but raises `DateError` if the time is uncertain."""
    written = unicodedata.normalize("NFC", text).strip()
    if not _CLOCK.search(written):
        raise DateError(text, "has no time of day")
    if dotted := _DOTTED.fullmatch(written):
        written = _in_order(dotted)
    written = re.sub(r"(?<=\d:\d\d)\.\d+", "", written)
    try:
        return parse_moment(written).astimezone(UTC)
    except DateError as error:  # the text names no zone, or is written in a platform's way
        bare = _moodle_time(written) or _iso_time(written)
        if bare is None:
            raise DateError(text, error.problem, *error.instead) from error
    if zone is None:
        raise MissingZone(f"{text!r} has no time zone")
    return once(bare, zone, text).astimezone(UTC)


def read_stamp(data: bytes) -> datetime | None:
    """Returns the time in nbgrader's `timestamp.txt`, in UTC, or None if it is uncertain.

    nbgrader itself writes times in UTC without a zone, with the year first; times in any other form
    must name their zone.
    """
    text = data[:_MOST_BYTES].decode("utf-8-sig", "replace").strip()
    try:
        return read_time(text)
    except MissingZone:
        bare = _iso_time(re.sub(r"(?<=\d:\d\d)\.\d+", "", text))
        with contextlib.suppress(ValueError):  # the year may be impossible
            return once(bare, UTC, text) if bare else None
        return None


def arrival(folder: Path) -> SubmissionTime:
    """Returns when the submission in a folder arrived, in UTC without a zone as in nbgrader."""
    path = folder / TIMESTAMP_FILE
    try:
        if not path.is_file() or path.is_symlink():
            return SubmissionTime(None)
        data = read_bytes(path, _MOST_BYTES)
    except SubmissionError as error:
        return SubmissionTime(None, f"{TIMESTAMP_FILE} {error}")
    moment = read_stamp(data)
    if moment is None:
        text = data.decode("utf-8", "replace").strip()[:60]
        return SubmissionTime(
            None,
            f"{TIMESTAMP_FILE} contains no unambiguous time: {text!r}, so the time of submission "
            "is unknown, and the submission is not counted as late; write the time as "
            "'2026-11-20 17:59:00 UTC'",
        )
    return SubmissionTime(moment.replace(tzinfo=None))


def _in_order(dotted: re.Match[str]) -> str:
    """Rewrites a date with dots so that the year comes first."""
    day, month, hour = (int(dotted[part]) for part in ("day", "month", "hour"))
    clock = f"{hour:02}:{dotted['minute']}:{dotted['second'] or '00'}"
    return f"{dotted['year']}-{month:02}-{day:02} {clock}{dotted['rest'] or ''}"


def _moodle_time(text: str) -> datetime | None:
    found = _MOODLE.fullmatch(text)
    month = _MONTHS.get(found["month"].lower()) if found else None
    if found is None or month is None:
        return None
    hour = int(found["hour"])
    if half := found["half"]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + 12 * (half.upper() == "PM")
    try:
        return datetime(int(found["year"]), month, int(found["day"]), hour, int(found["minute"]))
    except ValueError:
        return None


def _iso_time(text: str) -> datetime | None:
    with contextlib.suppress(ValueError):
        found = datetime.fromisoformat(text)
        return None if found.tzinfo else found
    return None
