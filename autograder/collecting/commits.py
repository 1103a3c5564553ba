"""Finds the time of a repository's last commit by reading the repository's files.

The program `git` is not used, because it obeys the repository's settings, which a student controls:
with `fetch.bundleURI` and `extensions.partialClone`, even `git rev-list` runs a hook. Only a
limited number of bytes is read, and only from regular files in real folders below `.git`. If the
commit is stored elsewhere (in alternates, on a remote, or in a folder to which a `.git` file
points), the time is unknown.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from ..deadlines import once

_HASH = re.compile(rb"[0-9a-f]{64}|[0-9a-f]{40}")
_REF = re.compile(rb"ref: *(refs(?:/[^/\s]+)+)\s*")
#: the maximum lengths of chains of references and of deltas; git itself creates at most 5 and 50
_MOST_LINKS, _MOST_DELTAS = 5, 100
_MOST_FILES = 4000  # the maximum number of packs and indices
_MOST_OF_REF, _MOST_OF_PACKED_REFS, _MOST_OF_COMMIT = 1 << 10, 8 << 20, 1 << 20
_PIECE = 1 << 16
_LOOSE, _INDEX = re.compile(rb"commit \d+\0"), b"\xfftOc\0\0\0\2"
_COMMIT, _BY_OFFSET, _BY_HASH = 1, 6, 7
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class _UnknownTime(Exception):
    """Raised if the commit's time is missing, or is not in the form in which git writes times."""


def is_repository(folder: Path) -> bool:
    """Returns whether a folder is a repository: its `.git` is a folder, not a file or a link."""
    own = folder / ".git"
    return own.is_dir() and not own.is_symlink()


def committed(folder: Path) -> datetime | None:
    """Returns the last commit's time (by the committer's clock), or None if it is unknown."""
    try:
        top = os.open(folder / ".git", _FOLDER)
    except OSError:
        return None
    try:
        git = _GitFolder(top)
        return _time_in(git.commit(git.head()))
    except (OSError, ValueError, IndexError, OverflowError, struct.error, zlib.error, _UnknownTime):
        return None
    finally:
        os.close(top)


def _time_in(commit: bytes) -> datetime:
    for line in commit.partition(b"\n\n")[0].split(b"\n"):
        if line.startswith(b"committer "):
            moment = datetime.fromtimestamp(int(line.rpartition(b">")[2].split()[0]), UTC)
            return once(moment.replace(tzinfo=None), UTC, str(moment))
    raise _UnknownTime


class _GitFolder:
    def __init__(self, top: int) -> None:
        self._top = top

    def head(self) -> bytes:
        """Returns the hash, in hexadecimal digits, of the commit that is checked out."""
        name = "HEAD"
        for _ in range(_MOST_LINKS):
            try:
                with self._opened(*name.split("/")) as file:
                    content = os.pread(file, _MOST_OF_REF, 0)
            except FileNotFoundError:
                return self._packed_ref(name.encode())
            if match := _HASH.match(content):
                return match[0]
            if not (match := _REF.fullmatch(content)) or b".." in match[1].split(b"/"):
                raise _UnknownTime
            name = os.fsdecode(match[1])
        raise _UnknownTime

    def _packed_ref(self, name: bytes) -> bytes:
        with self._opened("packed-refs") as file:
            refs = b"\n" + os.pread(file, _MOST_OF_PACKED_REFS, 0) + b"\n"
        end = refs.find(b" " + name + b"\n")
        found = refs[refs.rfind(b"\n", 0, end) + 1 : end] if end >= 0 else b""
        if _HASH.fullmatch(found):
            return found
        raise _UnknownTime

    def commit(self, name: bytes) -> bytes:
        text = name.decode()
        try:
            with self._opened("objects", text[:2], text[2:]) as file:
                data = _inflated(file, 0)
        except FileNotFoundError:
            return self._packed(bytes.fromhex(text))
        header = _LOOSE.match(data)
        if header is None:
            raise _UnknownTime
        return data[header.end() :]

    def _packed(self, name: bytes) -> bytes:
        with (
            self._opened("objects", "pack", flags=_FOLDER) as folder,
            os.scandir(folder) as entries,
        ):
            names = [entry.name for entry in islice(entries, _MOST_FILES)]
        packs = sorted(one.removesuffix(".idx") for one in names if one.endswith(".idx"))
        for pack in packs:
            with self._opened("objects", "pack", f"{pack}.idx") as file:
                index = _Index(file, len(name))
                at = index.find(name)
                if at is not None:
                    with self._opened("objects", "pack", f"{pack}.pack") as data:
                        return _Pack(data, index).commit(at)
        raise _UnknownTime

    @contextlib.contextmanager
    def _opened(self, *path: str, flags: int = _FILE) -> Iterator[int]:
        """Opens a file or folder below `.git`; no part of its path may be a link."""
        with contextlib.ExitStack() as stack:
            place = self._top
            for number, part in enumerate(path, 1):
                how = flags if number == len(path) else _FOLDER
                place = os.open(part, how, dir_fd=place)
                stack.callback(os.close, place)
            if flags == _FILE and not stat.S_ISREG(os.fstat(place).st_mode):
                raise _UnknownTime
            yield place


