"""The names that learning platforms give to files, and the facts that stand in them.

Only the outermost name of a file is read: it is the platform's, and what is in it is the student's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

#: Moodle's downloader: the name without `_`, the number, the plugin; 4.0 and older end with `_`.
#: With "download submissions in folders" off, the file's name stands behind it.
_MOODLE = re.compile(
    r"(?P<name>[^_]+)_(?P<number>\d+)_assignsubmission_(?P<kind>[a-z]+)(?:_(?P<file>.*))?",
    re.DOTALL,
)
MOODLE_WORD = "_assignsubmission_"
#: Canvas's ContentZipper: the name (none where grading is anonymous), LATE, the user's number, the
#: attachment's; of text entries and addresses there is no attachment.
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
    """Whose an outermost name is. `key` tells namesakes apart, `rank` orders uploads of one file.

    `number` is the platform's for the person, `time` what it states, `problem` why nothing of this
    name is taken although its owner is known. `name` is the person's where `student` is something
    surer.
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
class Named:
    """An outermost name that a platform gave: its owner, and the student's own name of the file."""

    owner: Owner
    file: str


def platform_name(name: str) -> Named | None:
    """What Moodle or Canvas says by an outermost name; None where none of them wrote it."""
    return _moodle(name) or _canvas(name)


def _moodle(name: str) -> Named | None:
    match = _MOODLE.fullmatch(name)
    if match is None or MOODLE_WORD in (match["file"] or ""):
        return None  # two people's numbers in one name: neither is believed
    student, number = match["name"].strip(), match["number"]
    if student == _PARTICIPANT:  # marking is blind: all have this name
        student = f"{_PARTICIPANT} {number}"
    problem = TEXT_ENTRY if match["kind"] == "onlinetext" else ""
    key = f"{MOODLE} {student} {number}"
    owner = Owner(student, key, MOODLE, number, name, problem=problem)
    return Named(owner, match["file"] or "")


def _canvas(name: str) -> Named | None:
    # of anonymous late work the mark stands inside: `anon_LATE_9xQ2b_67001_scores.py`
    said = re.sub(r"^anon_LATE_([^\W_]+)_", r"LATE_anon_\1_", name)
    match = _CANVAS.fullmatch(said)
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
    return Named(owner, match["file"] or name)
