"""Checks that a mistake costs the same points with all inputs, because students compare points.

    python tools/steady_scores.py [ASSIGNMENT[/EXERCISE] ...] [--seeds 6] [--jobs 2]

Judges every known mistake, and every known combination of mistakes, once with each seed. Lists the
mistakes that get different numbers of points with different seeds, and the tests that fail only
with some of the seeds.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from autograder.course import find_root, load_course
from autograder.grading.validation.cases import Case
from autograder.grading.validation.validate import validate
from autograder.records import QuestionResult

_WRONG = ("misconception", "combination")


@dataclass(frozen=True, slots=True)
class DrawnScore:
    """An answer's points and failed tests with one seed; the answer has a known mistake."""

    score: float
    max_score: float
    failed: tuple[str, ...]


def main(arguments: Sequence[str]) -> None:
    """Prints a line for every mistake whose points vary, and the number of all other mistakes."""
    options = _options(arguments)
    course = load_course(find_root(Path.cwd()))
    found: defaultdict[str, list[DrawnScore]] = defaultdict(list)

    def on_question(case: Case, result: QuestionResult) -> None:
        if result.question == case.question:
            failed = tuple(test.name for test in result.tests if not test.passed)
            found[case.label].append(DrawnScore(result.score, result.max_score, failed))

    for seed in range(1, options.seeds + 1):
        validate(
            course,
            options.names,
            forms=("module",),
            jobs=options.jobs,
            seed=seed,
            wanted=lambda case: case.kind in _WRONG,
            on_question=on_question,
        )
    varying = {label: given for label, given in sorted(found.items()) if _varies(given)}
    for label, given in varying.items():
        tests = Counter(test for one in given for test in one.failed)
        by_chance = ", ".join(f"{t} {n}x" for t, n in tests.items() if n < len(given))
        points = " ".join(f"{one.score:g}" for one in given)
        print(f"{label}: {points} of {given[0].max_score:g}; {by_chance}")
    print(
        f"{len(found) - len(varying)} of {len(found)} mistakes have the same points "
        f"in each of {options.seeds} draws"
    )


def _varies(given: Sequence[DrawnScore]) -> bool:
    return len({one.score for one in given}) > 1


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--jobs", type=int, default=2)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
