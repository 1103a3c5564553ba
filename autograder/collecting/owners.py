"""Finds a file's owner and assignment from the outermost names in a download."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..errors import UserError
from ..submission import ARCHIVES, is_answer, standard_name
from .gradescope import EXPORT, METADATA, SUBMISSION, Submitters
from .platforms import MOODLE_WORD, Owner, platform_name

#: names of folders that contain all students, and are therefore not students' names
_AROUND = frozenset({"submitted", "submissions", "abgaben", "download", "downloads"})
_DEEPEST = 3

NOBODY = "no student's name in its path"
OTHER_ARCHIVE = "archives in this format are not supported: unpack it, or make it a .zip"
READ = "this file was used only for the students' names and the submission times"
UNCLEAR = "which assignment is it? use --assignment"


@dataclass(frozen=True, slots=True)
class OwnedFile:
    """A file's owners, the assignment that a folder names, and the path in the owners' folder."""

    owners: tuple[Owner, ...]
    assignment: str | None
    own: tuple[str, ...]


class CourseNames:
    """The names of the course's exercises, and of the assignments that contain them."""

    def __init__(self, exercises: Mapping[str, Sequence[str]], assignment: str | None) -> None:
        self.assignments = tuple(exercises)
        self._chosen = assignment
        self._of_exercise: dict[str, list[str]] = {}
        for name, members in exercises.items():
            for exercise in members:
                self._of_exercise.setdefault(exercise, []).append(name)

    @property
    def exercises(self) -> frozenset[str]:
        """The exercises' names: those in the chosen assignment, or all if none has been chosen."""
        return frozenset(
            name
            for name, belongs in self._of_exercise.items()
            if self._chosen is None or self._chosen in belongs
        )

    def is_exercise(self, file: str) -> bool:
        return is_answer(file, self._of_exercise)

    def standard(self, file: str) -> tuple[str, int]:
        """Returns a file's name as the course writes it, and a number if the file is a copy."""
        return standard_name(file, self._of_exercise)

    def exercises_of(self, assignment: str) -> tuple[str, ...]:
        return tuple(name for name, own in self._of_exercise.items() if assignment in own)

    def fits(self, file: str) -> Sequence[str]:
        """Returns the assignments that contain an exercise with the same name as the file."""
        stem = file.rpartition(".")[0]
        return self._of_exercise.get(stem, ()) if self.is_exercise(file) else ()

    def folder(self, name: str) -> str | None:
        """Returns the assignment with the same name as a folder, ignoring how words are joined."""
        return next((known for known in self.assignments if words(known) == words(name)), None)

    def assignment_of_download(self, place: OwnedFile, source: str) -> str | None:
        """Returns the assignment that the user chose, or else the one in the download's name."""
        return self._chosen or (None if place.assignment else self._named_assignment(source))

    def assignment(self, place: OwnedFile, source: str, own: Sequence[str]) -> str | None:
        """Returns a file's assignment, found in the name of the download, a folder, or the file.

        `source` is the download's own name, and `own` is the path that the student chose.
        """
        outside = self.assignment_of_download(place, source) or place.assignment
        inside = (
            found for folder in reversed(own[:-1]) if (found := self._named_assignment(folder))
        )
        return outside or next(inside, None) or self._by_exercise(own[-1])

    def _named_assignment(self, name: str) -> str | None:
        whole = f"_{words(name)}_"
        found = [known for known in self.assignments if f"_{words(known)}_" in whole]
        return max(found, key=len, default=None)

    def _by_exercise(self, file: str) -> str | None:
        belongs = self._of_exercise.get(file.rpartition(".")[0].lower(), [])
        return belongs[0] if len(belongs) == 1 else None


