"""Opens submitted files, which no other module does, and defines limits on their contents.

Links are not followed. The limits are far higher than people need (torch's largest module has
15,000 lines and 145,000 tokens), yet a file within the limits can be read in a few seconds and with
less than a gigabyte of memory. This module also notices whether files change while they are graded.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from ..errors import SubmissionError

#: the most bytes in a module, and the most characters in all code cells of a notebook
MAX_CODE = 2 << 20
#: the most bytes in a notebook, whose outputs may contain large pictures
MAX_NOTEBOOK_BYTES = 100 << 20
#: the most files, and the most bytes in all files, in a submission's folder or in an uploaded
#: archive
MAX_FILES, MAX_SUBMISSION_BYTES = 1_000, 200 << 20
#: the most words, numbers, symbols and line endings in all of a file's code
MAX_TOKENS = 200_000
#: the most functions, classes and lambdas in a file; Python's compiler compares each with all
#: others
MAX_DEFINITIONS = 5_000
MAX_CELLS = 20_000
#: the most bytes of memory for a notebook's JSON, and how many bytes each of these characters may
#: cost
_MOST_MEMORY = 1_000 << 20
_MEMORY_OF = {"{": 250, "[": 100, ",": 90}

#: A comment or a string is one token, as in Python's own tokenizer.
_TOKEN = re.compile(
    r'''#[^\r\n]*|"""(?:[^"\\]++|\\.|"(?!""))*+"""|'{3}(?:[^'\\]++|\\.|'(?!''))*+'{3}'''
    r"""|"(?:[^"\\\r\n]++|\\.)*+"?+|'(?:[^'\\\r\n]++|\\.)*+'?+|\w+|[^\w\s]|\r\n?|\n""",
    re.DOTALL,
)
_DEFINITION = re.compile(r"\b(?:def|class|lambda)\b")
#: flags to read raw bytes and, if the system supports it, to refuse links, not to wait for a pipe,
#: and not to pass the descriptor on to children
_READ = os.O_RDONLY
for _flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):
    _READ |= getattr(os, _flag, 0)


def is_regular(path: Path) -> bool:
    """Returns whether a path is a regular file, not a folder, a link, a pipe or a device."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except (OSError, ValueError):  # nonexistent, or not valid as a file name
        return False


def read_bytes(path: Path, limit: int) -> bytes:
    """Returns up to `limit` bytes of a regular file; raises `SubmissionError` for other files."""
    try:
        descriptor = os.open(path, _READ)
    except (OSError, ValueError) as error:
        if path.is_symlink():
            raise SubmissionError("is not a regular file but a link; submit the file") from error
        raise SubmissionError(f"can't be read ({error}); upload it again") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise SubmissionError("is not a regular file; submit the file itself")
    with os.fdopen(descriptor, "rb") as file:
        return file.read(limit)


#: facts about each file that are known without reading it, or None if the file does not exist
Stamps = tuple[tuple[int, ...] | None, ...]


def stamps_of(paths: Iterable[Path]) -> Stamps:
    """Returns values that change when one of the files is written, replaced, moved or renamed.

    A digest would not show that a file was replaced for a moment and put back.
    """
    return tuple(map(_stamp, paths))


def require_unchanged(folder: Path, before: object, after: object) -> None:
    """Raises `SubmissionError` if a submission's files have changed."""
    if before != after:
        raise SubmissionError(
            f"{folder}: files were changed or moved while they were graded; grade again with "
            "--resume when nothing is writing to them"
        )


def _stamp(path: Path) -> tuple[int, ...] | None:
    try:
        state = os.lstat(path)
    except (OSError, ValueError):
        return None
    return state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns


def check_code(sources: Sequence[str]) -> None:
    """Raises `SubmissionError` if there is more code than anyone would write in one file."""
    if sum(map(len, sources)) > MAX_CODE:
        raise _too_much(f"{MAX_CODE >> 20} MB of code")
    # an f-string counts as one token, but has code between its braces
    if sum(_count(_TOKEN, source) + source.count("{") for source in sources) > MAX_TOKENS:
        raise _too_much(f"{MAX_TOKENS:,} words and symbols of code")
    if sum(_count(_DEFINITION, source) for source in sources) > MAX_DEFINITIONS:
        raise _too_much(f"{MAX_DEFINITIONS:,} functions and classes")


def is_notebook(data: bytes) -> bool:
    """Returns whether a file is a notebook, judging by its contents."""
    return data.lstrip()[:1] == b"{" and b'"cells"' in data


def check_cells(count: int) -> None:
    """Raises `SubmissionError` if there are more cells than anyone would write in one notebook."""
    if count > MAX_CELLS:
        raise _too_much(f"{MAX_CELLS:,} cells")


def check_json(data: bytes, text: str) -> None:
    """Raises `SubmissionError` if reading a notebook would take too much memory.

    `text` is the decoded `data`. The estimate assumes the worst case: a single wide character makes
    every character of its string take as much memory, and one string may be as long as the whole
    text.
    """
    values = sum(size * text.count(sign) for sign, size in _MEMORY_OF.items())
    if len(data) + 2 * sys.getsizeof(text) + values > _MOST_MEMORY:
        raise SubmissionError("takes too much memory to read; clear all outputs and save it")


def _too_much(what: str) -> SubmissionError:
    return SubmissionError(f"contains more than {what}; submit your own code only")


def _count(pattern: re.Pattern[str], text: str) -> int:
    return sum(1 for _ in pattern.finditer(text))
