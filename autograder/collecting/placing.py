"""Moves collected submissions to `submitted/`, each in one step; keeps earlier submissions.

Files in `submitted/` that somebody has edited since they were collected stay there. If a new upload
would replace such files, it is kept in a different folder until a person has decided which of the
two to use. Collecting the same upload again changes nothing.
"""

from __future__ import annotations

import contextlib
import enum
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from ..classroom import (
    TIMESTAMP_FILE,
    Origin,
    Upload,
    digest_of,
    read_origins,
    read_stamp,
    read_uploads,
    utc_text,
)
from ..deadlines import late_by
from ..errors import SubmissionError
from ..escaping import for_file_name
from ..files import replace_file
from ..records import Key
from ..submission.class_files import EARLIER, SUBMITTED, WAITING
from ..submission.opened import read_bytes
from .platforms import CLASSROOM, platform_name
from .sorting import Pile
from .transaction import CollectionLog

#: returns a submission's deadline, in UTC without a zone; None if late submissions count, too
Ends = Callable[[Key], datetime | None]


@dataclass(frozen=True, slots=True)
class StatedTime:
    """A submission time and the source that states it; the time is None if it is unknown."""

    time: datetime | None = None
    source: str = ""

    @property
    def rank(self) -> int:
        """0 for no time, 1 for the clock of a student's computer, 2 for a platform's clock."""
        return 0 if self.time is None else 1 if self.source == CLASSROOM else 2


class Outcome(enum.StrEnum):
    """The outcome of collecting one submission."""

    NEW = "new"
    SAME = "same"
    #: the upload is the same as before; the files in `submitted/` were edited by hand, and are kept
    EDITED = "edited"
    #: the upload is new, and is kept aside because the files in `submitted/` were edited by hand
    WAITING = "waiting"
    #: the existing submission is newer, and is kept
    OLDER = "older"
    #: the submission is late but the existing one is on time, and the class counts the last
    #: submission that is on time
    LATE = "late"
    #: the upload is the same as before, but an earlier submission earned more points, and the class
    #: counts the best one
    WORSE = "worse"


@dataclass(frozen=True, slots=True)
class CollectedSubmission:
    """A student's submission for one assignment, after it has been placed in `folder`.

    `earlier` is the folder in `earlier/`, if any, to which a submission has been moved: the
    submission that this one replaced or, if this one is late or older than the existing submission,
    this submission itself. `time` is the submission time that counts, and `origin` the time to
    record in `collected.csv`; if it is None, the submission's row there stays as it is. `lacks`
    contains the names of files that are in the replaced submission but not in this one.
    """

    student: str
    assignment: str
    folder: Path
    files: tuple[str, ...]
    outcome: Outcome = Outcome.NEW
    is_late: bool = False
    earlier: Path | None = None
    time: datetime | None = None
    origin: StatedTime | None = None
    lacks: tuple[str, ...] = ()

    @property
    def is_new(self) -> bool:
        """True if this collection placed the submission in `submitted/`."""
        return self.outcome is Outcome.NEW

    @property
    def is_older(self) -> bool:
        return self.outcome is Outcome.OLDER


