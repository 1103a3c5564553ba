"""The files in an archive, an archive of archives, or a folder, one by one; nothing is unpacked.

A file that is not safe to take is refused with its reason, and the others go on.
"""

from __future__ import annotations

import contextlib
import io
import lzma
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

MAX_FILE_BYTES = 100 << 20
MAX_TOTAL_BYTES = 8 << 30
MAX_MEMBERS = 200_000
MAX_DEPTH = 3
#: more than text shrinks; checked for what is large enough to do harm
MAX_RATIO = 200
_LARGE = 1 << 20
_NOISE = ("__MACOSX", ".ipynb_checkpoints", "__pycache__", ".git", ".DS_Store", "Thumbs.db")
#: what zipfile raises for a member that can't be read
_BROKEN = (
    *(zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, RuntimeError),
    *(ValueError, struct.error, MemoryError, lzma.LZMAError),
)


@dataclass(frozen=True, slots=True)
class Member:
    """One file: its path (an archive inside counts as a folder), bytes, and time in UTC if told."""

    path: tuple[str, ...]
    data: bytes
    time: datetime | None
    in_archive: bool


@dataclass(frozen=True, slots=True)
class Refused:
    """A file that was not taken, and why."""

    path: str
    reason: str


@dataclass(slots=True)
class _Account:
    """What was read in all, against bombs."""

    left: int
    members: int = 0


def members_of(source: Path) -> Iterator[Member | Refused]:
    """All files of a folder or zip archive, safe ones as `Member`, in the order of their names."""
    if source.is_dir():
        yield from _in_folder(source, (), _Account(MAX_TOTAL_BYTES))
        return
    size = source.stat().st_size
    account = _Account(min(MAX_TOTAL_BYTES, size * MAX_RATIO + MAX_FILE_BYTES))
    with open(source, "rb") as file:
        yield from _in_zip(file, (), 1, account)


def _in_folder(
    folder: Path, path: tuple[str, ...], account: _Account
) -> Iterator[Member | Refused]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        yield Refused("/".join(path), f"can't be read: {error.strerror}")
        return
    for entry in entries:
        own = (*path, entry.name)
        if reason := _name_problem(own):
            yield Refused("/".join(own), reason)
        elif entry.is_symlink():
            yield Refused("/".join(own), "a link: links are not followed")
        elif entry.is_dir(follow_symlinks=False):
            yield from _in_folder(Path(entry.path), own, account)
        else:
            yield from _file(Path(entry.path), own, account)


def _file(path: Path, own: tuple[str, ...], account: _Account) -> Iterator[Member | Refused]:
    name = "/".join(own)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            state = os.fstat(descriptor)
            if not stat.S_ISREG(state.st_mode):
                yield Refused(name, "no regular file")
            elif own[-1].lower().endswith(".zip"):
                account.left = min(MAX_TOTAL_BYTES, state.st_size * MAX_RATIO + MAX_FILE_BYTES)
                yield from _in_zip(file, (*own[:-1], own[-1][:-4]), 1, account)
            elif state.st_size > MAX_FILE_BYTES:
                yield Refused(name, f"larger than {MAX_FILE_BYTES >> 20} MB")
            else:
                yield Member(own, file.read(MAX_FILE_BYTES), None, False)
    except OSError as error:
        yield Refused(name, f"can't be read: {error.strerror or error}")


def _in_zip(
    file: io.BufferedIOBase | io.BufferedReader,
    path: tuple[str, ...],
    depth: int,
    account: _Account,
) -> Iterator[Member | Refused]:
    try:
        archive = zipfile.ZipFile(file)
    except _BROKEN as error:
        yield Refused("/".join(path) or "the archive", f"no zip archive, or a broken one: {error}")
        return
    seen: set[tuple[str, ...]] = set()
    with archive:
        for info in archive.infolist():
            if info.filename.endswith("/"):
                continue
            own = (*path, *_parts(_name_of(info)))
            name = "/".join((*path, _name_of(info)))
            reason = _info_problem(info, account) or _name_problem(own)
            if reason is None and own in seen:
                reason = "the archive holds this name twice"
            seen.add(own)
            if reason is not None:
                yield Refused(name, reason)
            else:
                yield from _member(archive, info, own, depth, account)


