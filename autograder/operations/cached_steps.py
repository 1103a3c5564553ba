"""Remembers each step's inputs and outputs, so that the same files are not processed twice."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import UserError
from ..escaping import for_json
from ..files import replace_file
from ..submission.class_files import CONFIG_FILE, SUBMITTED

#: the name of the file in the class folder; without this file, every step is repeated
FILE_NAME = ".made.json"
_PACKAGE = Path(__file__).resolve().parent.parent
#: the parts of a course on which pages and tables depend
_CONTENT = ("source", "solutions", "assignments", "tests/hidden", "tests/misconceptions")


@dataclass(frozen=True, slots=True)
class CachedStep:
    """One step in processing a class, such as writing feedback with certain options.

    `inputs` is a digest of the names, sizes and times of all files that may affect the step: the
    class's tables, results, gradebook and submissions, the course's content, and the grader itself.
    """

    class_folder: Path
    name: str
    inputs: str

    @classmethod
    def of(
        cls, class_folder: Path, course_root: Path, *name: object, without: Iterable[str] = ()
    ) -> CachedStep:
        """Returns a step with a digest of its current inputs; leaves out the files in `without`."""
        made = {file for known in _read(class_folder).values() for file in known["files"]}
        files = [
            *_class_files(class_folder, {*made, *without}),
            *_below(class_folder / SUBMITTED),
        ]
        files += [file for part in _CONTENT for file in _below(course_root / part)]
        files += [*_below(_PACKAGE)]
        return cls(class_folder, " ".join(map(str, name)), _digest(files))

    def known(self) -> Any:
        """Returns the report of the step's last run, or None if the input files have since changed.

        Also returns None if a file that the step wrote has been changed or removed.
        """
        known = _read(self.class_folder).get(self.name)
        if known is None or known["inputs"] != self.inputs:
            return None
        files = [self.class_folder / name for name in known["files"]]
        return known["report"] if _digest(files) == known["digest"] else None

    def keep(self, files: Iterable[Path], report: Any) -> None:
        """Remembers the files that the step wrote, and its report, which must be valid JSON.

        If the gradebook is outside the class folder, nothing is remembered, because `inputs` does
        not depend on such a gradebook.
        """
        if _has_other_gradebook(self.class_folder):
            return
        names = [os.path.relpath(file, self.class_folder) for file in files]
        made = [self.class_folder / name for name in names]
        own = {"inputs": self.inputs, "files": names, "digest": _digest(made), "report": report}
        text = for_json(_read(self.class_folder) | {self.name: own})
        with contextlib.suppress(UserError):  # the folder may be read-only
            replace_file(self.class_folder / FILE_NAME, text)


def _read(class_folder: Path) -> dict[str, Any]:
    try:
        found = json.loads((class_folder / FILE_NAME).read_bytes())
        return {name: known for name, known in found.items() if known["files"] is not None}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}


def _has_other_gradebook(class_folder: Path) -> bool:
    with contextlib.suppress(OSError):
        return b"db_url" in (class_folder / CONFIG_FILE).read_bytes()
    return False


def _class_files(class_folder: Path, made: Iterable[str]) -> list[Path]:
    """Returns the files in the class folder, except those that steps have written (`made`)."""
    left_out = {FILE_NAME, *made}
    with contextlib.suppress(OSError), os.scandir(class_folder) as entries:
        return sorted(Path(e.path) for e in entries if e.is_file() and e.name not in left_out)
    return []


def _below(folder: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        yield from (Path(place, name) for name in sorted(files))


def _digest(files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        try:
            state = os.lstat(file)
            what = f"{file}\0{state.st_size}\0{state.st_mtime_ns}\0{state.st_ino}\n"
        except OSError:
            what = f"{file}\0missing\n"
        digest.update(what.encode(errors="surrogateescape"))
    return digest.hexdigest()
