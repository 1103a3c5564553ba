"""Counts how often grading gives a known mistake its own name, no name, or a different name.

    python tools/soak_names.py [--times 50] [--jobs 2] [--seed S] [NAME...]

Judges the known mistakes that use random numbers, or the mistakes that are given by `NAME`
(`<exercise>.<name>`), with different random numbers each time. Exits with 1 if grading gives any
mistake the name of a different mistake.
"""

from __future__ import annotations

import argparse
import multiprocessing
import secrets
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import torch

from autograder.course import Course, find_root, load_course
from autograder.grading.judging.suites import collect_suites
from autograder.grading.naming.diagnosis import Diagnosis
from autograder.records import Exercise
from autograder.suite.variants import Variant, variants_read
from tools.unseen import ask_here


@dataclass(frozen=True, slots=True)
class NameCounts:
    """The number of times that grading gave each name to a known mistake; '' means no name."""

    name: str
    names: Counter[str]

    @property
    def right(self) -> int:
        return self.names[self.name]

    @property
    def missing(self) -> int:
        return self.names[""]

    @property
    def wrong(self) -> int:
        return self.names.total() - self.right - self.missing


def main(arguments: Sequence[str]) -> int:
    options = _options(arguments)
    course = load_course(find_root(Path.cwd()))
    exercises = [e for assignment in course.assignments for e in assignment.exercises]
    seeds = range(options.seed, options.seed + options.times)
    tasks = [(course, exercise, tuple(options.names), seeds) for exercise in exercises]
    fork = multiprocessing.get_context("fork")
    done: list[NameCounts] = []
    with ProcessPoolExecutor(options.jobs, mp_context=fork) as pool:
        for found in pool.map(_name, *zip(*tasks, strict=True)):
            done += found
            _say(found)
    total = sum(item.names.total() for item in done)
    right, missing, wrong = (
        sum(getattr(item, what) for item in done) for what in ("right", "missing", "wrong")
    )
    print(
        f"{len(done)} stochastic misconceptions, {options.times} times each, seeds from "
        f"{options.seed}: of {total} {right} named, {missing} not named, {wrong} named wrongly"
    )
    return 1 if wrong else 0


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=secrets.randbits(40), help="the first seed")
    return parser.parse_args(arguments)


def _name(
    course: Course, exercise: Exercise, names: Sequence[str], seeds: range
) -> list[NameCounts]:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # torch warns about mistakes
    runner = collect_suites(course.root, [exercise.hidden_suite])
    variants = variants_read(course.variants("misconceptions", exercise))
    diagnosis = Diagnosis(runner, course, exercise, ask_here)
    return list(_counted(diagnosis, exercise, variants, names, seeds))


def _counted(
    diagnosis: Diagnosis,
    exercise: Exercise,
    variants: Sequence[Variant],
    names: Sequence[str],
    seeds: range,
) -> Iterator[NameCounts]:
    for variant in variants:
        name = f"{exercise.name}.{variant.name}"
        if name in names if names else diagnosis.is_stochastic(variant):
            counter = Counter(diagnosis.named(variant, seed) or "" for seed in seeds)
            yield NameCounts(name, counter)


def _say(found: Sequence[NameCounts]) -> None:
    for item in found:
        if item.right < item.names.total():
            others = {name or "none": n for name, n in item.names.items() if name != item.name}
            print(f"{item.name}: {item.right} of {item.names.total()}; {others}", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
