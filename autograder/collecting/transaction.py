"""Runs one collection at a time, and records each change in advance, so that undo is possible.

Because changes are recorded before they are made, even a collection that was killed can be undone.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..classroom import (
    Origin,
    Upload,
    digest_of,
    forget_origins,
    forget_uploads,
    read_origins,
    read_uploads,
    write_origins,
    write_uploads,
)
from ..errors import UserError
from ..escaping import for_json
from ..files import replace_file, running_alone
from ..records import Key

UNDO_FILE = ".collected-before.jsonl"
_STAGING, _LOCK = ".collecting-", ".collecting.lock"


@dataclass(frozen=True, slots=True)
class UndoReport:
    """The outcome of undoing the collection that began at `began`.

    `taken_back` contains the submissions that were undone, and `left` contains the others, each
    with the reason why it was not undone.
    """

    began: str
    taken_back: tuple[Key, ...]
    left: tuple[tuple[Key, str], ...]


@contextlib.contextmanager
def collecting_alone(class_folder: Path) -> Iterator[Path]:
    """Yields a folder for gathering files; no other collection in the class can run meanwhile.

    Removes the folders of collections that were killed. Raises `UserError` if another collection is
    running.
    """
    with running_alone(class_folder / _LOCK, "collection"):
        for stale in class_folder.glob(f"{_STAGING}*"):
            shutil.rmtree(stale, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix=_STAGING, dir=class_folder) as staging:
            yield Path(staging)


class CollectionLog:
    """Records the changes that a collection is about to make."""

    def __init__(self, class_folder: Path) -> None:
        self._folder = class_folder
        self._origins, self._uploads = read_origins(class_folder), read_uploads(class_folder)
        self._path = class_folder / UNDO_FILE
        self._has_begun = False

    def before(self, key: Key, *, made: Path, digest: str, earlier: Path | None = None) -> None:
        """Records that `made` will be created, after any existing folder moves to `earlier`."""
        if not self._has_begun:
            now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
            replace_file(self._path, for_json({"began": now}) + "\n")
            self._has_begun = True
        step = {
            "key": key,
            "made": os.path.relpath(made, self._folder),
            "digest": digest,
            "earlier": os.path.relpath(earlier, self._folder) if earlier else None,
            "origin": _fields(self._origins.get(key)),
            "upload": _fields(self._uploads.get(key)),
        }
        with self._path.open("a", encoding="utf-8") as file:
            file.write(for_json(step) + "\n")
            file.flush()
            os.fsync(file.fileno())


def _fields(row: Origin | Upload | None) -> dict[str, str] | None:
    return {name: getattr(row, name) for name in row.__slots__} if row else None


def undo(class_folder: Path) -> UndoReport:
    """Undoes the last collection that changed something; raises `UserError` if there is none.

    Submissions that have been edited by hand since then are left unchanged.
    """
    with collecting_alone(class_folder):
        return _undo(class_folder)


def _undo(class_folder: Path) -> UndoReport:
    path = class_folder / UNDO_FILE
    if not path.is_file():
        raise UserError(f"{class_folder}: there is no collection to undo")
    began, *steps = list(_lines(path))
    taken: list[Key] = []
    left: list[tuple[Key, str]] = []
    for step in reversed(steps):
        key = (step["key"][0], step["key"][1])
        if problem := _take_back(class_folder, step):
            left.append((key, problem))
        else:
            taken.append(key)
            _restore_rows(class_folder, key, step)
    path.unlink()
    return UndoReport(str(began["began"]), tuple(sorted(set(taken))), tuple(left))


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            yield json.loads(line)
        except ValueError:  # the collection was killed while writing this line
            return


def _take_back(class_folder: Path, step: dict[str, Any]) -> str:
    """Undoes a step and returns "", or returns the reason why undoing the step would lose work."""
    made = class_folder / step["made"]
    earlier = class_folder / step["earlier"] if step["earlier"] else None
    if made.is_dir() and digest_of(made) == step["digest"]:
        shutil.rmtree(made)
    elif made.exists() and (earlier is None or earlier.exists()):
        return f"{made} has been changed since then, so it was not touched"
    if earlier is not None and earlier.exists():
        made.parent.mkdir(parents=True, exist_ok=True)
        os.rename(earlier, made)
    _remove_empty(made.parent)
    return ""


def _remove_empty(folder: Path) -> None:
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def _restore_rows(class_folder: Path, key: Key, step: dict[str, Any]) -> None:
    if step["origin"]:
        write_origins(class_folder, [Origin(**step["origin"])])
    else:
        forget_origins(class_folder, [key])
    if step["upload"]:
        write_uploads(class_folder, [Upload(**step["upload"])])
    else:
        forget_uploads(class_folder, [key])
