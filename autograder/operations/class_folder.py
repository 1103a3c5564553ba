"""Which folder a class lives in, whichever of its folders was named."""

from __future__ import annotations

from pathlib import Path

from ..errors import UserError

#: the folder of a class with what students submitted, as nbgrader calls it
SUBMITTED = "submitted"
#: what stands in a class's folder and in no other
_MARKS = (
    *("results.jsonl", "roster.csv", "collected.csv", "gradebook.db", "nbgrader_config.py"),
    *("extensions.csv", "withdrawals.csv", "due.csv"),
)
#: folders in a class's folder
_PARTS = (SUBMITTED, "autograded", "feedback", "earlier", "waiting")


def is_class_folder(folder: Path) -> bool:
    """Whether a class lives in this folder itself."""
    return (folder / SUBMITTED).is_dir() or any((folder / name).is_file() for name in _MARKS)


def class_home(path: Path | str) -> Path:
    """The class folder that a path is, or is in; the path itself where it is in none.

    A file, such as the results of a shard, is in no class.
    """
    place = Path(path)
    if place.is_file() or is_class_folder(place):
        return place
    around = place.absolute()
    for folder in (around, *around.parents):
        if folder.name in _PARTS and (folder.name == SUBMITTED or is_class_folder(folder.parent)):
            return _as_named(place, folder.parent)
    return place


def _as_named(place: Path, folder: Path) -> Path:
    """A folder around a path, as the path that was typed would say it."""
    steps = len(place.absolute().parts) - len(folder.parts)
    inside = len(place.parts) > steps
    return place.parents[steps - 1] if inside and steps else folder


def inside(folder: Path) -> Path:
    """The submissions of a class where its folder is named; another folder as it is."""
    below = folder / SUBMITTED
    return below if below.is_dir() else folder


def submissions_of(path: Path | str) -> Path:
    """The folder of submissions of the class that a path names.

    A folder of submissions of another name is taken as it is; a new one is a class's.
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
    """The class folder that a path is, or is in; raises `UserError` where it is not a folder."""
    folder = Path(path)
    if not folder.is_dir():
        what = "it is a file" if folder.exists() else "there is no such folder"
        raise UserError(f"{folder} is not a class folder: {what}")
    return class_home(folder)
