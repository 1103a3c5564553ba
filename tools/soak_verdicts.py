"""Judges everything that is right many times with fresh inputs: not one refusal may come.

    python tools/soak_verdicts.py [--times 300] [--jobs 2] [--minutes M] [--seed S]

All solutions and alternatives are judged by the hidden suites in this process, each time with
other inputs and other random numbers. Ends with 1 at a refusal; its seed is printed, so that it can
be looked at again with `--times 1 --seed`.
"""

from __future__ import annotations

import argparse
import multiprocessing
import secrets
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import torch

from autograder.course import Course, find_root, load_course
from autograder.grading.judging.suites import SuiteRunner, collect_suites
from autograder.grading.validation.cases import Case, cases_of
from autograder.records import Exercise
from autograder.suite.local import LocalImplementation

#: repetitions between two reports
_AT_ONCE = 20


@dataclass(frozen=True, slots=True)
class Done:
    """Some repetitions of one exercise: verdicts given, and the refusals in words."""

    verdicts: int
    refusals: tuple[str, ...]


def main(arguments: Sequence[str]) -> int:
    """The exit code."""
    options = _options(arguments)
    course = load_course(find_root(Path.cwd()))
    end = time.monotonic() + options.minutes * 60
    done: list[Done] = []
    times, first = 0, options.seed
    fork = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(options.jobs, mp_context=fork) as pool:
        while times < options.times and time.monotonic() < end:
            seeds = range(first + times, first + min(times + _AT_ONCE, options.times))
            done += pool.map(_judge, *zip(*_tasks(course, seeds), strict=True))
            times += len(seeds)
            _say(times, first, done)
    refusals = [text for item in done for text in item.refusals]
    print("\n".join(refusals))
    return 1 if refusals else 0


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=300)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after that many")
    parser.add_argument("--seed", type=int, default=secrets.randbits(40), help="of the first time")
    return parser.parse_args(arguments)


def _tasks(course: Course, seeds: range) -> Iterator[tuple[Course, Exercise, range]]:
    for assignment in course.assignments:
        for exercise in assignment.exercises:
            yield course, exercise, seeds


def _judge(course: Course, exercise: Exercise, seeds: range) -> Done:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # what torch says about unusual answers
    right = [
        case
        for case in cases_of(course, exercise, ["module"])
        if case.kind in ("solution", "alternative")
    ]
    runner = collect_suites(course.root, [exercise.hidden_suite])
    parts = [_judge_case(runner, case, seeds) for case in right]
    refusals = tuple(text for part in parts for text in part.refusals)
    return Done(sum(part.verdicts for part in parts), refusals)


def _judge_case(runner: SuiteRunner, case: Case, seeds: range) -> Done:
    # dataclasses look their module up
    module = sys.modules["_right"] = ModuleType("_right")
    exec(compile(case.text, case.label, "exec"), vars(module))
    answer = LocalImplementation(vars(module), case.text)
    names = [case.question] if case.question else [q.name for q in case.exercise.questions]
    refusals = []
    for seed in seeds:
        torch.default_generator.manual_seed(seed)  # the other devices' take a millisecond
        for name in names:
            outcome = runner.first_failure(case.exercise.hidden_suite, name, answer, seed)
            if outcome is not None:
                refusals.append(f"{case.label}, seed {seed}, {outcome.name}: {outcome.failure}")
    return Done(len(seeds) * len(names), tuple(refusals))


def _say(times: int, first: int, done: Sequence[Done]) -> None:
    verdicts = sum(item.verdicts for item in done)
    refusals = sum(len(item.refusals) for item in done)
    print(
        f"{times} times with fresh inputs, seeds from {first}: {verdicts} verdicts on right "
        f"answers, {refusals} refusals",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
