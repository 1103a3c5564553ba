"""A time as Moodle writes it, in the language of whoever downloaded the worksheet.

`Freitag, 20. November 2026, 18:00`, `vendredi 20 novembre 2026, 18:00`, `Friday, 20 November 2026,
6:00 PM`: day, month by its name, year and clock. With an unknown month the time is unknown.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import datetime

#: en, de (Austria), fr, es, it, nl, pt, sv, da and nb, fi, pl, cs, tr; whole words, since in some
#: languages one month's name begins like another one's
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
_TIME = re.compile(
    r"\D*(?P<day>\d{1,2})\.?\s+(?:de\s+)?(?P<month>[^\W\d_]+)\s+(?:de\s+)?(?P<year>\d{4})\D{1,6}?"
    r"(?P<hour>\d{1,2}):(?P<minute>\d\d)(?:\s?(?P<half>[AP]M))?",
    re.IGNORECASE,
)


def moodle_time(text: str) -> datetime | None:
    """The time without a zone; None for what can't be read."""
    found = _TIME.fullmatch(unicodedata.normalize("NFC", text.strip()))
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
