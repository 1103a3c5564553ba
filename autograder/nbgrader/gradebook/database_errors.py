"""Explains errors of a database to the person who has to fix them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from ...errors import UserError, install_with

_ANEW = "move the file away and run this again: it is rebuilt from results.jsonl"
_ROOM = "make room on the disk, then run `autograder record` on the class folder"
_PLACE = "make sure that its folder exists and is writable"
_DRIVER = f"{install_with('postgresql')}; write the address as postgresql+psycopg://USER@HOST/NAME"

#: texts in a database's messages, in lower case, and their remedies; the first match counts
_REMEDIES = {
    "locked": "another program writes to it (formgrader?): close that, then run this again",
    "not a database": _ANEW,
    "malformed": _ANEW,
    "disk is full": _ROOM,
    "no space left": _ROOM,
    "disk i/o": _ROOM,
    "unable to open": _PLACE,
    "readonly": _PLACE,
    "password": "fix user and password in the address; a password may also be in ~/.pgpass",
    'role "': "fix the user in the address, or create one: createuser NAME",
    'database "': "make it first: createdb NAME",
    "permission denied": "let its user create tables: GRANT CREATE ON SCHEMA public TO NAME",
    "unique": "another program wrote the same submission at the same time: run this again",
    "connection": "start the server, or fix host and port in the address",
}


@contextmanager
def explained(db_url: str) -> Iterator[None]:
    """Turns a database's errors into `UserError` with a remedy."""
    try:
        yield
    except (SQLAlchemyError, ImportError) as error:
        raise UserError(_explanation(without_password(db_url), error)) from error


def without_password(db_url: str) -> str:
    """Returns an address without its password, for messages."""
    try:
        return make_url(db_url).render_as_string(hide_password=True)
    except ArgumentError:
        return "address"  # even an invalid address may contain a password


def _explanation(where: str, error: Exception) -> str:
    cause = str(error.orig) if isinstance(error, DBAPIError) else str(error)
    return (
        f"the gradebook {where} can't be used: {cause.strip()}\n"
        f"  fix: {_remedy(error, cause.lower())}\n"
        "  results.jsonl is unharmed; unfinished work of this run is as it was before"
    )


def _remedy(error: Exception, cause: str) -> str:
    if isinstance(error, ImportError):
        return _DRIVER
    found = (remedy for said, remedy in _REMEDIES.items() if said in cause)
    return next(found, "check the address of the database")
