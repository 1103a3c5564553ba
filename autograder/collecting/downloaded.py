"""Defines records for a downloaded file before and after reading, and the reading limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..escaping import visible
from ..submission import NOISE
from ..submission.opened import MAX_FILES
from ..submission.opened import MAX_SUBMISSION_BYTES as MAX_BYTES

MAX_FILE_BYTES = 100 << 20
#: the maximum depth of folders: more than anybody needs, and less than Python's recursion limit
MAX_FOLDERS = 100
#: the reason for rejecting files that an operating system creates
OF_A_SYSTEM = "created by an operating system, not by a student"


class UnsafeFile(Exception):
    """Raised for a file that is not accepted; the error's text is the reason for the rejection."""


@dataclass(frozen=True, slots=True)
class DownloadEntry:
    """A file in a download: its path, and a function that reads it or raises `UnsafeFile`.

    `in_archive` is true if the file is in a zip, whose contents can't be trusted. If `stays_packed`
    is true, the file is not unpacked even if it is an archive.
    """

    path: tuple[str, ...]
    in_archive: bool
    read: Callable[[], bytes]
    stays_packed: bool = False

    @property
    def is_archive(self) -> bool:
        """True if the file is a zip that will be unpacked."""
        return self.path[-1].lower().endswith(".zip") and not self.stays_packed


@dataclass(frozen=True, slots=True)
class AcceptedFile:
    """A file that has been read: its path, in which archives count as folders, and its bytes."""

    path: tuple[str, ...]
    data: bytes


@dataclass(frozen=True, slots=True)
class RefusedFile:
    """A file that was not accepted, and the reason why.

    `student` is the student whose work is missing because of this; it is empty if the file belongs
    to nobody, or if another file counts instead.
    """

    path: str
    reason: str
    student: str = ""


@dataclass(slots=True)
class ReadingAllowance:
    """The number of files and bytes that may still be read from a submission; stops zip bombs."""

    files: int = MAX_FILES
    size: int = MAX_BYTES

    def read(self, entry: DownloadEntry) -> bytes:
        """Reads a file; raises `UnsafeFile` if that would exceed a limit."""
        self.files -= 1
        if self.files < 0:
            raise UnsafeFile(f"more than {MAX_FILES} files in one submission")
        data = entry.read()
        if len(data) > self.size:
            raise UnsafeFile(f"more than {MAX_BYTES >> 20} MB in one submission")
        self.size -= len(data)
        return data


def name_problem(parts: tuple[str, ...]) -> str | None:
    """Returns why a file with this path is rejected, or None if the path is allowed."""
    if not parts:
        return "no name"
    if len(parts) > MAX_FOLDERS:
        return f"more than {MAX_FOLDERS} folders deep"
    if any(part in NOISE or part.startswith("._") for part in parts):
        return OF_A_SYSTEM
    for part in parts:
        if len(part.encode("utf-8", "surrogatepass")) > 255:
            return "a name longer than 255 bytes"
        if visible(part) != part or "\ufffd" in part:
            return "a name with control characters, or in no known encoding"
    return None
