"""Stores where each submission came from, in `collected.csv` in the class folder.

The table contains information that has no place in a submission's folder: the platform's number,
which is needed to return grades and feedback, and a mark such as Canvas's LATE.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from ..records import Key
from ..submission.class_files import COLLECTED_FILE
from .matching import canvas_number, moodle_number, repository_login, without_group
from .tables import change_rows, read_table

_LATE, _CANVAS, _MOODLE, _CLASSROOM = "late", "Canvas", "Moodle", "git"


@dataclass(frozen=True, slots=True)
class Origin:
    """A submission as a platform describes it; unknown fields are empty.

    `number` is the platform's number for the person or, for a clone, the login. `entry` is the
    outermost name in the download, `time` is in UTC, and `mark` is "late" or empty.
    """

    student: str
    assignment: str
    platform: str = ""
    name: str = ""
    number: str = ""
    entry: str = ""
    email: str = ""
    time: str = ""
    time_from: str = ""
    mark: str = ""

    @property
    def key(self) -> Key:
        return self.student, self.assignment

    @property
    def names(self) -> tuple[str, ...]:
        """The platform's names for the person with this number, the most reliable first."""
        own = f"{self.name}_{self.number}"
        of_platform = _NUMBERS.get(self.platform)
        return (of_platform(self.number), own) if of_platform else (own,)

    @property
    def lasting_names(self) -> tuple[str, ...]:
        """Names that identify the same person in every assignment, the most reliable first.

        Moodle's number is not among them, because it belongs to a single assignment.
        """
        lasts = self.number and self.platform in (_CANVAS, _CLASSROOM)
        names = list(self.names) if lasts else []
        if lasts and self.platform == _CLASSROOM and self.name != self.number:
            names.insert(0, self.name)  # the identifier in the classroom's roster
        names += [self.email]
        names += without_group(self.name) if self.platform == _MOODLE else ()
        return tuple(filter(None, names))

    @property
    def is_marked_late(self) -> bool:
        """True if the platform reports the submission as late without saying by how much."""
        return self.mark == _LATE and not self.time


_COLUMNS = tuple(field.name for field in fields(Origin))
_NUMBERS = {_CANVAS: canvas_number, _MOODLE: moodle_number, _CLASSROOM: repository_login}


def late_mark(is_late: bool) -> str:
    """Returns the `mark` of an origin: "late", or "" for a submission that is not late."""
    return _LATE if is_late else ""


def read_origins(class_folder: Path) -> Mapping[Key, Origin]:
    """Returns the origin of each collected submission; raises `UserError` for a malformed table."""
    rows = read_table(class_folder / COLLECTED_FILE, _COLUMNS)
    return {origin.key: origin for origin in (Origin(**row) for row in rows)}


def write_origins(class_folder: Path, origins: Iterable[Origin]) -> None:
    """Stores origins of submissions; replaces earlier origins of the same submissions."""
    new = {origin.key: asdict(origin) for origin in origins}
    change_rows(class_folder / COLLECTED_FILE, _COLUMNS, new)


def forget_origins(class_folder: Path, keys: Iterable[Key]) -> None:
    """Removes the rows for submissions that no longer exist."""
    change_rows(class_folder / COLLECTED_FILE, _COLUMNS, {}, keys)
