"""Provides a class of attackers, graded once in each sandbox tier, and snapshots of its files."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import socket
import sys
import tempfile
import textwrap
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from autograder.course import TABLES, load_course
from autograder.grading.run import grade_class
from autograder.grading.sources import RunOptions
from autograder.grading.suite_engine import SuiteEngine
from autograder.records import SubmissionResult, Tier
from autograder.sandbox import ForkServer
from autograder.sandbox.doctor import examine

from ..grading_runs import Results
from ..tiers import without_tier

HERE = Path(__file__).resolve().parent
COURSE = HERE / "course"
SOLUTIONS = COURSE / "solutions" / "walled"
#: the text in the name of every file that an attack leaves behind
MARK = "left_by_attack"
collect_ignore = ["course"]


@dataclass(frozen=True, slots=True)
class Attack:
    """One case in the corpus; see `corpus/README.md`."""

    kind: str
    name: str
    verdict: str | Sequence[str]
    others: str | Mapping[str, str] = "correct"
    question: str = "target"
    body: str = ""
    attempt: str = ""
    code: str = ""
    special: str = ""
    files: Mapping[str, str] | None = None
    waits: bool = False

    def allows(self, question: str, verdict: str) -> bool:
        """Returns whether a question in the attacked module may have this verdict."""
        if question == self.question:
            return verdict in ([self.verdict] if isinstance(self.verdict, str) else self.verdict)
        if isinstance(self.others, str):
            return verdict == self.others
        return verdict == self.others.get(question, "correct")

    @property
    def text(self) -> str:
        """The submitted module's source."""
        body = self.body or (f"{self.attempt}\nreturn x * 2" if self.attempt else "")
        function = f"def target(x):\n{textwrap.indent(body.strip(), '    ')}\n" if body else ""
        return f"{(SOLUTIONS / 'attacked.py').read_text()}\n\n{function or self.code}"


def _attacks() -> list[Attack]:
    return [
        Attack(kind=path.stem, name=name, **table)
        for path in sorted((HERE / "corpus").glob("*.toml"))
        for name, table in tomllib.loads(path.read_text(encoding="utf-8")).items()
    ]


ATTACKS = _attacks()
#: the kinds of attacks that run in every tier; the others run only in tier A
_OF_THE_WALL = ("dying", "forging", "leaving", "reaching", "resources", "snooping")


def attacks_in(tier: Tier) -> list[Attack]:
    """Returns the attacks that are tried in a tier."""
    if tier is Tier.A:
        return ATTACKS
    return [a for a in ATTACKS if a.kind in _OF_THE_WALL and not a.waits]


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        here = os.open(path.parent, os.O_PATH)  # the name of a socket has at most 107 bytes
        server.bind(f"/proc/self/fd/{here}/{path.name}")
        os.close(here)


def _giant(path: Path) -> None:
    with open(path, "wb") as file:
        file.truncate(1 << 40)


def _device(path: Path) -> None:
    try:
        os.mknod(path, 0o020666, os.makedev(1, 5))
    except PermissionError:
        path.symlink_to("/dev/zero")


#: functions that create a submitted file that is not text, by the name used in the corpus
SPECIAL: dict[str, Callable[[Path], object]] = {
    "link": lambda path: path.symlink_to(SOLUTIONS / "attacked.py"),
    "loop": lambda path: path.symlink_to(path),
    "folder": lambda path: path.mkdir(),
    "fifo": os.mkfifo,
    "socket": _socket,
    "device": _device,
    "giant": _giant,
    "zeros": lambda path: path.write_bytes(bytes(100_000)),
    "deep": lambda path: path.write_text("x = " + "-" * 500_000 + "1"),
    "brackets": lambda path: path.write_text("x = " + "(" * 100_000),
    "chain": lambda path: path.write_text("x = y" + ".a" * 100_000),
    "sum": lambda path: path.write_text("def target(x):\n    return x" + " + 1" * 100_000),
    "coding": lambda path: path.write_bytes(b"# coding: rot13\nimport torch\n"),
    "definitions": lambda path: path.write_text(
        (SOLUTIONS / "attacked.py").read_text() + "\n" + "a = 1\n" * 3_000
    ),
}