class SubmittedFolder:
    """The folder of submissions, its students, and the files that `collect` wrote there."""

    def __init__(self, submitted: Path, ends: Ends) -> None:
        self._ends = ends
        self._submitted = submitted
        self._class_folder = submitted.parent
        self._there = {path.name.casefold(): path.name for path in submitted.glob("*")}
        self._known = read_uploads(self._class_folder)
        self._origins = read_origins(self._class_folder)
        self._record = CollectionLog(self._class_folder)
        self._new: dict[Key, Upload] = {}

    @property
    def students(self) -> tuple[str, ...]:
        return tuple(self._there.values())

    @property
    def uploads(self) -> Mapping[Key, Upload]:
        """The digests of the collected submissions, to be stored for the next collection."""
        return self._new

    def problem(self, pile: Pile) -> str | None:
        """Returns why a submission can't be placed, or None if it can be placed."""
        name = for_file_name(pile.student)
        target = self._submitted / name / pile.assignment
        other = self._there.setdefault(name.casefold(), name)
        if other != name:
            return f"differs from the student {other!r} only in capitalization"
        if any(path.is_symlink() or path.is_file() for path in (target.parent, target)):
            return f"{target} is not a folder: move it elsewhere"
        return None

    def put(self, pile: Pile, stated: StatedTime) -> CollectedSubmission:
        """Moves a gathered submission to its place; returns the outcome, or raises `OSError`."""
        key = for_file_name(pile.student), pile.assignment
        target = self._submitted / key[0] / key[1]
        known = self._known.get(key, Upload(*key, "", ""))
        if known.placed and not target.exists():
            target = self._moved_by_hand(known) or target
        upload, there = digest_of(pile.folder), digest_of(target)
        kept = self._kept(key, EARLIER, upload)
        if stated.time is None and kept is not None:
            stated = StatedTime(_stamped(kept), TIMESTAMP_FILE)
        if stated.time is not None:
            _stamp(pile.folder, stated.time)
        made = _Placement(pile, stated, target)
        is_moved = target.parent.name != key[0]
        is_edited = is_moved or bool(there and known.placed and there != known.placed)
        if upload == there and not is_moved:
            if upload == known.placed != known.upload:  # `grade` has put a better submission here
                return made.there(Outcome.SAME)
            self._new[key] = Upload(*key, upload, upload)
            return made.there(Outcome.SAME, self._best_time(key, made))
        if is_edited and upload == known.upload and not self._kept(key, WAITING, upload):
            return made.there(Outcome.EDITED, self._best_time(key, made))
        if is_edited and upload in (known.upload, known.placed):
            return made.there(Outcome.EDITED)
        if there and upload == known.upload:  # `grade` has put a better submission here
            return made.there(Outcome.WORSE)
        if there and self._is_older(key, made, is_kept=kept is not None):
            place = self._keep(pile, key, EARLIER, upload)
            return made.collected(Outcome.OLDER, place, earlier=place)
        if self._comes_late(key, target, stated.time):
            place = self._keep(pile, key, EARLIER, upload)
            return made.collected(Outcome.LATE, place, earlier=place)
        if is_edited:
            place = self._keep(pile, key, WAITING, upload)
            self._new[key] = Upload(*key, upload, known.placed)
            return made.collected(Outcome.WAITING, place)
        self._new[key] = Upload(*key, upload, upload)
        return self._replace(made, key, upload)

    def _is_older(self, key: Key, made: _Placement, *, is_kept: bool) -> bool:
        """Returns whether the existing submission is newer than this one.

        The numbers of Canvas's attachments decide, or else the submission times. If these do not
        say which is newer, an upload that has already been replaced (`is_kept`) is older. A commit
        is never older, because its time comes from the clock of a student's computer.
        """
        origin = self._origins.get(key, Origin(*key))
        named = platform_name(origin.entry)
        ranks = made.pile.owner.rank, named.owner.rank if named else 0
        if all(ranks) and ranks[0] != ranks[1]:
            return ranks[0] < ranks[1]
        time, there = made.stated.time, _stamped(made.target)
        if time is not None and there is not None and time != there:
            is_older = time < there
            return is_older and (is_kept or made.pile.owner.platform != CLASSROOM)
        return is_kept

    def _comes_late(self, key: Key, target: Path, time: datetime | None) -> bool:
        """Returns whether a submission is late and would replace one that is on time."""
        end, there = self._ends(key), _stamped(target)
        if end is None or time is None or there is None or time < there:
            return False
        naive = [moment.astimezone(UTC).replace(tzinfo=None) for moment in (time, there)]
        return bool(late_by(naive[0], end)) and not late_by(naive[1], end)

    def _moved_by_hand(self, known: Upload) -> Path | None:
        """Returns the folder of another student to which somebody moved the submission, or None."""
        for folder in sorted(self._submitted.glob(f"*/{known.assignment}")):
            is_collected = (folder.parent.name, known.assignment) in self._origins
            if not is_collected and digest_of(folder) == known.placed:
                return folder
        return None

    def _replace(self, made: _Placement, key: Key, digest: str) -> CollectedSubmission:
        """Moves a new submission to `submitted/`, and the existing one to `earlier/`."""
        target, earlier = made.target, None
        lacks: tuple[str, ...] = ()
        if target.exists():
            lacks = tuple(sorted(_names(target) - set(made.pile.files)))
            earlier = earlier_place(self._class_folder, key, target)
        self._record.before(key, made=target, digest=digest, earlier=earlier)
        if earlier is not None:
            earlier.parent.mkdir(parents=True, exist_ok=True)
            os.rename(target, earlier)
        target.parent.mkdir(parents=True, exist_ok=True)
        os.rename(made.pile.folder, target)
        return made.collected(Outcome.NEW, target, earlier=earlier, lacks=lacks)

    def _keep(self, pile: Pile, key: Key, where: str, digest: str) -> Path:
        """Keeps a submission in a folder next to `submitted/`, unless an identical one is there."""
        if kept := self._kept(key, where, digest):
            return kept
        folder = self._class_folder / where / key[0] / key[1]
        place = _free(folder / _time_of(pile.folder))
        self._record.before(key, made=place, digest=digest)
        folder.mkdir(parents=True, exist_ok=True)
        os.rename(pile.folder, place)
        return place

    def _kept(self, key: Key, where: str, digest: str) -> Path | None:
        """Returns the folder next to `submitted/` that contains an identical submission, if any."""
        folders = sorted((self._class_folder / where / key[0] / key[1]).glob("*"))
        return next((folder for folder in folders if digest_of(folder) == digest), None)

    def _best_time(self, key: Key, made: _Placement) -> StatedTime:
        """Returns a known submission's time from its best source, and stores it in its folder.

        A known time stays unless an equally good source now states a different one. A request for
        a second look does not change a known time. A time that somebody has edited in the folder
        stays there.
        """
        origin, there = self._origins.get(key, Origin(*key)), _stamped(made.target)
        before = StatedTime(read_stamp(origin.time.encode()), origin.time_from)
        is_request = made.pile.has_request and there is not None
        best = before if is_request or made.stated.rank < before.rank else made.stated
        is_edited = origin.time and there and utc_text(there) != origin.time
        if best is made.stated and best.time is not None and not is_edited:
            _stamp(made.target, best.time)
        return best


