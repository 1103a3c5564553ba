"""Whose file it is, and of which assignment, read from the names that a learning platform gives."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

#: `Ada Lovelace_12345_assignsubmission_file_`, with the file's name behind it where it stands loose
_MOODLE = re.compile(r"(?P<student>.+?)_(?P<id>\d+)_assignsubmission_\w+?_(?P<file>.*)", re.DOTALL)
#: `lovelaceada_LATE_12345_67890_scores-1.ipynb`
_CANVAS = re.compile(r"(?P<student>[^_]+)_(?P<late>LATE_)?(?P<id>\d+)_\d+_(?P<file>.+)", re.DOTALL)
_COPY = re.compile(r"(?: \(\d+\)|-\d+)(?=\.[^.]+$)")
_UNCLEAR = "of which assignment is it? say --assignment"
#: folders that stand around a class, and are nobody's name
_AROUND = frozenset({"submitted", "submissions", "abgaben", "download", "downloads"})


@dataclass(frozen=True, slots=True)
class Owner:
    """What a path says. `number` orders hand-ins of one file; `key` tells namesakes apart."""

    student: str
    key: str
    assignment: str
    file: str
    number: int = 0
    is_late: bool = False
    from_platform: bool = False


class Names:
    """The course's names: exercises and the assignments they belong to."""

    def __init__(self, exercises: Mapping[str, Sequence[str]], assignment: str | None) -> None:
        self._assignments = tuple(exercises)
        self._chosen = assignment
        self._of_exercise: dict[str, list[str]] = {}
        for name, members in exercises.items():
            for exercise in members:
                self._of_exercise.setdefault(exercise, []).append(name)

    def owner(self, path: Sequence[str], source: str) -> Owner | str:
        """Who handed in the file at `path` of the archive `source`, or what is unclear."""
        parts = [unicodedata.normalize("NFC", part) for part in path]
        found = _on_platform(parts)
        student, key, file, late = found or ("", "", parts[-1], False)
        clean = _COPY.sub("", file)
        if clean.rpartition(".")[0] not in self._of_exercise:
            clean = file  # `part-1.py` may well be called so
        if found is None:
            student = key = self._student(parts[:-1])
            if not student:
                return "no student's name in its path"
        assignment = self._assignment(parts[:-1], clean, source)
        if assignment is None:
            return _UNCLEAR
        copies = _COPY.findall(file) if clean != file else []
        number = int(re.sub(r"\D", "", copies[0])) if copies else 0
        return Owner(student, key, assignment, clean, number, late, found is not None)

    def owner_of_answer(
        self, path: Sequence[str], student: str, key: str, source: str
    ) -> Owner | str:
        """The same for an answer in a clone, whose student is known."""
        assignment = self._assignment(path[:-1], path[-1], source)
        if assignment is None:
            return _UNCLEAR
        return Owner(student, key, assignment, path[-1])

    @property
    def assignments(self) -> tuple[str, ...]:
        """The names of the course's assignments."""
        return self._assignments

    @property
    def exercises(self) -> frozenset[str]:
        """The names of all exercises, of the chosen assignment where there is one."""
        return frozenset(
            name
            for name, belongs in self._of_exercise.items()
            if self._chosen is None or self._chosen in belongs
        )

    def _student(self, folders: Sequence[str]) -> str:
        """The folder above the assignment's, or the outermost one that is somebody's."""
        around = [folder for folder in folders if folder.lower() not in _AROUND]
        for before, folder in zip(around, around[1:], strict=False):
            if folder in self._assignments and before not in self._assignments:
                return before
        return next((folder for folder in around if folder not in self._assignments), "")

    def _assignment(self, folders: Sequence[str], file: str, source: str) -> str | None:
        if self._chosen is not None:
            return self._chosen
        for name in (*reversed(folders), source):
            whole = f"_{words(name)}_"
            said = [known for known in self._assignments if f"_{words(known)}_" in whole]
            if said:
                return max(said, key=len)
        belongs = self._of_exercise.get(file.rpartition(".")[0].lower(), [])
        return belongs[0] if len(belongs) == 1 else None


def _on_platform(parts: Sequence[str]) -> tuple[str, str, str, bool] | None:
    """Student, key, the student's own name of the file, and whether it is marked late."""
    for position, part in enumerate(parts):
        for pattern in (_MOODLE, _CANVAS):
            if match := pattern.fullmatch(part):
                is_last = position == len(parts) - 1
                file = match["file"] if is_last else parts[-1]
                late = pattern is _CANVAS and bool(match["late"])
                return match["student"], f"{match['student']}_{match['id']}", file, late
    return None


def words(name: str) -> str:
    """A name in one form, however its words are joined."""
    return re.sub(r"[\W_]+", "_", name.lower()).strip("_")
