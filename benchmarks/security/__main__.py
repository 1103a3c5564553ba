"""Compares how nbgrader, otter-grader and this grader handle the same attacks and accidents.

    make bench-security

In every case, a class has two submissions: the attack or accident, which is graded first, and an
honest student's work. All three graders get the same notebooks. A grader passes if the attack or
accident gets the points that a fair person would give, and the honest student gets all points.
otter-grader is run as `otter run`. `otter grade` would run each submission in a container, which
would protect the machine and other students, but would not change anything else. Exits with status
1 if this grader does not pass in every case.
"""

from __future__ import annotations

import argparse
import json
import socket
import sys
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from .cases import ACCIDENTS, ATTACKS, CONTROL, HONEST, POINTS, Case
from .graders import (
    ASSIGNMENT,
    EXERCISE,
    OTTER,
    GraderHangs,
    Scores,
    by_nbgrader,
    by_otter,
    by_ours,
    copy_course,
    nbgrader_course,
    run,
)

#: the case is graded first
CASE, HONEST_STUDENT = "mallory", "zoe"
GRADERS: dict[str, Callable[[Path], Scores]] = {
    "nbgrader": by_nbgrader,
    "otter": by_otter,
    "ours": by_ours,
}
GOOD = "fair"


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A local server that submissions should not be able to reach."""

    server: socket.socket
    reached: threading.Event

    @classmethod
    def start(cls) -> LocalServer:
        listener = cls(socket.create_server(("127.0.0.1", 0)), threading.Event())
        threading.Thread(target=listener._listen, daemon=True).start()
        return listener

    @property
    def port(self) -> int:
        return int(self.server.getsockname()[1])

    def _listen(self) -> None:
        try:
            self.server.accept()
            self.reached.set()
        except OSError:
            pass  # closed


def main() -> int:
    """Runs all cases with all graders, and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--case", default="", help="only the cases with this text in their name")
    options = parser.parse_args()
    cases = [case for case in (*ATTACKS, *ACCIDENTS) if options.case in case.name]
    with tempfile.TemporaryDirectory(prefix="bench-security-") as folder:
        course = Path(folder) / "course"
        course.mkdir()
        nbgrader_course(course)
        tasks = [(course, case, name) for case in cases for name in GRADERS]
        for name in GRADERS:
            if _outcome_of(course, CONTROL, name) != GOOD:
                raise SystemExit(f"{name} is not set up: it refuses {CONTROL.name}")
        with ThreadPoolExecutor(2) as pool:
            outcomes = list(pool.map(lambda task: _outcome_of(*task), tasks))
    columns = {name: outcomes[number :: len(GRADERS)] for number, name in enumerate(GRADERS)}
    print(_table(cases, columns))
    return 1 if any(word != GOOD for word in columns["ours"]) else 0


def _outcome_of(course: Path, case: Case, grader: str) -> str:
    """Grades a case with one of the graders; returns the outcome in a word or two."""
    place = course.parent / f"{case.name.replace(' ', '-')}-{grader}"
    copy_course(course, place)
    listener = LocalServer.start()
    _hand_in(place, case, listener.port)
    try:
        word = _verdict(case, GRADERS[grader](place))
    except GraderHangs:
        word = "hangs"
    finally:
        listener.server.close()
    if listener.reached.is_set():
        word = "reached"
    print(f"{case.name}, {grader}: {word}", file=sys.stderr, flush=True)
    return word


def _hand_in(place: Path, case: Case, port: int) -> None:
    released = json.loads((place / "release" / ASSIGNMENT / f"{EXERCISE}.ipynb").read_text())
    others = place / "submitted" / HONEST_STUDENT
    answers = case.answers
    if "{" in answers:
        names = {"course": str(place), "others": str(others), "port": port}
        for name, value in names.items():
            answers = answers.replace("{" + name + "!r}", repr(value))
            answers = answers.replace("{" + name + "}", str(value))
        answers = answers.replace("{{", "{").replace("}}", "}")
    notebooks = {
        CASE: case.change(_answered(released, answers)),
        HONEST_STUDENT: json.dumps(_answered(released, HONEST)).encode(),
    }
    for student, data in notebooks.items():
        path = place / "submitted" / student / ASSIGNMENT / f"{EXERCISE}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_bytes(data)


def _answered(released: dict[str, list[dict[str, object]]], answers: str) -> dict[str, object]:
    first, *tests = released["cells"]
    return {**released, "cells": [{**first, "source": answers}, *tests]}


def _verdict(case: Case, scores: Scores) -> str:
    """Says whether another student was harmed and, if not, whether the case's score is fair."""
    if scores.get(HONEST_STUDENT) != 2 * POINTS:
        return "harms another"
    score = scores.get(CASE)
    if score is None:
        return "no score"
    if score == case.fair:
        return GOOD
    return f"{score:g} for {case.fair:g}"


def _table(cases: list[Case], columns: dict[str, list[str]]) -> str:
    lines = [
        f"nbgrader {version('nbgrader')}, otter-grader {_version_of_otter()}",
        "",
        f"| case | {' | '.join(columns)} |",
        "|---" * 4 + "|",
    ]
    for number, case in enumerate(cases):
        lines.append(f"| {case.name} | {' | '.join(c[number] for c in columns.values())} |")
    totals = [f"{words.count(GOOD)} of {len(words)}" for words in columns.values()]
    lines.append(f"| **{GOOD}** | {' | '.join(totals)} |")
    return "\n".join(lines)


def _version_of_otter() -> str:
    with tempfile.TemporaryDirectory() as folder:
        run([OTTER, "--version"], Path(folder))
        log = (Path(folder) / "log.txt").read_text()
    return log.partition("Otter-Grader version: ")[2].split()[0]


if __name__ == "__main__":
    sys.exit(main())
