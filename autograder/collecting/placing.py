"""Piles take their places in `submitted/`, each in one step; an earlier submission is kept."""

from __future__ import annotations

import contextlib
import filecmp
import os
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from ..classroom import TIMESTAMP_FILE, read_stamp
from ..errors import SubmissionError
from ..escaping import for_file_name
from ..files import replace_file
from ..submission.opened import read_bytes
from .platforms import CLASSROOM
from .sorting import Pile

EARLIER = "earlier"


@dataclass(frozen=True, slots=True)
class Collected:
    """What one student submitted for one assignment, now in its place.

    `earlier` is where the submission before this one was moved; `is_new` is false where exactly
    these files were there already. `time` is when it was submitted, as the platform states it.
    `is_older`: one with a later time is there and stays, so `earlier` is where this one is kept.
    `lacks` are the files of the one before that this one does not have.
    """

    student: str
    assignment: str
    folder: Path
    files: tuple[str, ...]
    is_new: bool = True
    is_late: bool = False
    earlier: Path | None = None
    time: datetime | None = None
    is_older: bool = False
    lacks: tuple[str, ...] = ()


class Places:
    """The folder of submissions, and who is in it."""

    def __init__(self, submitted: Path) -> None:
        self._submitted = submitted
        self._there = {path.name.casefold(): path.name for path in submitted.glob("*")}

    @property
    def students(self) -> tuple[str, ...]:
        """The folders of students."""
        return tuple(self._there.values())

    def problem(self, pile: Pile) -> str | None:
        """Why a submission can't take its place; None where it can."""
        name = for_file_name(pile.student)
        target = self._submitted / name / pile.assignment
        other = self._there.setdefault(name.casefold(), name)
        if other != name:
            return f"differs from the student {other!r} by upper and lower case only"
        if any(path.is_symlink() or path.is_file() for path in (target.parent, target)):
            return f"{target} is not a folder: move it away"
        return None

    def put(self, pile: Pile, time: datetime | None) -> Collected:
        """Moves a pile to its place; raises `OSError`."""
        student = for_file_name(pile.student)
        target = self._submitted / student / pile.assignment
        made = Collected(
            pile.student,
            pile.assignment,
            target,
            tuple(pile.files),
            not _is_same(pile.folder, target),
            pile.is_late,
            time=time,
        )
        if time is not None:
            _stamp(pile.folder, time)
        if not made.is_new:
            if time is not None:
                _stamp(target, time)  # the time may have become known since
            return made
        kept = self._submitted.parent / EARLIER / student / pile.assignment
        if _is_older(pile, time, target):
            known = kept / _time_of(pile.folder)
            place = known if _is_same(pile.folder, known) else _moved(pile.folder, kept)
            return replace(made, folder=place, is_new=False, earlier=place, is_older=True)
        if target.exists():
            lacks = tuple(sorted(_names(target) - set(pile.files)))
            made = replace(made, earlier=_moved(target, kept), lacks=lacks)
        target.parent.mkdir(parents=True, exist_ok=True)
        os.rename(pile.folder, target)
        return made


def _is_older(pile: Pile, time: datetime | None, target: Path) -> bool:
    """Whether a submission is there that came later; a repository is always as it is now."""
    if time is None or pile.owner.platform == CLASSROOM or not target.is_dir():
        return False
    with contextlib.suppress(SubmissionError):
        there = read_stamp(read_bytes(target / TIMESTAMP_FILE, 200))
        return there is not None and time < there
    return False


def _moved(folder: Path, place: Path) -> Path:
    """Moves a submission to the earlier ones."""
    place.mkdir(parents=True, exist_ok=True)
    to = _free(place / _time_of(folder))
    os.rename(folder, to)
    return to


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {TIMESTAMP_FILE}


def _stamp(folder: Path, time: datetime) -> None:
    text = time.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC\n")
    replace_file(folder / TIMESTAMP_FILE, text)


def _is_same(one: Path, other: Path) -> bool:
    if not other.is_dir():
        return False
    left, right = _names(one), _names(other)
    return left == right and filecmp.cmpfiles(one, other, left, shallow=False)[1:] == ([], [])


def _time_of(folder: Path) -> str:
    """When an earlier submission arrived, in a form that a folder's name may have."""
    text = datetime.fromtimestamp(folder.stat().st_mtime, UTC).strftime("%Y-%m-%d %H:%M:%S")
    with contextlib.suppress(SubmissionError, ValueError):
        said = read_bytes(folder / TIMESTAMP_FILE, 19).decode()
        text = datetime.fromisoformat(said).strftime("%Y-%m-%d %H:%M:%S")
    return text.replace(" ", "T").replace(":", "")


def _free(path: Path) -> Path:
    number, free = 1, path
    while free.exists():
        number += 1
        free = path.with_name(f"{path.name}-{number}")
    return free
