"""What known mistakes answer, kept on disk: found out once for a suite, on whatever run.

One line for each test of a mistake: its key and the answer, both as JSON, each before a tab. Lines
are appended by one process at a time, which then knows what the others found; some at a time, so
that a process that is killed in the middle leaves what it found to the next one. A line that is
broken, or of another form, is as good as none. Tables that nobody uses any more are removed.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from .answered import Answered, Call

#: a table that grew larger than this is not read
_MOST_BYTES = 256 << 20
#: answers that are kept at a time
_AT_ONCE = 64
#: seconds that another process is waited for; it may have been stopped, or compute for long
_WAITED, _PAUSE = 20.0, 0.02
#: tables of one question that are kept, and for how long those that are not used are
_KEPT, _DAYS = 3, 30
_DAY = 86400.0

#: mistake, test, and for the how-many-eth time it was asked
Key = tuple[str, str, int]


def cache_folder() -> Path:
    """Where tables are kept: `$XDG_CACHE_HOME/autograder`, by default below `~/.cache`."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    home = Path(base) if os.path.isabs(base) else Path.home() / ".cache"
    return home / "autograder" / "mistakes"


class Table:
    """The answers of one question's mistakes; without a file it is kept in memory only.

    `holds` says whether what the answers depend on still stands; else nothing more is kept.
    """

    def __init__(self, path: Path | None, holds: Callable[[], bool] = lambda: True) -> None:
        self._path = path
        self._holds = holds
        self._read_to, self._patience = 0, _WAITED
        #: each answer as its line has it, until it is asked for: of most nobody asks
        self._lines: dict[bytes, bytes] = {}
        self._answers: dict[Key, tuple[Answered, bool]] = {}
        self._new: list[bytes] = []
        self._file: IO[bytes] | None = None

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """No other process has the table; what it found is known before, what is new kept after.

        A folder that can't be written, or a process that does not let go, costs time later, and
        nothing else.
        """
        with contextlib.ExitStack() as stack:
            self._file = self._opened(stack)
            try:
                yield
            finally:
                self._append()
                self._file = None

    def get(self, key: Key) -> tuple[Answered, bool] | None:
        """What was answered, and whether random numbers were drawn; None if it was never asked."""
        if key not in self._answers:
            try:
                random, answer = json.loads(self._lines.pop(_text_of(key)))
                self._answers[key] = _record(answer), bool(random)
            except (KeyError, ValueError, TypeError):
                return None
        return self._answers[key]

    def put(self, key: Key, answer: Answered, random: bool) -> None:
        """Remembers an answer, which is kept at the latest when the table is let go."""
        self._answers[key] = answer, random
        line = json.dumps([random, _plain(answer)]).encode()
        self._new.append(_text_of(key) + b"\t" + line + b"\t\n")
        if len(self._new) >= _AT_ONCE:
            self._append()

    def _opened(self, stack: contextlib.ExitStack) -> IO[bytes] | None:
        """The file, read to its end, if nobody else has it now; without it nothing is kept."""
        if self._path is None:
            return None
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            file = stack.enter_context(self._path.open("a+b", buffering=0))
            if not self._read_to:
                _clear(self._path)
            locked = _locked(file, self._patience)
            self._patience = _WAITED if locked else 0.0  # who does not let go is waited for once
            self._read(file)
        except OSError:
            self._path = None
            return None
        return file if locked else None

    def _read(self, file: IO[bytes]) -> None:
        """Takes the lines that were not read yet; the last one may still be written."""
        size = os.fstat(file.fileno()).st_size
        if not self._read_to < size <= _MOST_BYTES:
            return
        data = os.pread(file.fileno(), size - self._read_to, self._read_to)
        whole, _, rest = data.rpartition(b"\n")
        for line in whole.split(b"\n"):
            key, *answer = line.split(b"\t")
            if len(answer) == 2:  # else it has no end: its writer was killed
                self._lines[key] = answer[0]
        self._read_to = size - len(rest)

    def _append(self) -> None:
        if self._file is None or not self._new or not self._holds():
            return
        data = b"".join(self._new)
        self._new = []
        try:  # the line end is for one that a writer before may have left without
            self._file.write(b"\n" + data)
            self._read_to = os.fstat(self._file.fileno()).st_size
        except OSError:
            self._path = self._file = None


def _locked(file: IO[bytes], seconds: float) -> bool:
    """Whether nobody else has the file, or lets it go in time."""
    end = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end:
                return False
            time.sleep(_PAUSE)
        else:
            return True


def _clear(path: Path) -> None:
    """Marks a table as used; removes those that are not, and all but the last of its question."""
    question = path.name.rpartition("-")[0]
    with contextlib.suppress(OSError):  # another process may do the same
        os.utime(path)
        tables = {other: other.stat().st_mtime for other in path.parent.glob("*.tsv")}
        mine = [other for other in tables if other.name.rpartition("-")[0] == question]
        mine.sort(key=lambda other: tables[other], reverse=True)
        unused = {other for other, at in tables.items() if at < time.time() - _DAYS * _DAY}
        for other in unused.union(mine[_KEPT:]) - {path}:
            other.unlink(missing_ok=True)


def _text_of(key: Key) -> bytes:
    return json.dumps(key).encode()


def _plain(answer: Answered) -> list[Any]:
    calls = [
        [
            *(call.operation, call.raised, call.form),
            *(_short(call.figures, 10), _short(call.bounds, 3), _short(call.shares, 6)),
        ]
        for call in answer.calls
    ]
    return [answer.words, calls]


def _short(figures: Sequence[float], digits: int) -> list[float]:
    """More digits than rounding leaves would make a large file."""
    return [float(f"{figure:.{digits}g}") for figure in figures]


def _record(plain: Any) -> Answered:
    words, calls = plain
    return Answered(tuple(map(_call, calls)), str(words))


def _call(plain: Any) -> Call:
    operation, raised, form, *numbers = plain
    figures, bounds, shares = (tuple(map(float, row)) for row in numbers)
    if len(figures) != len(bounds):
        raise ValueError("each figure has a bound")
    return Call(str(operation), str(raised), str(form), figures, bounds, shares)
