"""The roster of a code classroom: which student has which login."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from ..errors import UserError

#: GitHub Classroom's own names of the columns
LOGIN, STUDENT = "github_username", "identifier"


def read_logins(path: Path) -> dict[str, str]:
    """The student's identifier of each login, which is in lower case: GitHub knows no other.

    Raises `UserError` for another kind of table.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
        rows = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path}: can't be read as a CSV file in UTF-8: {error}") from error
    columns = list(rows[0]) if rows else []
    if not {LOGIN, STUDENT} <= set(columns):
        raise UserError(
            f"{path}: no roster of GitHub Classroom: expected the columns {STUDENT!r} and "
            f"{LOGIN!r}, got: {', '.join(map(str, columns))[:200] or 'none'}. Download it from the "
            "classroom's page Students, or write a CSV file with these two columns."
        )
    logins: dict[str, str] = {}
    for row in rows:
        login, student = (row[LOGIN] or "").strip().casefold(), (row[STUDENT] or "").strip()
        if not login or not student:
            continue  # somebody who has not accepted an assignment yet
        if logins.setdefault(login, student) != student:
            raise UserError(
                f"{path}: {login!r} is the login of {logins[login]!r} and of {student!r}; "
                "leave one of the two rows"
            )
    return logins