@dataclass(frozen=True, slots=True)
class _Placement:
    pile: Pile
    stated: StatedTime
    target: Path

    def there(self, outcome: Outcome, best: StatedTime | None = None) -> CollectedSubmission:
        """Returns the outcome for a submission that stays in `submitted/` as it is."""
        made = self.collected(outcome, self.target)
        return replace(made, time=_stamped(self.target), origin=best)

    def collected(
        self,
        outcome: Outcome,
        folder: Path,
        *,
        earlier: Path | None = None,
        lacks: tuple[str, ...] = (),
    ) -> CollectedSubmission:
        origin = self.stated if outcome is Outcome.NEW else None
        return CollectedSubmission(
            self.pile.student, self.pile.assignment, folder, tuple(self.pile.files), outcome,
            self.pile.is_late, earlier, self.stated.time, origin, lacks,
        )  # fmt: skip


def is_collected(class_folder: Path, key: Key, origin: Origin | None, time: datetime) -> bool:
    """Returns whether a submission with this time is in `submitted/` or in a folder next to it."""
    if origin is not None and origin.time == utc_text(time):
        return (class_folder / SUBMITTED / key[0] / key[1]).is_dir()
    kept = (class_folder / where / key[0] / key[1] for where in (EARLIER, WAITING))
    return any(any(folder.glob(f"{_time_text(time)}*")) for folder in kept)


def waiting_folders(class_folder: Path) -> tuple[Path, ...]:
    """Returns the folders of new submissions that would have replaced files edited by hand."""
    return tuple(sorted(path for path in (class_folder / WAITING).glob("*/*/*") if path.is_dir()))


def earlier_place(class_folder: Path, key: Key, folder: Path) -> Path:
    """Returns an unused path in `earlier/` for a submission, named after the submission's time."""
    return _free(class_folder / EARLIER / key[0] / key[1] / _time_of(folder))


def _stamped(folder: Path) -> datetime | None:
    with contextlib.suppress(SubmissionError):
        return read_stamp(read_bytes(folder / TIMESTAMP_FILE, 200))
    return None


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {TIMESTAMP_FILE}


def _stamp(folder: Path, time: datetime) -> None:
    replace_file(folder / TIMESTAMP_FILE, f"{utc_text(time)}\n")


def _time_of(folder: Path) -> str:
    """Returns a submission's time (if unknown, its folder's date) in a form for file names."""
    moment = _stamped(folder) or datetime.fromtimestamp(folder.stat().st_mtime, UTC)
    return _time_text(moment)


def _time_text(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H%M%S}"


def _free(path: Path) -> Path:
    number, free = 1, path
    while free.exists():
        number += 1
        free = path.with_name(f"{path.name}-{number}")
    return free
