"""Feeds random files to all code that reads submissions, and measures time and memory.

A child process reads the files. The CPU time for each reading and the peak memory for each file are
measured. A file counts as a failure if reading it ends the child, causes an exception, or exceeds
the limits below.
"""

from __future__ import annotations

import ast
import contextlib
import gc
import multiprocessing
import shutil
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

from autograder.collecting import collect
from autograder.errors import UserError
from autograder.records import Exercise, ExerciseStatus, Question
from autograder.submission import read_exercise
from autograder.submission.code import read_code
from autograder.submission.read import submission_digest
from tools.soak_inputs import DrawnInput, drawn

#: the limits for one reading of a file, which is also read for the gradebook and for pages
MOST_CPU_SECONDS, MOST_BYTES = 2.0, 1 << 30
#: how many files a child reads before a new child replaces it
_AT_ONCE = 500
_fork = multiprocessing.get_context("fork")
_QUESTIONS = (Question("f", False, 1), Question("A", True, 2))


@dataclass(frozen=True, slots=True)
class FileResult:
    """The results for a file: CPU seconds for the longest reading, peak memory, and any problem."""

    number: int
    kind: str
    seconds: float
    memory: int
    problem: str = ""


@dataclass(slots=True)
class FileResults:
    """The results for all files so far."""

    kinds: Counter[str] = field(default_factory=Counter)
    slowest: FileResult = FileResult(-1, "", 0.0, 0)
    largest: FileResult = FileResult(-1, "", 0.0, 0)
    failures: int = 0

    def add(self, read: FileResult) -> None:
        self.kinds[read.kind] += 1
        self.slowest = max(self.slowest, read, key=lambda r: r.seconds)
        self.largest = max(self.largest, read, key=lambda r: r.memory)
        problem = read.problem or _too_much(read)
        if problem:
            self.failures += 1
            print(f"input {read.number}, a {read.kind}: {problem}", flush=True)

    def __str__(self) -> str:
        kinds = ", ".join(f"{count} {kind}s" for kind, count in sorted(self.kinds.items()))
        return (
            f"{self.kinds.total()} files read ({kinds}), {self.failures} failed; at most "
            f"{self.slowest.seconds:.2f} s of CPU (input {self.slowest.number}) and "
            f"{self.largest.memory / 2**20:.0f} MiB (input {self.largest.number})"
        )


def _too_much(read: FileResult) -> str:
    if read.seconds > MOST_CPU_SECONDS:
        return f"took {read.seconds:.2f} s of CPU time"
    return f"took {read.memory >> 20} MiB" if read.memory > MOST_BYTES else ""


def feed(count: int, seed: int, first: int = 0) -> int:
    """Reads `count` files, numbered from `first`; returns the number of files that have failed."""
    seen = FileResults()
    for start in range(first, first + count, _AT_ONCE):
        for read in _chunk(seed, start, min(_AT_ONCE, first + count - start)):
            seen.add(read)
            if not seen.kinds.total() % 5_000:
                print(seen, flush=True)
    print(seen, flush=True)
    return seen.failures


def _chunk(seed: int, start: int, count: int) -> Iterator[FileResult]:
    """Yields the results for some files; if one makes the child exit, a new one reads the rest."""
    at, end = start, start + count
    while at < end:
        near, far = _fork.Pipe(duplex=False)
        child = _fork.Process(target=_read_all, args=(seed, range(at, end), far), daemon=True)
        child.start()
        far.close()
        with contextlib.suppress(EOFError):
            while at < end:
                yield near.recv()
                at += 1
        child.join()
        if at < end:
            yield FileResult(at, "file", 0.0, 0, f"ended its reader with status {child.exitcode}")
            at += 1


def _read_all(seed: int, numbers: range, pipe: Connection) -> None:
    warnings.simplefilter("ignore")  # duplicate names in archives, and odd code, cause warnings
    gc.freeze()  # code is never garbage; searching it takes longer than reading a file
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for number in numbers:
            pipe.send(_measured(place, number, drawn(seed, number)))


def _measured(place: Path, number: int, file: DrawnInput) -> FileResult:
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # reset the peak
    before, costs, problem = _memory("VmRSS"), [0.0], ""
    try:
        with contextlib.closing(_READERS[file.kind](place, file.data)) as reads:
            for read in reads:
                seconds = time.process_time()
                read()
                costs.append(time.process_time() - seconds)
    except Exception:
        problem = traceback.format_exc()
    return FileResult(number, file.kind, max(costs), _memory("VmHWM") - before, problem)


def _memory(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) << 10
    raise LookupError(name)


def _of_module(place: Path, data: bytes) -> Generator[Callable[[], object]]:
    yield from _of_file(place, "e.py", data)


def _of_notebook(place: Path, data: bytes) -> Generator[Callable[[], object]]:
    yield from _of_file(place, "e.ipynb", data)


def _of_file(place: Path, name: str, data: bytes) -> Generator[Callable[[], object]]:
    """Yields the operations in which the grader and its tools read a submitted file."""
    folder = place / "submitted"
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(data)
    exercise = Exercise("a", "e", _QUESTIONS, *(place / f"{n}.py" for n in "smhpt"))
    try:
        yield lambda: _graded(folder, exercise)
        yield lambda: submission_digest(folder, [exercise])
        yield lambda: read_code(folder, name)
    finally:
        shutil.rmtree(folder)


def _graded(folder: Path, exercise: Exercise) -> None:
    answers = read_exercise(folder, exercise)
    assert answers.status in (ExerciseStatus.GRADED, ExerciseStatus.UNREADABLE)
    ast.parse(answers.text)  # a worker compiles statements one by one


def _of_archive(place: Path, data: bytes) -> Generator[Callable[[], object]]:
    yield lambda: _collected(place, data)


def _collected(place: Path, data: bytes) -> None:
    path, submitted = place / "submissions.zip", place / "class" / "submitted"
    path.write_bytes(data)
    with contextlib.suppress(UserError):  # nobody owns the files
        collect([path], submitted, {"a": ["e"], "b": ["e", "x"]})
    path.unlink()
    left = {entry.name for entry in place.iterdir()}
    assert left <= {"class"}, f"{left} outside of the class"
    links = [entry for entry in place.rglob("*") if entry.is_symlink()]
    assert not links, f"links in the class: {links}"
    shutil.rmtree(place / "class", ignore_errors=True)


_READERS = {"module": _of_module, "notebook": _of_notebook, "archive": _of_archive}