def _member(
    archive: zipfile.ZipFile,
    info: zipfile.ZipInfo,
    own: tuple[str, ...],
    depth: int,
    account: _Account,
) -> Iterator[Member | Refused]:
    name = "/".join(own)
    try:
        with archive.open(info) as file:
            data = file.read(min(MAX_FILE_BYTES, info.file_size) + 1)
    except _BROKEN as error:
        yield Refused(name, f"broken in the archive: {error or type(error).__name__}")
        return
    account.left -= len(data)
    if len(data) > info.file_size:
        yield Refused(name, "larger than the archive says")
    elif own[-1].lower().endswith(".zip"):
        if depth >= MAX_DEPTH:
            yield Refused(name, f"an archive nested more than {MAX_DEPTH} deep")
        else:
            inner = (*own[:-1], own[-1][:-4])
            yield from _in_zip(io.BytesIO(data), inner, depth + 1, account)
    else:
        yield Member(own, data, _time_of(info), True)


def _name_of(info: zipfile.ZipInfo) -> str:
    name = info.orig_filename
    if not info.flag_bits & 0x800:  # not marked as UTF-8, which many write all the same
        with contextlib.suppress(UnicodeError):
            name = name.encode("cp437").decode("utf-8")
    return name.replace("\\", "/")


def _parts(name: str) -> tuple[str, ...]:
    return tuple(part for part in name.split("/") if part not in ("", "."))


def _info_problem(info: zipfile.ZipInfo, account: _Account) -> str | None:
    account.members += 1
    name, kind = _name_of(info), stat.S_IFMT(info.external_attr >> 16)
    if name.startswith("/") or name[1:2] == ":":
        return "an absolute name"
    if ".." in name.split("/"):
        return "a name that leads out of its folder"
    if kind == stat.S_IFLNK:
        return "a link: links are not followed"
    if kind not in (0, stat.S_IFREG):
        return "no regular file"
    if info.flag_bits & 1:
        return "encrypted: ask for it without a password"
    if info.file_size > MAX_FILE_BYTES:
        return f"larger than {MAX_FILE_BYTES >> 20} MB"
    if info.file_size > _LARGE and info.file_size > MAX_RATIO * info.compress_size:
        return f"a bomb: {info.file_size} bytes from {info.compress_size}"
    if info.file_size > account.left:
        return "a bomb: the archive holds far more than its size"
    if account.members > MAX_MEMBERS:
        return f"more than {MAX_MEMBERS} files"
    return None


def _name_problem(parts: tuple[str, ...]) -> str | None:
    if not parts:
        return "no name"
    if any(part in _NOISE or part.startswith("._") for part in parts):
        return "made by a system, not by a student"
    for part in parts:
        if not part.isprintable() or "\ufffd" in part:
            return "a name with control characters, or in no known encoding"
        if len(part.encode("utf-8", "surrogatepass")) > 255:
            return "a name of more than 255 bytes"
    return None


def _time_of(info: zipfile.ZipInfo) -> datetime | None:
    """The extended time where there is one, else the archive's own, which tells no zone."""
    extra = info.extra
    while len(extra) >= 4:
        kind, size = struct.unpack("<HH", extra[:4])
        if kind == 0x5455 and size >= 5 and len(extra) >= 9 and extra[4] & 1:
            return datetime.fromtimestamp(struct.unpack("<I", extra[5:9])[0], UTC)
        extra = extra[4 + size :]
    try:
        found = datetime(*info.date_time)
    except ValueError:
        return None
    return found.astimezone(UTC) if found.year > 1980 else None
