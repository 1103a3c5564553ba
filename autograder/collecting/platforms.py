"""Reads the names that platforms give to files, and extracts the information in them.

Only the outermost name in a file's path is read, because the platform wrote that name; the student
chose the names that follow.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

#: names from Moodle's downloader: the person's name without `_`, a number, and the plugin's name,
#: after which Moodle 4.0 and older write `_`. If "download submissions in folders" is off, the
#: file's name follows.
_MOODLE = re.compile(
    r"(?P<name>[^_]+)_(?P<number>\d+)_assignsubmission_(?P<kind>[a-z]+)(?:_(?P<file>.*))?",
    re.DOTALL,
)
MOODLE_WORD = "_assignsubmission_"
#: names from Canvas's ContentZipper: the person's name (left out if grading is anonymous), LATE,
#: the user's number, and the attachment's number, which text entries and web addresses lack.
_CANVAS = re.compile(
    r"(?:(?P<name>.+?)_)??(?P<late>LATE_)?(?P<number>\d+|anon_[^\W_]+)_"
    r"(?:(?P<attachment>\d+)_(?P<file>.+)|(?P<text>text|link)\.html)",
    re.DOTALL,
)
_PARTICIPANT = "Participant"
MOODLE, CANVAS, GRADESCOPE, CLASSROOM = "Moodle", "Canvas", "Gradescope", "git"

TEXT_ENTRY = "a text entry, not a file: ask for the file, or grade it by hand"


@dataclass(frozen=True, slots=True)
class Owner:
    """A file's owner, according to the file's outermost name.

    `key` distinguishes people with the same name, and `rank` orders the uploads of one person.

    `number` is the platform's number for the person, and `time` is the time that the platform
    reports. `problem` says why a file with this name counts only if its owner has no other file.
    `name` is the person's name if `student` contains a more reliable identifier; for a clone,
    `name` is the identifier in the classroom's roster.
    """

    student: str
    key: str
    platform: str = ""
    number: str = ""
    entry: str = ""
    email: str = ""
    name: str = ""
    rank: int = 0
    is_late: bool = False
    time: datetime | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class PlatformName:
    """The information in a name that a platform wrote: the owner, and the file's own name."""

    owner: Owner
    file: str


def platform_name(name: str) -> PlatformName | None:
    """Returns the information in a name, or None if neither Moodle nor Canvas wrote it."""
    return _moodle(name) or _canvas(name)


def _moodle(name: str) -> PlatformName | None:
    match = _MOODLE.fullmatch(name)
    if match is None or MOODLE_WORD in (match["file"] or ""):
        return None  # if a name contains two people's numbers, trust neither
    student, number = match["name"].strip(), match["number"]
    if student == _PARTICIPANT:  # with blind marking, everybody has this name
        student = f"{_PARTICIPANT} {number}"
    problem = TEXT_ENTRY if match["kind"] == "onlinetext" else ""
    key = f"{MOODLE} {student} {number}"
    owner = Owner(student, key, MOODLE, number, name, problem=problem)
    return PlatformName(owner, match["file"] or "")


def _canvas(name: str) -> PlatformName | None:
    # for late anonymous work, LATE is inside the name: `anon_LATE_9xQ2b_67001_scores.py`
    usual = re.sub(r"^anon_LATE_([^\W_]+)_", r"LATE_anon_\1_", name)
    match = _CANVAS.fullmatch(usual)
    if match is None:
        return None
    number = match["number"]
    student = match["name"] or number
    rank = int((match["attachment"] or "0")[:18])
    owner = Owner(
        student=student,
        key=f"{CANVAS} {student} {number}",
        platform=CANVAS,
        number=number,
        entry=name,
        rank=rank,
        is_late=bool(match["late"]),
        problem=TEXT_ENTRY if match["text"] else "",
    )
    return PlatformName(owner, match["file"] or name)
