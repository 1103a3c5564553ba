"""Makes a class for the tools in `make soak`, and disturbs the grading of this class in a loop.

Each disturbance affects one grading run. Afterwards, the class is completed with `--resume`: every
submission must then have the same score as in an undisturbed run, an entry in the gradebook, and a
page.
"""

from __future__ import annotations

import contextlib
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from autograder.records import SubmissionResult, SubmissionStatus, Tier
from autograder.results.file import read_results
from autograder.sandbox.doctor import examine

ROOT = Path(__file__).resolve().parents[1]
#: the number of submissions to grade repeatedly, and their assignment
_CLASS, ASSIGNMENT = 6, "simplified_attention"
#: a command that takes longer than this many real seconds is considered endless
MOST_SECONDS = 1_500.0
#: code that runs a command with clocks that jump: the date by a day into the past, and the
#: monotonic clock forward by an hour
_JUMPING = """
import sys, time
real, date = time.monotonic, time.time
at = real() + float(sys.argv.pop(1))
time.monotonic = lambda: real() + 3600 * (real() > at)
time.time = lambda: date() - 86400 * (real() > at)
from autograder.cli import main
main()
"""


class ImpossibleDisturbance(Exception):
    """Raised if a disturbance is impossible on this machine; the text is the reason."""


@dataclass(frozen=True, slots=True)
class UndisturbedRun:
    """The scores of an undisturbed run, and the seconds that it took."""

    scores: dict[str, float]
    seconds: float


#: a function that disturbs a run, completes the class, and returns the problem, or ""
Disturbance = Callable[["ClassFolder", UndisturbedRun, random.Random], str]


def disturb(
    kind: str, disturbances: Mapping[str, Disturbance], count: int, seed: int, first: int = 0
) -> int:
    """Disturbs `count` grading runs, numbered from `first`; returns how many runs have failed."""
    if not count:
        return 0
    with tempfile.TemporaryDirectory() as name:
        class_folder = ClassFolder(Path(name) / "class", Path(name) / "log.txt")
        class_folder.fill(seed)
        whole, tiers, failures = class_folder.whole(), tiers_here(), 0
        print(f"{len(whole.scores)} submissions in {whole.seconds:.0f} s, undisturbed", flush=True)
        for number in range(first, first + count):
            called, act = list(disturbances.items())[number % len(disturbances)]
            place = replace(class_folder, tier=tiers[number % len(tiers)])
            place.clear()
            try:
                problem = act(place, whole, random.Random(f"{seed}/{kind}/{number}"))
                outcome = problem or "same scores, all recorded, all pages"
            except ImpossibleDisturbance as reason:
                problem, outcome = "", f"skipped: {reason}"
            failures += bool(problem)
            print(f"{kind} {number}, tier {place.tier}, {called}: {outcome}", flush=True)
    return failures


def ended(run: subprocess.Popen[bytes], seconds: float = MOST_SECONDS) -> int:
    """Returns a command's exit code; if the command does not end, kills it and returns 124."""
    try:
        return run.wait(seconds)
    except subprocess.TimeoutExpired:
        run.kill()
        run.wait()
        return 124


@dataclass(frozen=True, slots=True)
class ClassFolder:
    """A class that is graded repeatedly."""

    folder: Path
    #: the file with the last command's output
    log: Path
    tier: Tier = Tier.C

    def fill(self, seed: int) -> None:
        """Copies some submissions for one assignment, so that many runs do not take long."""
        examples = sorted((ROOT / "examples" / "submitted").glob(f"*/{ASSIGNMENT}"))
        for work in random.Random(seed).sample(examples, min(_CLASS, len(examples))):
            shutil.copytree(work, self.folder / "submitted" / work.parent.name / work.name)

    def whole(self) -> UndisturbedRun:
        """Returns the scores of an undisturbed run, and the seconds that it took."""
        began = time.monotonic()
        self.grader().wait()
        seconds = time.monotonic() - began
        scores = self.scores()
        if problem := self.unfinished(scores):
            raise RuntimeError(f"undisturbed: {problem}; see {self.log}")
        return UndisturbedRun(scores, seconds)

    def completed(self, whole: UndisturbedRun, may_differ: int = 0) -> str:
        """Completes the grading of a class; returns the problem, or "" if there is none.

        `may_differ` is the number of submissions that may have a different score.
        """
        if code := ended(self.grader()):
            return f"--resume ended with exit code {code}; {self.last_words()}"
        expected, found = whole.scores, self.scores()
        other = sorted(
            (name, score, found.get(name))
            for name, score in expected.items()
            if found.get(name) != score
        )
        if len(other) > may_differ:
            return f"other scores: {other}"
        if left := sorted(str(path) for path in self.folder.rglob(".writing-*")):
            return f"left behind: {left}"
        return self.unfinished(expected)

    def unfinished(self, students: Collection[str]) -> str:
        """Returns a problem if a page or a row in the gradebook is missing, otherwise ""."""
        if code := ended(self.command("feedback", str(self.folder))):
            return f"feedback ended with exit code {code}; {self.last_words()}"
        pages = {
            "/".join(page.relative_to(self.folder / "feedback").parts[:2])
            for page in (self.folder / "feedback").rglob("*.html")
        }
        if missing := set(students) - pages:
            return f"no page: {sorted(missing)}"
        with contextlib.closing(sqlite3.connect(self.folder / "gradebook.db")) as database:
            (count,) = database.execute("select count(*) from submitted_assignment").fetchone()
        return "" if count == len(students) else f"{count} of {len(students)} are in the gradebook"

    def clear(self) -> None:
        """Removes everything except the submissions."""
        for path in self.folder.iterdir():
            if path.name == "submitted":
                continue
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def grader(
        self, *more: str, jump: float | None = None, prefix: Sequence[str] = ()
    ) -> subprocess.Popen[bytes]:
        """Starts `grade --resume`; see `command`."""
        arguments = ["grade", str(self.folder / "submitted"), "--resume", "--jobs", "2", *more]
        arguments += ["--tier", self.tier.value]
        return self.command(*arguments, jump=jump, prefix=prefix)

    def command(
        self, *arguments: str, jump: float | None = None, prefix: Sequence[str] = ()
    ) -> subprocess.Popen[bytes]:
        """Starts a command, preceded by the words in `prefix`, and returns its process.

        If `jump` is given, the command's clocks jump after that many seconds.
        """
        run = ["-m", "autograder"] if jump is None else ["-c", _JUMPING, str(jump)]
        with open(self.log, "wb") as log:
            command = [*prefix, sys.executable, *run, *arguments]
            return subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log)

    def last_words(self) -> str:
        """Returns the end of the last command's output."""
        return self.log.read_text("utf-8", "replace")[-3000:]

    def results(self) -> list[SubmissionResult]:
        return read_results(self.folder / "results.jsonl")

    def scores(self) -> dict[str, float]:
        """Returns the scores of the graded submissions."""
        graded = (r for r in self.results() if r.status is SubmissionStatus.GRADED)
        return {f"{r.student}/{r.assignment}": r.score for r in graded}


def tiers_here() -> list[Tier]:
    """Returns the isolation tiers that work on this machine."""
    return [tier for tier in (Tier.A, Tier.B, Tier.C) if examine(tier).works]


def children(pid: int) -> list[int]:
    """Returns the processes that a process has started, and that have not ended."""
    try:
        return list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))
    except OSError:
        return []
