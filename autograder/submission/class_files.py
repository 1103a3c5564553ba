"""The names of files in a class folder, and functions that find the class folder of a path."""

from __future__ import annotations

import contextlib
from pathlib import Path

from ..errors import UserError
from ..escaping import for_file_name
from .intake import CODE

#: folders in a class folder, as nbgrader calls them
SUBMITTED, AUTOGRADED, FEEDBACK = "submitted", "autograded", "feedback"
#: folders for submissions that newer ones replaced, and for new submissions of students whose
#: folder was edited by hand
EARLIER, WAITING = "earlier", "waiting"
#: files that nbgrader reads and fills
CONFIG_FILE, GRADEBOOK_FILE = "nbgrader_config.py", "gradebook.db"
RESULTS_FILE = "results.jsonl"
ROSTER_FILE, DUE_FILE, COLLECTED_FILE = "roster.csv", "due.csv", "collected.csv"
EXTENSIONS_FILE, WITHDRAWALS_FILE = "extensions.csv", "withdrawals.csv"
#: folders with files that students wrote
OF_STUDENTS = (SUBMITTED, AUTOGRADED, EARLIER, WAITING)
#: files that only a class folder contains
_MARKS = (
    *(RESULTS_FILE, GRADEBOOK_FILE, CONFIG_FILE, ROSTER_FILE, DUE_FILE, COLLECTED_FILE),
    *(EXTENSIONS_FILE, WITHDRAWALS_FILE),
)
_PARTS = (*OF_STUDENTS, FEEDBACK)


def is_of_students(folder: Path) -> bool:
    """Returns whether a folder is part of students' submissions, judging by the names in its path.

    Such a folder is never used as a course or for configuration, because its code would run with
    the instructor's permissions.
    """
    return not set(OF_STUDENTS).isdisjoint(folder.parts)


def outermost_of_students(folder: Path) -> Path:
    """Returns the folder itself, or the student's folder if `folder` is a single submission."""
    place = folder.resolve()
    with contextlib.suppress(OSError):
        if any(path.suffix in CODE for path in place.iterdir()):
            return place.parent
    return place


def configured_around(folder: Path) -> Path | None:
    """Returns the nearest parent with nbgrader's configuration that is not a student's, or None."""
    outside = (around for around in folder.parents if not is_of_students(around))
    return next((around for around in outside if (around / CONFIG_FILE).is_file()), None)


def submission_folder(
    class_folder: Path, student: str, assignment: str, below: str = SUBMITTED
) -> Path:
    """Returns the folder for a student's files, which is always inside the class folder.

    A `student` or `assignment` that can't be the name of a folder is encoded.
    """
    names = [
        for_file_name(name) if {"/", "\0"} & set(name) or name in ("", ".", "..") else name
        for name in (student, assignment)
    ]
    return class_folder.joinpath(below, *names)


def is_class_folder(folder: Path) -> bool:
    """Returns whether this folder itself is a class folder; a submissions folder never is."""
    if is_of_students(folder.absolute()):
        return False
    return (folder / SUBMITTED).is_dir() or any((folder / name).is_file() for name in _MARKS)


def class_home(path: Path | str) -> Path:
    """Returns the class folder at or above a path, or the path itself if there is none.

    The path of a file, such as a shard's results, is returned unchanged.
    """
    place = Path(path)
    if place.is_file() or is_class_folder(place):
        return place
    around = place.absolute()
    for folder in (around, *around.parents):
        if folder.name == SUBMITTED or (folder.name in _PARTS and is_class_folder(folder.parent)):
            return _as_named(place, folder.parent)
    return place


def _as_named(place: Path, folder: Path) -> Path:
    """Returns `folder`, a parent of `place`, with the spelling of `place` if possible."""
    steps = len(place.absolute().parts) - len(folder.parts)
    inside = len(place.parts) > steps
    return place.parents[steps - 1] if inside and steps else folder


def inside(folder: Path) -> Path:
    """Returns the submissions folder in a class folder, or any other folder unchanged."""
    below = folder / SUBMITTED
    return below if below.is_dir() and not is_of_students(folder.absolute()) else folder


def submissions_of(path: Path | str) -> Path:
    """Returns the submissions folder of the class that a path names.

    A submissions folder with a different name is returned unchanged; any other folder, even one
    that does not exist yet, counts as a class folder.
    """
    place = Path(path)
    if place.name == SUBMITTED:
        return place
    home = class_home(place)
    if home != place or is_class_folder(home):
        return home / SUBMITTED
    has_submissions = any(path.is_dir() for path in place.glob("*/*"))
    return place if has_submissions else place / SUBMITTED


def existing_class(path: Path | str) -> Path:
    """Returns the class folder at or above a folder; raises `UserError` for any other path."""
    folder = Path(path)
    if not folder.is_dir():
        what = "it is a file" if folder.exists() else "there is no such folder"
        raise UserError(f"{folder} is not a class folder: {what}")
    return class_home(folder)
