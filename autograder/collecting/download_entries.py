"""Lists the files in a download; the contents, including nested archives, are read on request.

Nothing is unpacked to disk. An unsafe file is rejected with a reason; the other files are still
read. Each submission has its own limits, so that no submission can use up the limits of another.
"""

from __future__ import annotations

import contextlib
import errno
import io
import lzma
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from .downloaded import (
    MAX_FILE_BYTES,
    AcceptedFile,
    DownloadEntry,
    ReadingAllowance,
    RefusedFile,
    UnsafeFile,
    name_problem,
)

#: the maximum number of files in an archive, whose names are all read
MAX_ENTRIES = 1_000_000
#: the errors that zipfile raises for a member that can't be read
BROKEN = (
    *(zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, RuntimeError),
    *(ValueError, struct.error, MemoryError, lzma.LZMAError),
)


def files_in(
    archive: zipfile.ZipFile, path: tuple[str, ...]
) -> Iterator[DownloadEntry | RefusedFile]:
    """Yields the files of an open archive; their paths begin with `path`."""
    seen: set[tuple[str, ...]] = set()
    for number, info in enumerate(archive.infolist()):
        if info.filename.endswith("/"):
            continue
        name = _name_of(info)
        parts = tuple(part for part in name.split("/") if part not in ("", "."))
        own, whole = (*path, *parts), "/".join((*path, name))
        reason = _info_problem(info, name) or name_problem(parts)
        if reason is None and own in seen:
            reason = "the archive contains this name twice"
        if number >= MAX_ENTRIES:
            yield RefusedFile(whole, f"more than {MAX_ENTRIES} files in one archive")
            return
        seen.add(own)
        yield (
            RefusedFile(whole, reason)
            if reason
            else DownloadEntry(own, True, _unzipper(archive, info))
        )


def _unzipper(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Callable[[], bytes]:
    def read() -> bytes:
        try:
            with archive.open(info) as file:
                data = file.read(min(MAX_FILE_BYTES, info.file_size) + 1)
        except BROKEN as error:
            raise UnsafeFile(f"damaged in the archive: {error or type(error).__name__}") from error
        if len(data) > info.file_size:
            raise UnsafeFile("larger than the archive says")
        return data

    return read


def _name_of(info: zipfile.ZipInfo) -> str:
    name = info.orig_filename
    if not info.flag_bits & 0x800:  # many archives use UTF-8 without setting this flag
        with contextlib.suppress(UnicodeError):
            name = name.encode("cp437").decode("utf-8")
    return name.replace("\\", "/")


def _info_problem(info: zipfile.ZipInfo, name: str) -> str | None:
    kind = stat.S_IFMT(info.external_attr >> 16)
    if name.startswith("/") or name[1:2] == ":":
        return "an absolute name"
    if ".." in name.split("/"):
        return "a name that points outside its folder"
    if kind == stat.S_IFLNK:
        return "a link: links are not followed"
    if kind not in (0, stat.S_IFREG):
        return "not a regular file"
    if info.flag_bits & 1:
        return "encrypted: ask for a copy without a password"
    if info.file_size > MAX_FILE_BYTES:
        return f"larger than {MAX_FILE_BYTES >> 20} MB"
    return None


#: the maximum depth of nested archives, and the maximum size in bytes of an archive's list of files
MAX_DEPTH, MAX_LIST_BYTES = 3, 10 << 20


@contextlib.contextmanager
def entries_of(source: Path) -> Iterator[Iterator[DownloadEntry | RefusedFile]]:
    """Opens a folder or a zip archive, and yields an iterator over its files."""
    if source.is_dir():
        yield _in_folder(source, ())
        return
    with open(source, "rb") as file:
        try:
            archive = zipfile.ZipFile(file)
        except BROKEN as error:
            fix = "download it again, or unpack it and collect the folder"
            why = f"not a zip archive, or a damaged one: {error}; {fix}"
            yield iter([RefusedFile(source.name, why)])
            return
        with archive:
            yield files_in(archive, ())


def contents_of(
    entry: DownloadEntry, account: ReadingAllowance, depth: int = 0
) -> Iterator[AcceptedFile | RefusedFile]:
    """Yields the file itself or, for an archive, all files in it and in nested archives."""
    name = "/".join(entry.path)
    if entry.is_archive and depth == MAX_DEPTH:
        yield RefusedFile(name, f"an archive nested more than {MAX_DEPTH} levels deep")
        return
    try:
        data = account.read(entry)
    except UnsafeFile as error:
        yield RefusedFile(name, str(error))
        return
    if entry.is_archive:
        path = (*entry.path[:-1], entry.path[-1][:-4])
        yield from _unpacked(data, name, path, account, depth + 1)
    else:
        yield AcceptedFile(entry.path, data)


def _unpacked(
    data: bytes, name: str, path: tuple[str, ...], account: ReadingAllowance, depth: int
) -> Iterator[AcceptedFile | RefusedFile]:
    try:
        archive = opened(data)
    except BROKEN as error:
        yield RefusedFile(name, f"not a zip archive, or a damaged one: {error}")
        return
    with archive:
        for found in files_in(archive, path):
            if isinstance(found, RefusedFile):
                account.files -= 1
                yield found
            else:
                yield from contents_of(found, account, depth)
            if account.files < 0:
                return


class _StudentsArchive(io.BytesIO):
    """A student's archive in memory; raises an error for a file list that is too long to read.

    `zipfile` reads the whole list when it opens an archive, and each entry then takes ten times as
    much memory as in the archive.
    """

    is_open = False

    def read(self, size: int | None = -1, /) -> bytes:
        """Reads bytes; raises `BadZipFile` if the file list is too long."""
        if size is not None and size > MAX_LIST_BYTES and not self.is_open:
            raise zipfile.BadZipFile(f"its list of files is larger than {MAX_LIST_BYTES >> 20} MB")
        return super().read(size)


def opened(data: bytes) -> zipfile.ZipFile:
    """Opens an archive made by a student; if this fails, raises one of the errors in `BROKEN`."""
    file = _StudentsArchive(data)
    archive = zipfile.ZipFile(file)
    file.is_open = True
    return archive


def _in_folder(folder: Path, path: tuple[str, ...]) -> Iterator[DownloadEntry | RefusedFile]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        yield RefusedFile("/".join(path), f"can't be read: {error.strerror}")
        return
    for entry in entries:
        own = (*path, entry.name)
        if reason := name_problem(own):
            yield RefusedFile("/".join(own), reason)
        elif entry.is_symlink():
            yield RefusedFile("/".join(own), "a link: links are not followed")
        elif entry.is_dir(follow_symlinks=False):
            yield from _in_folder(Path(entry.path), own)
        else:
            yield DownloadEntry(own, False, file_reader(Path(entry.path)))


def file_reader(path: Path, most: int = MAX_FILE_BYTES) -> Callable[[], bytes]:
    """Returns a function that reads a regular file of at most `most` bytes or raises UnsafeFile."""

    def read() -> bytes:
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with os.fdopen(descriptor, "rb") as file:
                state = os.fstat(descriptor)
                if not stat.S_ISREG(state.st_mode):
                    raise UnsafeFile("not a regular file")
                if state.st_size > most:
                    raise UnsafeFile(f"larger than {most >> 20} MB")
                return file.read(most)
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise UnsafeFile("a link: links are not followed") from error
            raise UnsafeFile(f"can't be read: {error.strerror or error}") from error

    return read
