"""The files that lie next to a notebook: data, pictures and modules that its cells may use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from ...submission.opened import read_bytes
from .submitted_files import is_regular

_MOST_BYTES = 64 << 20
_MOST_FILES = 1_000


def read_data_files(folder: Path, submitted: Path) -> tuple[dict[str, bytes], list[str]]:
    """Regular files by their path from the folder, no notebooks; and the names of what is too much.

    Links are not followed, nor what nbgrader has copied through a link in the submitted folder.
    """
    files: dict[str, bytes] = {}
    left_out = []
    room = _MOST_BYTES
    for path in _regular(folder):
        name = path.relative_to(folder).as_posix()
        if not _is_own(submitted, name):
            continue
        size = path.stat().st_size
        if size > room or len(files) >= _MOST_FILES:
            left_out.append(name)
            continue
        files[name] = read_bytes(path, size)
        room -= len(files[name])
    return files, left_out


def _is_own(submitted: Path, name: str) -> bool:
    return (submitted / name).resolve().is_relative_to(submitted.resolve())


def _regular(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(place, name)
            if path.suffix != ".ipynb" and is_regular(path):
                yield path
