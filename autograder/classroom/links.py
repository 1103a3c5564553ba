"""Stores a class's connection to a platform, in `live.csv` and `pushed.csv` in the class folder.

`live.csv` maps the course's assignments to the numbers that the platform uses for them, so that
assignments may be renamed on the platform. `pushed.csv` contains the grades that the last push
wrote, so that the next push notices if somebody has changed a grade on the platform. Neither file
contains an access token.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from ..errors import UserError
from ..records import Key
from .tables import Row, change_rows, change_table, read_table

LINKS_FILE, PUSHED_FILE = "live.csv", "pushed.csv"


@dataclass(frozen=True, slots=True)
class Link:
    """The link to an assignment on a platform, or to the course itself if `assignment` is empty.

    `address` is the URL of the course page; it is empty for an assignment.
    """

    platform: str
    assignment: str
    number: str
    title: str = ""
    address: str = ""


@dataclass(frozen=True, slots=True)
class PushedGrade:
    """The last grade written to a platform for a submission, and a digest of its feedback."""

    student: str
    assignment: str
    platform: str
    points: str
    feedback: str
    time: str

    @property
    def key(self) -> Key:
        return self.student, self.assignment


_LINK_COLUMNS = tuple(field.name for field in fields(Link))
_PUSHED_COLUMNS = tuple(field.name for field in fields(PushedGrade))


def read_links(class_folder: Path, platform: str) -> Mapping[str, Link]:
    """Returns the links to a platform, keyed by assignment; the link to the course has the key "".

    Raises `UserError` if an assignment occurs twice.
    """
    path = class_folder / LINKS_FILE
    found: dict[str, Link] = {}
    for row in read_table(path, _LINK_COLUMNS):
        link = Link(**row)
        if link.platform != platform:
            continue
        if link.assignment in found:
            what = link.assignment or "the course"
            raise UserError(f"{path}: {what} occurs twice for {platform}: remove one of the rows")
        found[link.assignment] = link
    return found


def write_links(class_folder: Path, platform: str, links: Iterable[Link]) -> None:
    """Replaces all links to a platform; links to other platforms are kept."""

    def change(rows: list[dict[str, str]]) -> list[Row]:
        others: list[Row] = [row for row in rows if row["platform"] != platform]
        return [*others, *map(asdict, links)]

    change_table(class_folder / LINKS_FILE, _LINK_COLUMNS, change)


def read_pushed(class_folder: Path, platform: str) -> Mapping[Key, PushedGrade]:
    """Returns the last grade that was written to a platform for each submission."""
    rows = (PushedGrade(**row) for row in read_table(class_folder / PUSHED_FILE, _PUSHED_COLUMNS))
    return {row.key: row for row in rows if row.platform == platform}


def write_pushed(class_folder: Path, rows: Iterable[PushedGrade]) -> None:
    """Stores grades in `pushed.csv`; replaces earlier grades for the same submissions."""
    new = {row.key: asdict(row) for row in rows}
    change_rows(class_folder / PUSHED_FILE, _PUSHED_COLUMNS, new)
