"""One collection: every file finds its owner, and each hand-in takes its place in one step.

Files are put together in a folder of their own first, so that a collection that is stopped, or
finds the disk full, changes nothing that was there.
"""

from __future__ import annotations

import contextlib
import filecmp
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from ..errors import UserError
from ..submission.names import folder_name
from .clones import Clone, answers_of, clones_in
from .members import Member, Refused, members_of
from .naming import Names, Owner

TIMESTAMP_FILE = "timestamp.txt"
EARLIER = "earlier"


@dataclass(frozen=True, slots=True)
class HandIn:
    """What one student handed in for one assignment, now in its place.

    `earlier` is where the hand-in before this one was moved; `is_new` is false where exactly these
    files were there already.
    """

    student: str
    assignment: str
    folder: Path
    files: tuple[str, ...]
    is_new: bool = True
    is_late: bool = False
    earlier: Path | None = None


@dataclass(frozen=True, slots=True)
class CollectReport:
    """What a collection did, which files it left out and why, and what else to know."""

    hand_ins: tuple[HandIn, ...]
    skipped: tuple[Refused, ...]
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Pile:
    """The files of one hand-in while they are put together."""

    student: str
    assignment: str
    folder: Path
    files: dict[str, tuple[str, int]] = field(default_factory=dict)
    time: datetime | None = None
    is_late: bool = False


def collect(
    source: Path,
    submitted: Path,
    exercises: Mapping[str, Sequence[str]],
    assignment: str | None = None,
    logins: Mapping[str, str] | None = None,
) -> CollectReport:
    """Brings the files of an archive or folder into `submitted/<student>/<assignment>/`.

    `exercises` are the course's assignments with their exercises; `assignment` names the one that
    all files belong to; `logins` gives the student of each login of a code classroom. A hand-in
    that is there already is kept in `earlier/` beside `submitted`.
    Raises `UserError` where the source can't be read or the target not be written.
    """
    if assignment is not None and assignment not in exercises:
        known = ", ".join(exercises)
        raise UserError(f"no assignment is called {assignment!r}; this course has: {known}")
    if not source.exists():
        raise UserError(f"{source} is not there; expected an archive (.zip) or a folder")
    try:
        submitted.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".collecting-", dir=submitted.parent) as staging:
            sorting = _Sorting(Names(exercises, assignment), source.stem, Path(staging))
            sorting.take_all(source, logins or {})
            return _placed(sorting, submitted)
    except OSError as error:
        raise UserError(
            f"{error.filename or submitted}: {error.strerror or error}; hand-ins that were placed "
            "are whole, so mend this and call again"
        ) from error


class _Sorting:
    """Puts each file on its owner's pile."""

    def __init__(self, names: Names, source: str, staging: Path) -> None:
        self._names = names
        self._source = source
        self._staging = staging
        self._keys: dict[tuple[str, str], str] = {}
        self.piles: dict[tuple[str, str], _Pile] = {}
        self.skipped: list[Refused] = []
        self.notes: list[str] = []

    def take_all(self, source: Path, logins: Mapping[str, str]) -> None:
        """Sorts an archive, a folder of clones or any other folder in."""
        clones: list[Clone] = []
        if source.is_dir():
            clones, others = clones_in(source, self._names.assignments, logins)
            self.skipped += others
        for clone in clones:
            self._take_clone(clone, logins)
        if not clones:
            for member in members_of(source):
                self.take(member)

    def _take_clone(self, clone: Clone, logins: Mapping[str, str]) -> None:
        student = logins.get(clone.login.casefold(), clone.login)
        if logins and clone.login.casefold() not in logins:
            self.notes.append(f"{'/'.join(clone.path)}: {clone.login!r} is not on the roster")
        for member in answers_of(clone, self._names.exercises):
            if isinstance(member, Refused):
                self.skipped.append(member)
                continue
            owner = self._names.owner_of_answer(
                member.path, student, clone.folder.name, self._source
            )
            problem = (
                owner if isinstance(owner, str) else self._put(self._pile(owner), owner, member)
            )
            if problem:
                self.skipped.append(Refused("/".join(member.path), problem))

    def take(self, member: Member | Refused) -> None:
        """Sorts one file in."""
        if isinstance(member, Refused):
            self.skipped.append(member)
            return
        path = "/".join(member.path)
        owner = self._names.owner(member.path, self._source)
        if isinstance(owner, str):
            self.skipped.append(Refused(path, owner))
        elif owner.file == TIMESTAMP_FILE and (owner.from_platform or member.in_archive):
            self.skipped.append(Refused(path, "the time of a hand-in is not its student's to say"))
        elif problem := self._put(self._pile(owner), owner, member):
            self.skipped.append(Refused(path, problem))

    def _pile(self, owner: Owner) -> _Pile:
        student = owner.student
        # a namesake is somebody else where the platform gives another number
        if self._keys.setdefault((student, owner.assignment), owner.key) != owner.key:
            student = owner.key
        key = student, owner.assignment
        if key not in self.piles:
            folder = self._staging / str(len(self.piles))
            folder.mkdir()
            self.piles[key] = _Pile(student, owner.assignment, folder)
        return self.piles[key]

    def _put(self, pile: _Pile, owner: Owner, member: Member) -> str | None:
        known = pile.files.get(owner.file.casefold())
        if known is not None and known[0] != owner.file:
            return f"differs from {known[0]} by upper and lower case only"
        if known is not None and known[1] >= owner.number:
            return "a file of this name is there already, as new or newer"
        pile.files[owner.file.casefold()] = (owner.file, owner.number)
        (pile.folder / owner.file).write_bytes(member.data)
        pile.is_late |= owner.is_late
        if member.time is not None:
            pile.time = max(pile.time or member.time, member.time)
        return None


