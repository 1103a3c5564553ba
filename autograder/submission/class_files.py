"""Names the files in a class folder, and finds the class folder for a path."""

from __future__ import annotations

import contextlib
from pathlib import Path

from ..errors import UserError
from ..escaping import for_file_name
from .intake import CODE

#: nbgrader's names for folders in a class folder
SUBMITTED, AUTOGRADED, FEEDBACK = "submitted", "autograded", "feedback"
#: folders for submissions that were replaced by newer ones, and for new submissions by students
#: whose folder was edited by hand
EARLIER, WAITING = "earlier", "waiting"
#: files that nbgrader reads or fills
CONFIG_FILE, GRADEBOOK_FILE = "nbgrader_config.py", "gradebook.db"
RESULTS_FILE = "results.jsonl"
ROSTER_FILE, DUE_FILE, COLLECTED_FILE = "roster.csv", "due.csv", "collected.csv"
EXTENSIONS_FILE, WITHDRAWALS_FILE = "extensions.csv", "withdrawals.csv"
#: folders that contain files from students
OF_STUDENTS = (SUBMITTED, AUTOGRADED, EARLIER, WAITING)
#: files that only a class folder contains
_MARKS = (
    *(RESULTS_FILE, GRADEBOOK_FILE, CONFIG_FILE, ROSTER_FILE, DUE_FILE, COLLECTED_FILE),
    *(EXTENSIONS_FILE, WITHDRAWALS_FILE),
)
_PARTS = (*OF_STUDENTS, FEEDBACK)


def is_of_students(folder: Path) -> bool:
    """Returns whether a folder belongs to students' submissions, judging by the names in its path.

    Such a folder is never used as a course or for configuration, because its code would run with
    the instructor's permissions.
    """
    return not set(OF_STUDENTS).isdisjoint(folder.parts)


def outermost_of_students(folder: Path) -> Path:
    """Returns `folder` or, if it is a single submission, the student's folder that contains it."""
    place = folder.resolve()
    with contextlib.suppress(OSError):
        if any(path.suffix in CODE for path in place.iterdir()):
            return place.parent
    return place


def configured_around(folder: Path) -> Path | None:
    """Returns the nearest parent with an nbgrader configuration, ignoring students' folders."""
    outside = (around for around in folder.parents if not is_of_students(around))
    return next((around for around in outside if (around / CONFIG_FILE).is_file()), None)


def submission_folder(
    class_folder: Path, student: str, assignment: str, below: str = SUBMITTED
) -> Path:
    """Returns the folder for a student's files, which is always inside the class folder.

    A `student` or `assignment` that is not valid as a folder name is encoded.
    """
    names = [
        for_file_name(name) if {"/", "\0"} & set(name) or name in ("", ".", "..") else name
        for name in (student, assignment)
    ]
    return class_folder.joinpath(below, *names)


def is_class_folder(folder: Path) -> bool:
    """Returns whether this folder is a class folder; a folder with students' files never counts."""
    if is_of_students(folder.absolute()):
        return False
    return (folder / SUBMITTED).is_dir() or any((folder / name).is_file() for name in _MARKS)


def class_home(path: Path | str) -> Path:
    """Returns the class folder at or above a path, or the path itself if there is none.

    If the path is a file, such as a shard's results, it is returned unchanged.
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
    """Returns `folder`, a parent of `place`, as it is written in `place`.

    If `place` is a relative path that begins in or below `folder`, returns `folder` unchanged.
    """
    steps = len(place.absolute().parts) - len(folder.parts)
    inside = len(place.parts) > steps
    return place.parents[steps - 1] if inside and steps else folder


def inside(folder: Path) -> Path:
    """Returns the submissions folder in a class folder; returns any other folder unchanged."""
    below = folder / SUBMITTED
    return below if below.is_dir() and not is_of_students(folder.absolute()) else folder


def submissions_of(path: Path | str) -> Path:
    """Returns the submissions folder of the class to which a path belongs.

    A folder that contains submissions, but has a different name, is returned unchanged. Any other
    folder, even one that does not exist yet, counts as a class folder.
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
    """Returns `class_home` of a folder; raises `UserError` if the path is not a folder."""
    folder = Path(path)
    if not folder.is_dir():
        what = "it is a file" if folder.exists() else "there is no such folder"
        raise UserError(f"{folder} is not a class folder: {what}")
    return class_home(folder)
