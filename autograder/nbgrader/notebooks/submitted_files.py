"""What lies in the folder of a submission, before nbgrader sees it.

nbgrader copies whatever is there, through links and however large it is, so what no student can
mean to submit is left out here: links, pipes, devices, and more than a submission may hold.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from ...errors import SubmissionError
from ...submission.bounds import MAX_FILES, MAX_SUBMISSION_BYTES
from ...submission.opened import read_bytes

_TOO_MUCH = (
    f"the folder holds more than {MAX_FILES:,} files or {MAX_SUBMISSION_BYTES >> 20} MB; submit "
    "the notebooks and what they read, and nothing else"
)


def is_regular(path: Path) -> bool:
    """Whether a file is there, and is a file itself: no link to one, no pipe, no device."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def irregular(folder: Path) -> list[str]:
    """The names of what is neither a file nor a folder."""
    return sorted({path.name for path in _below(folder) if not is_regular(path)})


def too_much(folder: Path) -> str | None:
    """Why nobody looks into a folder that holds more than a submission may; else None."""
    files = list(islice(_below(folder), MAX_FILES + 1))
    size = sum(path.lstat().st_size for path in files if is_regular(path))
    return _TOO_MUCH if len(files) > MAX_FILES or size > MAX_SUBMISSION_BYTES else None


def digest_of(folder: Path) -> str:
    """A digest of the files of a submission: names, sizes, and as many bytes as it may hold."""
    digest, left = hashlib.sha256(), MAX_SUBMISSION_BYTES
    for path in islice(_below(folder), MAX_FILES + 1):
        if not is_regular(path):
            continue
        try:
            data = read_bytes(path, left)
        except SubmissionError:  # it may not be read: then only its name is known
            data = b""
        left -= len(data)
        name = path.relative_to(folder).as_posix()
        digest.update(f"{name}\0{path.lstat().st_size}\0".encode(errors="replace") + data)
    return f"sha256:{digest.hexdigest()}"


def _below(folder: Path) -> Iterator[Path]:
    """All that is not a folder, in the order of the names. Links are not followed."""
    for place, folders, names in os.walk(folder):
        links = {name for name in folders if Path(place, name).is_symlink()}
        folders[:] = sorted(set(folders) - links)
        yield from (Path(place, name) for name in sorted({*names, *links}))
