"""Judges all correct answers many times with fresh inputs, and reports rejected answers.

    python tools/soak_verdicts.py [--times 300] [--minutes 30] [--jobs 2] [--seed S]

All solutions, alternatives and correct answers in tests/unseen are judged by the hidden suites in
this process, each time with different inputs and random numbers. The scores in the solutions'
softmax are also observed: only a few questions may use scores of 50 or more, so that a plain `exp`
is correct in all other questions. A line is printed for every exercise in each repetition; after
the time in `--minutes`, no further answer is judged. Exits with 1 if an answer is rejected. The
seed is printed, so that `--times 1 --seed` reproduces the rejection.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import secrets
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from autograder.course import Course, find_root, load_course
from autograder.grading.judging.suites import SuiteRunner, collect_suites
from autograder.grading.validation.cases import Case, cases_of
from autograder.records import Exercise
from autograder.suite.local import LocalImplementation
from tools.unseen import judged_of

#: scores count as large from this size on
_LARGE = 50.0
#: the only questions whose suites may use large scores
_ASKED_LARGE = {"softmax", "attend_block", "merge_blocks", "blockwise_attention"}
#: functions that turn scores into weights
_SOFTMAX = {"softmax", "exp", "logsumexp"}


@dataclass(frozen=True, slots=True)
class RepeatedVerdicts:
    """The number of verdicts for an exercise with one seed, and a description of each rejection."""

    exercise: str
    seed: int
    verdicts: int
    refusals: tuple[str, ...]
    #: how many answers were left when the time was up
    left: int
    seconds: float


def main(arguments: Sequence[str]) -> int:
    options = _options(arguments)
    course = load_course(find_root(Path.cwd()))
    exercises = [exercise for one in course.assignments for exercise in one.exercises]
    end = time.monotonic() + options.minutes * 60
    done: list[RepeatedVerdicts] = []
    fork = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(options.jobs, mp_context=fork) as pool:
        for seed in range(options.seed, options.seed + options.times):
            if time.monotonic() >= end:
                break
            tasks = [pool.submit(_judge, course, exercise, seed, end) for exercise in exercises]
            for task in as_completed(tasks):
                done.append(task.result())
                _print(done[-1])
            _summarize(done)
    return 1 if any(item.refusals for item in done) or not done else 0


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=300)
    parser.add_argument("--minutes", type=float, default=30, help="begin no answer after that many")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=secrets.randbits(40), help="the first seed")
    return parser.parse_args(arguments)


def _judge(course: Course, exercise: Exercise, seed: int, end: float) -> RepeatedVerdicts:
    start = time.monotonic()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # torch warns about unusual answers
    logging.getLogger("torch._dynamo").setLevel(logging.ERROR)  # no warnings about many shapes
    right = _right_answers(course, exercise)
    runner = collect_suites(course.root, [exercise.hidden_suite])
    refusals: list[str] = []
    verdicts = judged = 0
    for case in right:
        if time.monotonic() >= end:
            break
        names = [case.question] if case.question else [q.name for q in exercise.questions]
        refusals += _refusals(runner, case, names, seed)
        verdicts += len(names)
        judged += 1
    name = f"{exercise.assignment}/{exercise.name}"
    left = len(right) - judged
    seconds = time.monotonic() - start
    return RepeatedVerdicts(name, seed, verdicts, tuple(refusals), left, seconds)


def _right_answers(course: Course, exercise: Exercise) -> list[Case]:
    right = [
        case
        for case in cases_of(course, exercise, ["module"])
        if case.kind in ("solution", "alternative")
    ]
    solution = exercise.solution.read_text(encoding="utf-8")
    return right + [
        Case("unseen", exercise, f"{solution}\n{answer.text}", "module", answer.question, f"{n}")
        for n, answer in enumerate(judged_of(exercise, course.root))
        if not answer.means
    ]


def _refusals(runner: SuiteRunner, case: Case, names: Sequence[str], seed: int) -> Iterator[str]:
    # needed by dataclasses
    module = sys.modules["_right"] = ModuleType("_right")
    exec(compile(case.text, case.label, "exec"), vars(module))
    answer = LocalImplementation(vars(module), case.text)
    torch.default_generator.manual_seed(seed)  # seeding other devices would take a millisecond
    for name in names:
        with _Scores() if case.kind == "solution" else nullcontext() as scores:
            outcome = runner.first_failure(case.exercise.hidden_suite, name, answer, seed)
        if outcome is not None:
            yield f"{case.label}, seed {seed}, {outcome.name}: {outcome.failure}"
        if scores and scores.largest >= _LARGE and name not in _ASKED_LARGE:
            yield f"{name}, seed {seed}: asked with scores of {scores.largest:.1f}"


class _Scores(TorchFunctionMode):
    """Records the largest finite score from which a softmax computes a weight."""

    largest = 0.0

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        if getattr(func, "__name__", "") in _SOFTMAX:
            scores = args[0].detach().abs()
            finite = scores[scores.isfinite()]
            self.largest = max(self.largest, float(finite.max()) if len(finite) else 0.0)
        return func(*args, **(kwargs or {}))


def _print(one: RepeatedVerdicts) -> None:
    left = f", {one.left} answers left out" if one.left else ""
    print(f"seed {one.seed}, {one.exercise}: {one.verdicts} verdicts in {one.seconds:.0f} s{left}")
    print(*one.refusals, sep="\n", end="\n" if one.refusals else "", flush=True)


def _summarize(done: Sequence[RepeatedVerdicts]) -> None:
    seeds = sorted({item.seed for item in done})
    print(
        f"{len(seeds)} times with fresh inputs, seeds from {seeds[0]}: "
        f"{sum(item.verdicts for item in done)} verdicts on correct answers, "
        f"{sum(len(item.refusals) for item in done)} refusals, "
        f"{sum(item.left for item in done)} answers left out for lack of time",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