class DownloadLayout:
    """The layout of a download; raises `UserError` if students' files would be mixed up."""

    def __init__(
        self,
        paths: Iterable[Sequence[str]],
        source: str,
        names: CourseNames,
        metadata: Submitters,
        owners: Submitters,
    ) -> None:
        """`metadata` contains the owners in Gradescope's file; `owners`, if given, replaces it."""
        self._names = names
        self._metadata = metadata
        self._owners = owners
        self._around = 0
        if owners:
            return
        every = list(paths)
        self._around = _folders_around(every, source)
        tops = {path[self._around] for path in every if len(path) > self._around}
        _must_name_people(tops, source, has_metadata=bool(metadata))

    def place(self, path: Sequence[str], is_archive: bool) -> OwnedFile | str:
        """Returns the owners and assignment of a file, or the reason why the owners are unknown."""
        if self._owners:
            owned, inner = self._owners.get(path[0], ()), tuple(path[1:])
            return OwnedFile(owned, None, inner) if owned and inner else NOBODY
        raw = list(path[self._around :])
        while len(raw) > 1 and raw[0].lower() in _AROUND:
            del raw[0]
        parts = [unicodedata.normalize("NFC", part).strip() for part in raw]
        if METADATA in parts[:1]:
            return READ if self._metadata else NOBODY
        if not parts:
            return NOBODY
        if self._metadata:
            owners = self._metadata.get(parts[0], ())
            own = tuple(parts[1:])
            return OwnedFile(owners, None, own) if owners and own else f"not in {METADATA}"
        if named := platform_name(parts[0]):
            own = tuple(parts[1:]) or (named.file,)
            return OwnedFile((named.owner,), None, own)
        if MOODLE_WORD in parts[0]:
            return "a Moodle name that does not contain exactly one number: which student is it?"
        return self._plain(parts, raw, is_archive)

    def _plain(self, parts: list[str], raw: list[str], is_archive: bool) -> OwnedFile | str:
        """Finds the owner in a path such as `student/assignment/...`, or in the name of a zip."""
        assignment = self._names.folder(parts[0])
        if assignment is not None:
            del parts[0], raw[0]
        if len(parts) == 1 and is_archive:
            return OwnedFile((Owner(parts[0][:-4].strip(), raw[0]),), assignment, tuple(parts))
        if len(parts) < 2 or not parts[0]:
            is_packed = parts[0].lower().endswith(tuple(ARCHIVES))
            return OTHER_ARCHIVE if is_packed else NOBODY
        student, own = parts[0], parts[1:]
        if assignment is None and len(own) > 1 and (assignment := self._names.folder(own[0])):
            del own[0]
        return OwnedFile((Owner(student, raw[0]),), assignment, tuple(own))


def metadata_path(paths: Iterable[tuple[str, ...]]) -> tuple[str, ...] | None:
    """Returns the path of Gradescope's metadata file, or None; looks at most one folder deep."""
    found = [path for path in paths if path[-1] == METADATA]
    top = [p for p in found if len(p) == 1 or (len(p) == 2 and EXPORT.fullmatch(p[0]))]
    return min(top, key=len, default=None)


def _folders_around(paths: Sequence[Sequence[str]], source: str) -> int:
    """Counts the nested outer folders that contain all files and are not named after a student."""
    for depth in range(_DEEPEST):
        level = {path[depth] for path in paths if len(path) > depth}
        inner = {path[depth + 1] for path in paths if len(path) > depth + 1}
        is_around = len(level) == 1 and all(len(path) > depth + 1 for path in paths)
        if not is_around or not level or not _is_around(level.pop(), inner, source):
            return depth
    return _DEEPEST


def _is_around(name: str, inner: set[str], source: str) -> bool:
    if name.lower() in _AROUND or EXPORT.fullmatch(name):
        return True
    if platform_name(name) or not any(map(platform_name, inner)):
        return False
    if name == source:
        return True
    raise UserError(
        f"everything in {source} is in the folder {name!r}, and names in it look like a "
        "platform's: is this a student's folder, or the folder of the download?\n"
        "  fix: unzip it and collect the folder itself"
    )


def _must_name_people(tops: set[str], source: str, has_metadata: bool) -> None:
    """Raises `UserError` if the names in a platform's download don't identify students."""
    if any(map(SUBMISSION.fullmatch, tops)) and not has_metadata:
        raise UserError(
            f"{source} is a Gradescope export without {METADATA}, so the students are "
            "unknown: nothing was collected\n  fix: pass the export unchanged"
        )
    moodle = [top for top in tops if MOODLE_WORD in top]
    if moodle and not any(map(platform_name, moodle)):
        raise UserError(
            f"{source}: Moodle's names have no numbers here ({min(moodle)!r}), so all files would "
            "belong to one student: nothing was collected\n"
            "  fix: give every student a group in Moodle, or let them submit on their own"
        )


def words(name: str) -> str:
    """Normalizes a name: lower case, with words joined by `_`."""
    return re.sub(r"[\W_]+", "_", name.lower()).strip("_")