def _placed(sorting: _Sorting, submitted: Path) -> CollectReport:
    hand_ins: list[HandIn] = []
    skipped = list(sorting.skipped)
    there = {path.name.casefold(): path.name for path in submitted.glob("*")}
    for pile in sorted(sorting.piles.values(), key=lambda p: (p.student, p.assignment)):
        name = folder_name(pile.student)
        other = there.setdefault(name.casefold(), name)
        target = submitted / name / pile.assignment
        problem = None
        if other != name:
            problem = f"differs from the student {other!r} by upper and lower case only"
        elif any(path.is_symlink() or path.is_file() for path in (target.parent, target)):
            problem = f"{target} is no folder: move it away"
        if problem is not None:
            skipped.append(Refused(f"{pile.student}/{pile.assignment}", problem))
        else:
            hand_ins.append(_place(pile, name, target, submitted))
    return CollectReport(tuple(hand_ins), tuple(skipped), tuple(sorting.notes))


def _place(pile: _Pile, student: str, target: Path, submitted: Path) -> HandIn:
    names = sorted(name for name, _ in pile.files.values())
    made = HandIn(student, pile.assignment, target, tuple(names), is_late=pile.is_late)
    if _is_same(pile.folder, target):
        return replace(made, is_new=False)
    if pile.time is not None:
        stamp = pile.time.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC\n")
        (pile.folder / TIMESTAMP_FILE).write_text(stamp, encoding="utf-8")
    earlier = None
    if target.exists():
        place = submitted.parent / EARLIER / student / pile.assignment
        place.mkdir(parents=True, exist_ok=True)
        earlier = _free(place / _time_of(target))
        os.rename(target, earlier)
    target.parent.mkdir(parents=True, exist_ok=True)
    os.rename(pile.folder, target)
    return replace(made, earlier=earlier)


def _is_same(one: Path, other: Path) -> bool:
    if not other.is_dir():
        return False
    left, right = (
        {path.name for path in folder.iterdir()} - {TIMESTAMP_FILE} for folder in (one, other)
    )
    return left == right and filecmp.cmpfiles(one, other, left, shallow=False)[1:] == ([], [])


def _time_of(folder: Path) -> str:
    """When a hand-in arrived: its stamp, or the date of its newest file."""
    dates = [path.lstat().st_mtime for path in folder.iterdir()] or [folder.stat().st_mtime]
    text = datetime.fromtimestamp(max(dates), UTC).strftime("%Y-%m-%d %H:%M:%S")
    stamp = folder / TIMESTAMP_FILE
    if stamp.is_file() and not stamp.is_symlink():
        said = stamp.read_text(encoding="utf-8", errors="replace")[:19]
        with contextlib.suppress(ValueError):  # it holds no date: the files' own counts
            text = datetime.fromisoformat(said).strftime("%Y-%m-%d %H:%M:%S")
    return text.replace(" ", "T").replace(":", "")


def _free(path: Path) -> Path:
    number, free = 1, path
    while free.exists():
        number += 1
        free = path.with_name(f"{path.name}-{number}")
    return free
