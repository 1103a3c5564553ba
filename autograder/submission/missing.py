"""An exercise for which there is no file: what is there instead, and what to submit."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..errors import SubmissionError
from ..records import Exercise
from .opened import read_bytes
from .similar import closest

_LOOK_INTO = 1 << 20
_MOST_FILES = 200
_CODE = (".py", ".ipynb")
#: the public checks, which come with an assignment
_CHECKS = "checks"
#: what nobody unpacks here
_ARCHIVES = frozenset((".zip", ".7z", ".rar", ".tar", ".gz", ".tgz", ".xz", ".bz2", ".zipx"))


def about_missing(folder: Path, exercise: Exercise) -> tuple[str, ...]:
    """One note: what was expected, and which file may be meant for it: a human looks at that."""
    wanted = f"{exercise.name}.py or {exercise.name}.ipynb"
    for suffix in (".py", ".ipynb"):
        path = folder / f"{exercise.name}{suffix}"
        if path.is_symlink():
            return (f"{path.name} is a link, which is not followed; submit the file itself",)
        if path.is_dir():
            return (f"{path.name} is a folder; submit the file itself, not inside a folder",)
        if path.exists() and not _is_regular(path):
            return (f"{path.name} is not a file but a pipe or a device; submit the file itself",)
    files = list(_files(folder))
    right = (f"{exercise.name}.py", f"{exercise.name}.ipynb")
    if deeper := [path.relative_to(folder) for path in files if path.name in right]:
        return (f"look at {deeper[0]}: expected {wanted}, and not in a folder of its own",)
    alike = [path for path in files if exercise.name in path.name.lower()]
    if not alike and (best := closest(exercise.name, [path.stem for path in files])):
        alike = [path for path in files if path.stem == best]
    if alike:
        return (f"look at {_named(folder, alike)}: expected {wanted}; is the name wrong?",)
    for path in files:
        if question := _question_in(path, exercise):
            said = f"look at {_named(folder, [path])}: it defines {question}; expected {wanted}"
            return (f"{said}; is its name wrong?",)
    if packed := [path for path in files if path.suffix.lower() in _ARCHIVES]:
        return (f"look at {_named(folder, packed)}: expected {wanted}; is it in there?",)
    return (f"expected {wanted}",)


def about_strange(folder: Path) -> tuple[str, ...]:
    """Of a submission without any exercise of its assignment: which code is there instead."""
    files = [p for p in _files(folder) if p.suffix in _CODE and p.parent.name != _CHECKS]
    if not files:
        return ()
    there = f"look at {_named(folder, files)}: no exercise of this assignment"
    return (f"{there}; was it submitted to another one?",)


def _named(folder: Path, files: Sequence[Path]) -> str:
    """The first of them, with the folder that they are in."""
    return ", ".join(str(path.relative_to(folder)) for path in files[:3])


def _files(folder: Path) -> Iterator[Path]:
    """What was submitted, with what stands one folder deeper."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)[:_MOST_FILES]
    except OSError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            with contextlib.suppress(OSError):
                inner = sorted(os.listdir(entry.path))[:_MOST_FILES]
                yield from (Path(entry.path, name) for name in inner)
        else:
            yield Path(entry.path)


def _question_in(path: Path, exercise: Exercise) -> str | None:
    if path.suffix not in (".py", ".ipynb", ".txt", "") or not _is_regular(path):
        return None
    try:
        data = read_bytes(path, _LOOK_INTO)
    except SubmissionError:
        return None
    for question in exercise.questions:
        word = "class" if question.is_class else "def"
        if f"{word} {question.name}(".encode() in data:
            return question.name
    return None


def _is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False
