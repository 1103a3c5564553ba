"""Checks a submission's folder before nbgrader reads it.

nbgrader copies everything in the folder, regardless of size, including the targets of links. Links,
pipes and devices, which no student submits on purpose, are therefore left out, and nbgrader does
not read a folder that exceeds a submission's limits.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from ...errors import SubmissionError
from ...submission.opened import (
    MAX_FILES,
    MAX_SUBMISSION_BYTES,
    Stamps,
    is_regular,
    read_bytes,
    stamps_of,
)

_TOO_MUCH = (
    f"the folder contains more than {MAX_FILES:,} files or {MAX_SUBMISSION_BYTES >> 20} MB; submit "
    "only the notebooks and the files that they read"
)


def irregular(folder: Path) -> list[str]:
    """Returns the names of all entries that are neither regular files nor folders."""
    return sorted({path.name for path in _below(folder) if not is_regular(path)})


def too_much(folder: Path) -> str | None:
    """Returns why a folder exceeds a submission's limits, or None if it does not."""
    files = list(islice(_below(folder), MAX_FILES + 1))
    size = sum(path.lstat().st_size for path in files if is_regular(path))
    return _TOO_MUCH if len(files) > MAX_FILES or size > MAX_SUBMISSION_BYTES else None


def state_of(folder: Path) -> tuple[str, Stamps]:
    """Returns a digest of a submission's files, and stamps that change when a file changes."""
    return digest_of(folder), stamps_of(islice(_below(folder), MAX_FILES + 1))


def digest_of(folder: Path) -> str:
    """Returns a digest of a submission's files: names, sizes, and contents up to the size limit."""
    digest, left = hashlib.sha256(), MAX_SUBMISSION_BYTES
    for path in islice(_below(folder), MAX_FILES + 1):
        if not is_regular(path):
            continue
        try:
            data = read_bytes(path, left)
        except SubmissionError:  # an unreadable file; only its name and size count
            data = b""
        left -= len(data)
        name = path.relative_to(folder).as_posix()
        digest.update(f"{name}\0{path.lstat().st_size}\0".encode(errors="replace") + data)
    return f"sha256:{digest.hexdigest()}"


def _below(folder: Path) -> Iterator[Path]:
    """Yields everything below a folder, except folders, sorted by name; does not follow links."""
    for place, folders, names in os.walk(folder):
        links = {name for name in folders if Path(place, name).is_symlink()}
        folders[:] = sorted(set(folders) - links)
        yield from (Path(place, name) for name in sorted({*names, *links}))
