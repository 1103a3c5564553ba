"""Disturbs runs of the grader at random moments; whatever happens, no neighbour may notice.

A victim (the grader, a job, the parent of workers, a worker) is killed, interrupted or stopped, or
the grader's clocks jump. Afterwards every submission is graded, recorded in the gradebook and has a
page, with the scores of a run that nobody disturbed. Only the submission whose worker was the
victim may have lost points: from outside that can't be told from what its code did.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from autograder.records import SubmissionResult, SubmissionStatus, Tier
from autograder.results.file import read_results
from autograder.sandbox import examine

ROOT = Path(__file__).resolve().parents[1]
#: submissions that are graded again and again
_CLASS, ASSIGNMENT = 6, "simplified_attention"
#: so long a grader is stopped before it goes on, and a victim is looked for
_STOPPED_SECONDS, _LOOK_SECONDS = 5.0, 3.0
#: runs the command with clocks that jump: the date back by a day, the other one on by an hour
_JUMPING = """
import sys, time
real, date = time.monotonic, time.time
at = real() + float(sys.argv.pop(1))
time.monotonic = lambda: real() + 3600 * (real() > at)
time.time = lambda: date() - 86400 * (real() > at)
from autograder.cli import main
main()
"""


@dataclass(frozen=True, slots=True)
class Blow:
    """What is done to whom."""

    victim: str
    signal: signal.Signals | None

    def __str__(self) -> str:
        return f"{self.signal.name} of a {self.victim}" if self.signal else "jump of the clocks"

    @property
    def costs(self) -> int:
        """How many submissions may have another score: that of the worker which was hit."""
        return 1 if self.victim == "worker" else 0


BLOWS = (
    *(Blow("grader", s) for s in (signal.SIGKILL, signal.SIGINT, signal.SIGSTOP, signal.SIGTERM)),
    Blow("grader", None),
    *(
        Blow(victim, s)
        for victim in ("job", "parent", "worker")
        for s in (signal.SIGKILL, signal.SIGINT, signal.SIGSTOP)
    ),
)


def kill(count: int, seed: int, first: int = 0) -> int:
    """Strikes that many blows, beginning with one of that number; returns how many were noticed."""
    if not count:
        return 0
    with tempfile.TemporaryDirectory() as name:
        class_folder = ClassFolder(Path(name) / "class", Path(name) / "log.txt")
        class_folder.fill(seed)
        whole, seconds = class_folder.whole()
        print(f"{len(whole)} submissions in {seconds:.0f} s, uninterrupted", flush=True)
        failures, tiers = 0, tiers_here()
        for number in range(first, first + count):
            blow, tier = BLOWS[number % len(BLOWS)], tiers[number % len(tiers)]
            delay = random.Random(f"{seed}/kill/{number}").uniform(0, seconds)
            problem = replace(class_folder, tier=tier).struck(blow, delay, whole)
            failures += bool(problem)
            said = problem or "same scores, all recorded, all pages"
            print(f"blow {number}, tier {tier}, {blow} after {delay:.1f} s: {said}", flush=True)
    return failures


@dataclass(frozen=True, slots=True)
class ClassFolder:
    """A class that is graded again and again."""

    folder: Path
    #: where the last command prints to
    log: Path
    tier: Tier = Tier.C

    def fill(self, seed: int) -> None:
        """Takes some of the example class: of one assignment, so that there is time for many."""
        examples = sorted((ROOT / "examples" / "submitted").glob(f"*/{ASSIGNMENT}"))
        for work in random.Random(seed).sample(examples, min(_CLASS, len(examples))):
            shutil.copytree(work, self.folder / "submitted" / work.parent.name / work.name)

    def whole(self) -> tuple[dict[str, float], float]:
        """The scores of a run that nobody disturbs, and its seconds."""
        began = time.monotonic()
        self.grader().wait()
        seconds = time.monotonic() - began
        scores = self.scores()
        if problem := self.unfinished(scores):
            raise RuntimeError(f"without any blow: {problem}; see {self.log}")
        return scores, seconds

    def struck(self, blow: Blow, delay: float, whole: dict[str, float]) -> str:
        """What was wrong after a blow and, where it ended the run, a second one; else empty."""
        self.clear()
        grader = self.grader(jump=None if blow.signal else delay)
        hit = blow.signal is None or self._strike(grader, blow, delay)
        code = grader.wait()
        if blow.victim != "grader" and code not in (0, 2):
            return f"the run ended with exit code {code}"
        if code:
            code = self.grader().wait()
        if code:
            return f"the run with --resume ended with exit code {code}"
        found = self.scores()
        other = {name for name, score in whole.items() if found.get(name) != score}
        if len(other) > (blow.costs if hit else 0):
            return f"other scores: {sorted((n, whole[n], found.get(n)) for n in other)}"
        return self.unfinished(whole)

    def _strike(self, grader: subprocess.Popen[bytes], blow: Blow, delay: float) -> bool:
        """Whether there was a victim."""
        assert blow.signal is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            grader.wait(delay)
        end = time.monotonic() + _LOOK_SECONDS
        while grader.poll() is None and time.monotonic() < end:
            for pid in _victims(grader.pid, blow.victim, self.tier):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, blow.signal)
                    if blow.signal is signal.SIGSTOP and blow.victim == "grader":
                        time.sleep(_STOPPED_SECONDS)
                        os.kill(pid, signal.SIGCONT)
                    return True
            time.sleep(0.005)
        return False

    def unfinished(self, whole: dict[str, float]) -> str:
        """Who is not recorded or has no page after `autograder feedback`."""
        run = self.command("feedback", str(self.folder)).wait()
        if run:
            return f"feedback ended with exit code {run}"
        pages = {
            "/".join(page.relative_to(self.folder / "feedback").parts[:2])
            for page in (self.folder / "feedback").rglob("*.html")
        }
        if missing := set(whole) - pages:
            return f"no page: {sorted(missing)}"
        with contextlib.closing(sqlite3.connect(self.folder / "gradebook.db")) as database:
            (count,) = database.execute("select count(*) from submitted_assignment").fetchone()
        return "" if count == len(whole) else f"{count} of {len(whole)} are in the gradebook"

    def clear(self) -> None:
        """Removes all but the submissions."""
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
        """Starts a command, with clocks that jump after some seconds, or by another program."""
        run = ["-m", "autograder"] if jump is None else ["-c", _JUMPING, str(jump)]
        with open(self.log, "wb") as log:
            command = [*prefix, sys.executable, *run, *arguments]
            return subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log)

    def last_words(self) -> str:
        """The end of what the last command printed."""
        return self.log.read_text("utf-8", "replace")[-3000:]

    def results(self) -> list[SubmissionResult]:
        """The last result of each submission."""
        return read_results(self.folder / "results.jsonl")

    def scores(self) -> dict[str, float]:
        """The scores of the submissions that are graded."""
        graded = (r for r in self.results() if r.status is SubmissionStatus.GRADED)
        return {f"{r.student}/{r.assignment}": r.score for r in graded}


def tiers_here() -> list[Tier]:
    """The isolation tiers that work on this machine."""
    return [tier for tier in (Tier.A, Tier.B, Tier.C) if examine(tier).works]


def _victims(grader: int, kind: str, tier: Tier) -> Iterator[int]:
    """Processes of a kind, the likeliest first."""
    below = children(grader)
    jobs = [pid for pid in below if _command_of(pid) == _command_of(grader)]
    parents = [pid for pid in below if pid not in jobs]
    if kind == "grader":
        yield grader
    elif kind == "job":
        yield from jobs
    elif kind == "parent":
        yield from parents
    else:  # below the parent are, in A and B, the namespace's first process and the fork server
        waiting = {Tier.A: 4, Tier.B: 2}.get(tier, 0)
        every = [pid for parent in parents for pid in _below(parent)]
        yield from reversed(sorted(every)[waiting:])


def _below(pid: int) -> list[int]:
    return [found for child in children(pid) for found in (child, *_below(child))]


def children(pid: int) -> list[int]:
    """The processes that one has started and that have not ended."""
    try:
        return list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))
    except OSError:
        return []


def _command_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
