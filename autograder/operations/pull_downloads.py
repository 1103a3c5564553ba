"""Downloads submissions from a platform and collects them.

Files are kept in a separate folder until all files of an assignment have been downloaded, so that
an interrupted pull continues where it stopped. Each file is written completely or not at all.
"""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ..classroom import squashed
from ..course import Course
from ..errors import UserError
from ..escaping import for_file_name
from ..files import replace_bytes
from ..live import Attempt, Member, PlatformFailure, SubmittedFile
from .collect import collect_owned
from .connection import Connection

if TYPE_CHECKING:
    from ..collecting import CollectReport, Owner

#: the folder for the files until an assignment is completely downloaded
_DOWNLOADS = ".pulling"


@dataclass(frozen=True, slots=True)
class IncomingSubmission:
    """A submission to download, and the name that its student has in the class.

    `is_here` is true if an interrupted pull has already downloaded the submission.
    """

    student: str
    assignment: str
    attempt: Attempt
    member: Member
    is_here: bool = False

    @property
    def folder(self) -> str:
        return f"{self.attempt.student}-{self.attempt.number}-{_seconds(self.attempt.time)}"


class Downloads:
    """Downloads and collects the submissions of one pull."""

    def __init__(
        self, connection: Connection, course: Course, on_progress: Callable[[int, int], None]
    ) -> None:
        self._there, self._course, self._on_progress = connection, course, on_progress
        self._home = _home(connection)
        self.waits: list[str] = []
        self._done = 0

    def collect(self, incoming: Sequence[IncomingSubmission]) -> CollectReport | None:
        """Downloads and collects the assignments one by one, earlier attempts before later ones."""
        total = sum(len(usable(item.attempt)) for item in incoming)
        reports: list[CollectReport] = []
        for batch in _rounds(incoming):
            assignment = batch[0].assignment
            place = _place_of(assignment, self._there)
            whole = [item for item in batch if self._fetch(item, place, total)]
            try:
                reports += self._place(place, assignment, whole)
            except UserError as error:
                self.waits.append(
                    f"{assignment}: {str(error).partition(chr(10))[0]} (if it is linked to the "
                    f"wrong assignment: --link {assignment}=NUMBER)"
                )
            shutil.rmtree(place, ignore_errors=True)
        shutil.rmtree(self._home, ignore_errors=True)
        return _together(reports)

    def _fetch(self, item: IncomingSubmission, place: Path, total: int) -> bool:
        """Downloads the files of a submission; returns whether all downloads succeeded."""
        folder = place / item.folder
        files = list(_paths(folder, usable(item.attempt)))
        _remove_others(folder, {path for path, _ in files})
        try:
            for path, file in files:
                if file.content is not None:
                    replace_bytes(path, file.content)
                elif not _is_whole(path, file):
                    self._there.platform.download(file, path)
                self._done += 1
                self._on_progress(self._done, total)
        except PlatformFailure:
            raise
        except UserError as error:
            if isinstance(error.__cause__, OSError):  # the disk would fail again
                raise
            self.waits.append(f"{item.student}/{item.assignment}: {error}")
            return False
        return True

    def _place(
        self, place: Path, assignment: str, whole: Sequence[IncomingSubmission]
    ) -> Iterator[CollectReport]:
        owners = {item.folder: (_owner(item, self._there),) for item in whole}
        for folder in place.glob("*"):
            if folder.name not in owners:  # an attempt that is no longer the last one
                shutil.rmtree(folder)
        if owners:
            yield collect_owned(place, self._there.folder, self._course, assignment, owners)


def is_downloaded(item: IncomingSubmission, connection: Connection) -> bool:
    """Returns whether an interrupted pull has already downloaded all files of a submission."""
    folder = _place_of(item.assignment, connection) / item.folder
    return all(_is_whole(path, file) for path, file in _paths(folder, usable(item.attempt)))


def _home(connection: Connection) -> Path:
    return connection.folder / _DOWNLOADS


def _place_of(assignment: str, connection: Connection) -> Path:
    return _home(connection) / connection.key / for_file_name(assignment)


def _is_whole(path: Path, file: SubmittedFile) -> bool:
    return path.is_file() and file.size in (None, path.stat().st_size)


def is_large(file: SubmittedFile) -> bool:
    """Returns whether a file is too large to be collected."""
    from ..collecting.downloaded import MAX_FILE_BYTES

    return file.size is not None and file.size > MAX_FILE_BYTES


def usable(attempt: Attempt) -> Sequence[SubmittedFile]:
    """Returns the files of an attempt that are not too large to be collected."""
    return [file for file in attempt.files if not is_large(file)]


def _rounds(incoming: Sequence[IncomingSubmission]) -> Iterator[Sequence[IncomingSubmission]]:
    """Yields batches of submissions of one assignment, with at most one submission per student."""
    left: dict[str, dict[str, list[IncomingSubmission]]] = {}
    for item in incoming:
        left.setdefault(item.assignment, {}).setdefault(item.student, []).append(item)
    for own in left.values():
        most = max(map(len, own.values()))
        for place in range(most):
            yield [items[place] for items in own.values() if place < len(items)]


def _paths(folder: Path, files: Sequence[SubmittedFile]) -> Iterator[tuple[Path, SubmittedFile]]:
    """Yields each file with its path, which is in a subfolder if the usual path is already taken.

    Platforms allow a file and a folder with the same name; a file system does not.
    """
    taken: set[Path] = set()
    around: set[Path] = set()
    for file in files:
        names = [for_file_name(part) for part in file.path]
        others = (folder / for_file_name(f"{file.number}{'_' * n}") for n in itertools.count())
        path = next(
            path
            for path in (place.joinpath(*names) for place in itertools.chain([folder], others))
            if path not in taken | around and taken.isdisjoint(path.parents)
        )
        taken.add(path)
        around.update(path.parents)
        yield path, file


def _remove_others(folder: Path, wanted: Collection[Path]) -> None:
    for path in folder.rglob("*"):
        if path not in wanted and not path.is_dir():
            path.unlink()


def _owner(item: IncomingSubmission, connection: Connection) -> Owner:
    from ..collecting import CANVAS, MOODLE, TEXT_ENTRY, Owner

    member, is_canvas = item.member, connection.key == "canvas"
    number = member.number if is_canvas else item.attempt.identifier
    first = usable(item.attempt)[0]
    is_typed = item.attempt.is_typed
    if is_canvas:
        attachment = "" if is_typed else f"{first.number}_"
        entry = f"{squashed(member.sortable or member.name)}_{number}_{attachment}{first.path[-1]}"
    else:
        entry = f"{member.name}_{number}_assignsubmission_{'onlinetext' if is_typed else 'file'}_"
    return Owner(
        student=item.student,
        key=f"{connection.platform.name} {member.number}",
        platform=CANVAS if is_canvas else MOODLE,
        number=number,
        entry=entry,
        time=item.attempt.time,
        problem=TEXT_ENTRY if is_typed else "",
    )


def _together(reports: Sequence[CollectReport]) -> CollectReport | None:
    if not reports:
        return None
    return replace(
        reports[-1],
        collected=tuple(item for one in reports for item in one.collected),
        skipped=tuple(item for one in reports for item in one.skipped),
        notes=tuple(dict.fromkeys(note for one in reports for note in one.notes)),
        looks=tuple(look for one in reports for look in one.looks),
        asked=tuple(request for one in reports for request in one.asked),
    )


def _seconds(time: datetime | None) -> str:
    return f"{time.astimezone(UTC):%Y%m%dT%H%M%S}" if time else "unknown"
