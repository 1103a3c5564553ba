"""Defines records of people, assignments, submissions and grades as platforms report them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Protocol

#: grades that differ by less count as equal, because platforms round them
SAME_GRADE = 0.01
_MOST_ITEMS = 200_000
#: matches a platform's IDs; Canvas writes IDs from its other databases as 12~345
_NUMBER = re.compile(r"\d{1,24}(~\d{1,24})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Member:
    """A student in a course.

    `number` is the platform's ID; `sortable` is the name in a form such as `Lovelace, Ada`.
    """

    number: str
    name: str
    sortable: str = ""
    login: str = ""
    email: str = ""
    sis_id: str = ""
    sections: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlatformAssignment:
    """An assignment in a course; times are in UTC, or None if the platform has none.

    `sections` maps the names of sections or groups to their own due dates, and `people` maps
    students' numbers to individual due dates. `points` is the maximum, or None if the assignment is
    not graded with points.
    """

    number: str
    title: str
    points: float | None = None
    due: datetime | None = None
    sections: Mapping[str, datetime] = field(default_factory=dict)
    people: Mapping[str, datetime] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SubmittedFile:
    """A submitted file. `path` contains its folders and name; `number` is its ID on the platform.

    `size` is None if the platform does not report it. `content` is text that a student typed on the
    platform instead of submitting a file; such text needs no download.
    """

    number: str
    path: tuple[str, ...]
    url: str
    size: int | None = None
    content: bytes | None = None


def typed_file(name: str, text: object) -> tuple[SubmittedFile, ...]:
    """Returns a tuple of one file with this name and the typed text, or () for an empty string."""
    content = str(text or "").encode("utf-8", "replace")
    return (SubmittedFile("0", (name,), "", len(content), content),) if content else ()


@dataclass(frozen=True, slots=True)
class Attempt:
    """One of a student's submissions for an assignment; the first attempt has the number 1.

    `identifier` is the number in the platform's file names, if it is not the student's own number.
    `note` says what was submitted instead of, or in addition to, files, such as typed text.
    """

    student: str
    number: int
    time: datetime | None
    files: tuple[SubmittedFile, ...] = ()
    note: str = ""
    identifier: str = ""

    @property
    def is_typed(self) -> bool:
        """True if the submission contains only text that the student typed on the platform."""
        return bool(self.files) and all(file.content is not None for file in self.files)


@dataclass(frozen=True, slots=True)
class Grade:
    """A student's grade on the platform; `points` is None if there is none.

    `deducted` is the number of points that the platform itself deducts, `feedback` contains the
    comments and the names of returned files, and `is_excused` means that the student needs no
    grade.
    """

    points: float | None = None
    deducted: float = 0.0
    feedback: frozenset[str] = frozenset()
    is_excused: bool = False


@dataclass(frozen=True, slots=True)
class GradeUpdate:
    """A grade to write, with a comment or with a feedback file and its name."""

    student: str
    points: float
    comment: str = ""
    file: Path | None = None
    file_name: str = ""

    @property
    def feedback(self) -> str:
        """The file name or comment that the platform shows once it has received the feedback."""
        return self.file_name or self.comment


@dataclass(frozen=True, slots=True)
class UpdateOutcome:
    """The outcome of one update; `problem` is empty if the platform has accepted the grade."""

    update: GradeUpdate
    problem: str = ""


class Platform(Protocol):
    """One course on a platform. Methods raise `UserError` if the platform can't be reached."""

    name: str

    def title(self) -> str:
        """Returns the course title. Call this first, because it also tests the connection."""
        ...

    def zone(self) -> str:
        """Returns the name of the course's time zone, or an empty string if it is unknown."""
        ...

    def members(self) -> Sequence[Member]:
        """Returns the students of the course."""
        ...

    def works(self) -> Sequence[PlatformAssignment]:
        """Returns the assignments of the course, with their due dates."""
        ...

    def attempts(self, work: PlatformAssignment, members: Sequence[Member]) -> Sequence[Attempt]:
        """Returns the submissions of `members`, earlier attempts first."""
        ...

    def grades(self, work: PlatformAssignment) -> Mapping[str, Grade]:
        """Returns the grades for an assignment, keyed by the students' numbers."""
        ...

    def download(self, file: SubmittedFile, path: Path) -> None:
        """Writes a submitted file to `path`, in one step."""
        ...

    def send(
        self, work: PlatformAssignment, updates: Sequence[GradeUpdate]
    ) -> Iterator[Sequence[UpdateOutcome]]:
        """Writes grades; yields the outcome after each batch."""
        ...


def number_of(value: object) -> str:
    """Returns the number that a platform gives to a person, an assignment or a file.

    Raises `ValueError` for anything else, because these numbers become part of addresses and file
    names.
    """
    if not _NUMBER.fullmatch(str(value)):
        raise ValueError("a number contains characters that are not digits")
    return str(value)


def check_length(found: Sequence[object]) -> None:
    """Raises `ValueError` if a list is too long for any course, because a list may never end."""
    if len(found) > _MOST_ITEMS:
        raise ValueError(f"a list has more than {_MOST_ITEMS:,} items")


def has_points(update: GradeUpdate, there: Grade | None) -> bool:
    """Returns whether a platform shows the points that were sent."""
    if there is None or there.points is None:
        return False
    return abs(there.points - update.points) < SAME_GRADE


def has_arrived(update: GradeUpdate, there: Grade | None) -> bool:
    """Returns whether a platform shows the points and the feedback that were sent."""
    if there is None or not has_points(update, there):
        return False
    return not update.feedback or squeezed(update.feedback) in there.feedback


def squeezed(text: str) -> str:
    """Normalizes white space, because platforms change it."""
    return " ".join(text.split())
