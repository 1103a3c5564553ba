"""Reads the roster of a code classroom: which student has which login."""

from __future__ import annotations

from pathlib import Path

from ..classroom import read_csv
from ..errors import UserError

#: GitHub Classroom's names of the columns
LOGIN, STUDENT = "github_username", "identifier"


def read_logins(path: Path) -> dict[str, str]:
    """Returns the student's identifier for each login, in lower case: GitHub ignores case.

    Raises `UserError` for a different kind of table.
    """
    columns, rows = read_csv(path)
    if not {LOGIN, STUDENT} <= set(columns):
        raise UserError(
            f"{path}: no roster of GitHub Classroom: expected the columns {STUDENT!r} and "
            f"{LOGIN!r}, got: {', '.join(map(str, columns))[:200] or 'none'}. Download it from the "
            "classroom's page Students, or write a CSV file with these two columns."
        )
    logins: dict[str, str] = {}
    for row in rows:
        login, student = row[LOGIN].strip().casefold(), row[STUDENT].strip()
        if not login or not student:
            continue  # somebody who has not accepted an assignment yet
        if logins.setdefault(login, student) != student:
            raise UserError(
                f"{path}: {login!r} is the login of {logins[login]!r} and of {student!r}; "
                "remove one of the two rows"
            )
    return logins
