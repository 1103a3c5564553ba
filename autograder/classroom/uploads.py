"""Keeps digests of the files that `collect` wrote, in `uploads.csv` in the class folder.

The digests show whether somebody has edited a folder since it was collected, and whether an upload
is new.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from ..records import Key
from ..submission import NOISE
from .tables import change_rows, read_table
from .times import TIMESTAMP_FILE

UPLOADS_FILE = "uploads.csv"
_PART = 1 << 20


@dataclass(frozen=True, slots=True)
class Upload:
    """The digests of a submission's latest `upload` and of the files that were last `placed`."""

    student: str
    assignment: str
    upload: str
    placed: str

    @property
    def key(self) -> Key:
        return self.student, self.assignment


_COLUMNS = tuple(field.name for field in fields(Upload))


def read_uploads(class_folder: Path) -> Mapping[Key, Upload]:
    """Returns the digests of each submission; raises `UserError` for a malformed table."""
    rows = read_table(class_folder / UPLOADS_FILE, _COLUMNS)
    return {upload.key: upload for upload in (Upload(**row) for row in rows)}


def write_uploads(class_folder: Path, uploads: Iterable[Upload]) -> None:
    """Stores digests in `uploads.csv`; replaces earlier digests of the same submissions."""
    new = {upload.key: asdict(upload) for upload in uploads}
    change_rows(class_folder / UPLOADS_FILE, _COLUMNS, new)


def forget_uploads(class_folder: Path, keys: Iterable[Key]) -> None:
    """Removes the rows for submissions that no longer exist."""
    change_rows(class_folder / UPLOADS_FILE, _COLUMNS, {}, keys)


def digest_of(folder: Path) -> str:
    """Returns a digest of the names and contents of a folder's files, or "" if there is no folder.

    The digest does not depend on the submission time, or on files created by operating systems or
    editors.
    """
    if not folder.is_dir() or folder.is_symlink():
        return ""
    digest = hashlib.sha256()
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in NOISE)
        for name in sorted(names):
            path = Path(place, name)
            own = path.relative_to(folder).as_posix()
            if name in NOISE or own == TIMESTAMP_FILE:
                continue
            digest.update(f"{own}\0".encode("utf-8", "surrogateescape") + _digest_of_file(path))
    return f"sha256:{digest.hexdigest()}"


def _digest_of_file(path: Path) -> bytes:
    """Returns the digest of a file's contents; anything but a regular file counts as empty."""
    digest = hashlib.sha256()
    if not stat.S_ISREG(path.lstat().st_mode):
        return digest.digest()
    with open(path, "rb", opener=_open_at_once) as file:
        while part := file.read(_PART):
            digest.update(part)
    return digest.digest()


def _open_at_once(path: str, flags: int) -> int:
    """Opens a file without following a link or waiting for a pipe that may have replaced it."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)
