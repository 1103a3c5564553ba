"""Lists the files of a zip archive by name; an archive is never trusted."""

from __future__ import annotations

import contextlib
import lzma
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator

from .downloaded import MAX_FILE_BYTES, DownloadEntry, RefusedFile, UnsafeFile, name_problem

#: the most files in one archive, of which only the names are read
MAX_ENTRIES = 1_000_000
#: the errors that zipfile raises for a member that can't be read
BROKEN = (
    *(zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, RuntimeError),
    *(ValueError, struct.error, MemoryError, lzma.LZMAError),
)


def files_in(
    archive: zipfile.ZipFile, path: tuple[str, ...]
) -> Iterator[DownloadEntry | RefusedFile]:
    """Yields the files of an open archive, with paths below that of the archive."""
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
            raise UnsafeFile(f"broken in the archive: {error or type(error).__name__}") from error
        if len(data) > info.file_size:
            raise UnsafeFile("larger than the archive says")
        return data

    return read


def _name_of(info: zipfile.ZipInfo) -> str:
    name = info.orig_filename
    if not info.flag_bits & 0x800:  # many archives contain UTF-8 without this mark
        with contextlib.suppress(UnicodeError):
            name = name.encode("cp437").decode("utf-8")
    return name.replace("\\", "/")


def _info_problem(info: zipfile.ZipInfo, name: str) -> str | None:
    kind = stat.S_IFMT(info.external_attr >> 16)
    if name.startswith("/") or name[1:2] == ":":
        return "an absolute name"
    if ".." in name.split("/"):
        return "a name that points outside of its folder"
    if kind == stat.S_IFLNK:
        return "a link: links are not followed"
    if kind not in (0, stat.S_IFREG):
        return "not a regular file"
    if info.flag_bits & 1:
        return "encrypted: ask for it without a password"
    if info.file_size > MAX_FILE_BYTES:
        return f"larger than {MAX_FILE_BYTES >> 20} MB"
    return None
