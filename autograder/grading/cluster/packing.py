"""Converts submissions to bytes and back, in a format that can be read without executing code."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ...errors import SubmissionError
from ...records import Assignment
from ...submission.opened import MAX_NOTEBOOK_BYTES, read_bytes

#: the maximum number of entries in a folder that are packed in addition to the exercises' files;
#: `submission.intake` reads the same number
_MOST_ENTRIES = 200
_LOOK_INTO = 1 << 20
#: the maximum total size, in bytes, of the other files that are packed
_MOST_OTHERS = 64 << 20

Document = dict[str, Any]


def pack(folder: Path, assignment: Assignment) -> Document:
    """Returns the entries in a submission's folder, with the bytes that a grader would read."""
    counting = {f"{e.name}{suffix}" for e in assignment.exercises for suffix in (".py", ".ipynb")}
    left = _MOST_OTHERS
    entries = []
    for path in _paths(folder, counting):
        kind, data = _kind(path), b""
        counts = path.parent == folder and path.name in counting
        if kind == "file":
            try:
                data = read_bytes(path, MAX_NOTEBOOK_BYTES if counts else min(left, _LOOK_INTO))
            except SubmissionError:
                kind = "closed"
            left -= 0 if counts else len(data)
        entries.append([str(path.relative_to(folder)), kind, base64.b64encode(data).decode()])
    return {"assignment": assignment.name, "entries": entries}


def unpack(document: Document, folder: Path) -> None:
    """Creates a folder from entries; links have no target, because graders don't follow links."""
    folder.mkdir(parents=True)
    for name, kind, data in document["entries"]:
        path = folder / name
        if kind == "folder":
            path.mkdir()
        elif kind == "file":
            path.write_bytes(base64.b64decode(data))
        elif kind == "closed":
            path.touch(mode=0)
        elif kind == "link":
            path.symlink_to("nowhere")
        else:
            os.mkfifo(path)


def encode(documents: Sequence[Document]) -> bytes:
    return json.dumps(documents).encode()


def decode(data: bytes) -> list[Document]:
    documents: list[Document] = json.loads(data)
    return documents


def _paths(folder: Path, counting: set[str]) -> Iterator[Path]:
    """Yields the paths in a submission's folder and in its direct subfolders, up to a limit."""
    names = sorted(os.listdir(folder))
    chosen = {*names[:_MOST_ENTRIES], *(counting & set(names))}
    for name in sorted(chosen):
        path = folder / name
        yield path
        if _kind(path) == "folder":
            with contextlib.suppress(OSError):  # skip the contents of folders that can't be listed
                yield from (path / inner for inner in sorted(os.listdir(path))[:_MOST_ENTRIES])


def _kind(path: Path) -> str:
    mode = os.lstat(path).st_mode
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "folder"
    return "link" if stat.S_ISLNK(mode) else "other"