@dataclass(frozen=True, slots=True)
class _Index:
    """A pack's index (an `.idx` file of version 2); `size` is the number of bytes in a hash."""

    file: int
    size: int

    def find(self, name: bytes) -> int | None:
        """Returns an object's offset in this pack, or None if the object is not in it."""
        if os.pread(self.file, len(_INDEX), 0) != _INDEX:
            return None
        low, high = (self._count(name[0] - 1) if name[0] else 0), self._count(name[0])
        count, names = self._count(255), len(_INDEX) + 256 * 4
        while low < high:
            middle = (low + high) // 2
            found = os.pread(self.file, self.size, names + middle * self.size)
            if found == name:
                return self._offset(names + count * (self.size + 4), count, middle)
            low, high = (middle + 1, high) if found < name else (low, middle)
        return None

    def _count(self, first: int) -> int:
        return self._number(">I", len(_INDEX) + first * 4)

    def _offset(self, table: int, count: int, number: int) -> int:
        small = self._number(">I", table + number * 4)
        if small < 1 << 31:
            return small
        return self._number(">Q", table + count * 4 + (small - (1 << 31)) * 8)

    def _number(self, form: str, at: int) -> int:
        return int(struct.unpack(form, os.pread(self.file, struct.calcsize(form), at))[0])


@dataclass(frozen=True, slots=True)
class _Pack:
    file: int
    index: _Index

    def commit(self, at: int) -> bytes:
        """Returns the text of the commit that begins at an offset."""
        deltas: list[bytes] = []
        while len(deltas) <= _MOST_DELTAS and sum(map(len, deltas)) <= _MOST_OF_COMMIT:
            kind, base, start = self._header(at)
            data = _inflated(self.file, start)
            if kind == _COMMIT:
                for delta in reversed(deltas):
                    data = _applied(delta, data)
                return data
            if base is None:
                break
            deltas.append(data)
            at = base
        raise _UnknownTime

    def _header(self, at: int) -> tuple[int, int | None, int]:
        """Returns an object's kind, the offset of its base (for a delta), and its data's offset."""
        head = os.pread(self.file, 32 + self.index.size, at)
        kind, end = head[0] >> 4 & 7, 0
        while head[end] & 0x80:  # skip the size, which zlib also knows
            end += 1
        end += 1
        if kind == _BY_OFFSET:
            back = head[end] & 0x7F
            while head[end] & 0x80:
                end += 1
                back = (back + 1) << 7 | head[end] & 0x7F
            return kind, at - back, at + end + 1
        if kind == _BY_HASH:
            after = end + self.index.size
            return kind, self.index.find(head[end:after]), at + after
        return kind, None, at + end


def _inflated(file: int, at: int) -> bytes:
    """Decompresses the data that begins at an offset; raises an error if the data is too long."""
    inflating, data = zlib.decompressobj(), b""
    # also limit the compressed data, because a stream may go on without containing any text
    for _ in range(2 * _MOST_OF_COMMIT // _PIECE):
        if inflating.eof or len(data) > _MOST_OF_COMMIT or not (read := os.pread(file, _PIECE, at)):
            break  # zlib would treat a limit of 0 bytes as no limit
        at += len(read)
        data += inflating.decompress(read, _MOST_OF_COMMIT + 1 - len(data))
    if not inflating.eof:
        raise _UnknownTime
    return data


def _applied(delta: bytes, base: bytes) -> bytes:
    """Applies a delta to its base: copies pieces of the base, and inserts new bytes."""
    made, at = bytearray(), _past_number(delta, _past_number(delta, 0))
    while at < len(delta):
        code, at = delta[at], at + 1
        if code & 0x80:
            numbers = [0] * 7  # up to four bytes for the start of a piece, and three for its length
            for place in range(7):
                if code >> place & 1:
                    numbers[place], at = delta[at], at + 1
            start, count = (int.from_bytes(n, "little") for n in (numbers[:4], numbers[4:]))
            piece = base[start : start + (count or 1 << 16)]
        else:
            piece, at = delta[at : at + code], at + code
        made += piece
        if not piece or len(made) > _MOST_OF_COMMIT:
            raise _UnknownTime
    return bytes(made)


def _past_number(data: bytes, at: int) -> int:
    """Returns the offset that follows a number that is encoded with seven bits in each byte."""
    while data[at] & 0x80:
        at += 1
    return at + 1
