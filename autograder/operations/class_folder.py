"""Finds the folder of a class, whichever of its folders was named."""

from __future__ import annotations

from pathlib import Path

from ..errors import UserError
from ..submission.class_files import (
    COLLECTED_FILE,
    CONFIG_FILE,
    DUE_FILE,
    EXTENSIONS_FILE,
    FEEDBACK,
    GRADEBOOK_FILE,
    OF_STUDENTS,
    RESULTS_FILE,
    ROSTER_FILE,
    SUBMITTED,
    WITHDRAWALS_FILE,
    is_of_students,
)

#: files that only a class folder contains
_MARKS = (
    *(RESULTS_FILE, GRADEBOOK_FILE, CONFIG_FILE, ROSTER_FILE, DUE_FILE, COLLECTED_FILE),
    *(EXTENSIONS_FILE, WITHDRAWALS_FILE),
)
_PARTS = (*OF_STUDENTS, FEEDBACK)


def is_class_folder(folder: Path) -> bool:
    """Returns whether this folder itself is a class folder; no folder of students is one."""
    if is_of_students(folder.absolute()):
        return False
    return (folder / SUBMITTED).is_dir() or any((folder / name).is_file() for name in _MARKS)


def class_home(path: Path | str) -> Path:
    """Returns the class folder that a path is, or is in; the path itself if there is none.

    A file, such as the results of a shard, does not belong to a class.
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
    """Returns a folder around a path, written in the way in which the path was typed."""
    steps = len(place.absolute().parts) - len(folder.parts)
    inside = len(place.parts) > steps
    return place.parents[steps - 1] if inside and steps else folder


def inside(folder: Path) -> Path:
    """Returns the folder of submissions of a class folder; any other folder unchanged."""
    below = folder / SUBMITTED
    return below if below.is_dir() and not is_of_students(folder.absolute()) else folder


def submissions_of(path: Path | str) -> Path:
    """Returns the folder of submissions of the class that a path names.

    A folder of submissions with a different name is returned unchanged; a new folder is taken for a
    class folder.
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
    """Returns the class folder that a path is or is in; raises `UserError` if it isn't a folder."""
    folder = Path(path)
    if not folder.is_dir():
        what = "it is a file" if folder.exists() else "there is no such folder"
        raise UserError(f"{folder} is not a class folder: {what}")
    return class_home(folder)