class Sandboxed:
    """A class in a folder that everybody can read, so that only the sandbox stops attackers."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "course"
        self.submitted = folder / "submitted"
        self.results = folder / "results.jsonl"
        shutil.copytree(COURSE, self.root)
        (self.root / TABLES).mkdir(parents=True)
        self.submitted.mkdir()
        self.results.write_text("")

    def submit(self, student: str) -> Path:
        """Submits correct answers as this student; returns the folder."""
        place = self.submitted / student / "walled"
        shutil.copytree(SOLUTIONS, place)
        with open(place / "attacked.py", "a") as file:
            file.write("\n# honest" + "neighbour\n")
        return place

    def attack(self, attack: Attack) -> None:
        place = self.submit(attack.name)
        module = place / "attacked.py"
        for name, text in (attack.files or {}).items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(text)
        if attack.special:
            module.unlink()
            SPECIAL[attack.special](module)
            return
        text = attack.text
        for name in ("root", "submitted", "results"):
            text = text.replace("{" + name + "!r}", repr(str(getattr(self, name))))
        module.write_text(text)

    def grade(self, parent: ForkServer, jobs: int = 3) -> dict[str, SubmissionResult]:
        """Grades the class without writing compiled files; returns the results by student."""
        options = RunOptions(submitted=self.submitted, results=self.results, jobs=jobs)
        keeps, sys.dont_write_bytecode = sys.dont_write_bytecode, True
        engine = SuiteEngine(load_course(self.root), lambda tier: contextlib.nullcontext(parent))
        events = Results()
        try:
            grade_class([engine], options, events)
        finally:
            sys.dont_write_bytecode = keeps
        return {result.student: result for result in events.results}

    def state(self) -> dict[str, tuple[int, int, float]]:
        """Returns the mode, size and time of every file that grading must not change."""
        found = {}
        tables = self.root / TABLES
        for path in [*self.root.rglob("*"), *self.submitted.rglob("*")]:
            if path == tables or (path.parent == tables and path.match("attacked-*.npz")):
                continue
            facts = path.lstat()
            found[str(path)] = (facts.st_mode, facts.st_size, facts.st_mtime)
        return found


@pytest.fixture(scope="session")
def new_class() -> Iterator[Callable[[], Sandboxed]]:
    """Returns a function that makes an empty class; all classes are removed at the end."""
    folders: list[str] = []

    def make() -> Sandboxed:
        folders.append(tempfile.mkdtemp(prefix="walled-"))
        os.chmod(folders[-1], 0o755)
        return Sandboxed(Path(folders[-1]))

    yield make
    for folder in folders:
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def parent_of() -> Iterator[Callable[[Tier], ForkServer]]:
    """Returns a function that starts a tier's fork server, or skips the test and says why."""
    running: dict[Tier, ForkServer] = {}
    found = functools.cache(examine)

    def start(tier: Tier) -> ForkServer:
        if tier not in running:
            finding = found(tier)
            if not finding.works:
                without_tier(tier, finding.reason)
            running[tier] = ForkServer(tier)
            running[tier].wait_until_ready()
        return running[tier]

    yield start
    for parent in running.values():
        parent.close()


@dataclass(frozen=True, slots=True)
class Graded:
    """A graded class of attackers, with the state of its files before and after grading."""

    results: dict[str, SubmissionResult]
    honest: tuple[str, ...]
    before: Any
    after: Any
    place: Sandboxed


@pytest.fixture(scope="session")
def graded(
    new_class: Callable[[], Sandboxed], parent_of: Callable[[Tier], ForkServer]
) -> Callable[[Tier], Graded]:
    """Returns a function that grades a class in a tier, but only once for each tier."""
    done: dict[Tier, Graded] = {}

    def grade(tier: Tier) -> Graded:
        if tier not in done:
            parent = parent_of(tier)
            place = new_class()
            chosen = attacks_in(tier)
            for attack in chosen:
                place.attack(attack)
            # sorted by name, so that an honest student is graded after every few attackers
            honest = tuple(sorted(a.name for a in chosen)[::10])
            for name in honest:
                place.submit(f"{name}~honest")
            before = place.state()
            results = place.grade(parent)
            honest = tuple(f"{name}~honest" for name in honest)
            done[tier] = Graded(results, honest, before, place.state(), place)
        return done[tier]

    return grade
