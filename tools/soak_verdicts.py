"""Judges all right answers many times with fresh inputs; none may be refused.

    python tools/soak_verdicts.py [--times 300] [--jobs 2] [--minutes M] [--seed S]

All solutions, alternatives and right answers of tests/unseen are judged by the hidden suites in
this process, each time with different inputs and random numbers. The inputs of a solution's softmax
are also observed: only a few questions use scores of 50 or more, so a plain `exp` is right in the
others. Ends with 1 after a refusal; its seed is printed, so that `--times 1 --seed` reproduces it.
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
from concurrent.futures import ProcessPoolExecutor
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

#: repetitions between two reports: about a minute of CPU, so that `--minutes` is kept
_AT_ONCE = 2
#: scores of this size and more are asked ...
_LARGE = 50.0
#: ... of these questions only
_ASKED_LARGE = {"softmax", "attend_block", "merge_blocks", "blockwise_attention"}
#: functions that turn scores into weights
_SOFTMAX = {"softmax", "exp", "logsumexp"}


@dataclass(frozen=True, slots=True)
class RepeatedVerdicts:
    """Some repetitions of one exercise: the number of verdicts, and the refusals in words."""

    verdicts: int
    refusals: tuple[str, ...]


def main(arguments: Sequence[str]) -> int:
    """Runs the tool; returns its exit code."""
    options = _options(arguments)
    course = load_course(find_root(Path.cwd()))
    end = time.monotonic() + options.minutes * 60
    done: list[RepeatedVerdicts] = []
    times, first = 0, options.seed
    fork = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(options.jobs, mp_context=fork) as pool:
        while times < options.times and time.monotonic() < end:
            seeds = range(first + times, first + min(times + _AT_ONCE, options.times))
            new = list(pool.map(_judge, *zip(*_tasks(course, seeds), strict=True)))
            done += new
            times += len(seeds)
            for refusal in (text for item in new for text in item.refusals):
                print(refusal)
            _say(times, first, done)
    return 1 if any(item.refusals for item in done) else 0


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


def _judge(course: Course, exercise: Exercise, seeds: range) -> RepeatedVerdicts:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # torch warns about unusual answers
    logging.getLogger("torch._dynamo").setLevel(logging.ERROR)  # many shapes cause warnings
    right = [
        case
        for case in cases_of(course, exercise, ["module"])
        if case.kind in ("solution", "alternative")
    ]
    solution = exercise.solution.read_text(encoding="utf-8")
    right += [
        Case("unseen", exercise, f"{solution}\n{answer.text}", "module", answer.question, f"{n}")
        for n, answer in enumerate(judged_of(exercise, course.root))
        if not answer.means
    ]
    runner = collect_suites(course.root, [exercise.hidden_suite])
    parts = [_judge_case(runner, case, seeds) for case in right]
    refusals = tuple(text for part in parts for text in part.refusals)
    return RepeatedVerdicts(sum(part.verdicts for part in parts), refusals)


def _judge_case(runner: SuiteRunner, case: Case, seeds: range) -> RepeatedVerdicts:
    # dataclasses look their module up
    module = sys.modules["_right"] = ModuleType("_right")
    exec(compile(case.text, case.label, "exec"), vars(module))
    answer = LocalImplementation(vars(module), case.text)
    names = [case.question] if case.question else [q.name for q in case.exercise.questions]
    refusals = []
    for seed in seeds:
        torch.default_generator.manual_seed(seed)  # seeding other devices takes a millisecond
        for name in names:
            with _Scores() if case.kind == "solution" else nullcontext() as scores:
                outcome = runner.first_failure(case.exercise.hidden_suite, name, answer, seed)
            if outcome is not None:
                refusals.append(f"{case.label}, seed {seed}, {outcome.name}: {outcome.failure}")
            if scores and scores.largest >= _LARGE and name not in _ASKED_LARGE:
                refusals.append(f"{name}, seed {seed}: asked with scores of {scores.largest:.1f}")
    return RepeatedVerdicts(len(seeds) * len(names), tuple(refusals))


class _Scores(TorchFunctionMode):
    """Remembers the largest finite score that anything turned into weights."""

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


def _say(times: int, first: int, done: Sequence[RepeatedVerdicts]) -> None:
    verdicts = sum(item.verdicts for item in done)
    refusals = sum(len(item.refusals) for item in done)
    print(
        f"{times} times with fresh inputs, seeds from {first}: {verdicts} verdicts on right "
        f"answers, {refusals} refusals",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
