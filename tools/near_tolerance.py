"""Finds answers with errors so near the tolerance that the verdict may depend on the processor.

    python tools/near_tolerance.py [ASSIGNMENT[/EXERCISE] ...] [--seeds 3] [--factor 10] [--right]

Rounding differs between processors. If a wrong answer is accepted with ten times the tolerance, its
errors are not far above the tolerance; if a correct answer is rejected with a tenth of the
tolerance, its errors are not far below the tolerance. Either answer may get the opposite verdict on
another machine. Judges the solutions, alternatives, known mistakes and answers in
tests/unseen/{attack,promise} in this process, because they are our own code. With `--right`, judges
only correct answers. Exits with 1 if any of these answers is that close to the tolerance.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from autograder.course import Course, find_root, load_course
from autograder.grading.judging.suites import SuiteRunner, collect_suites
from autograder.grading.validation.cases import cases_of, chosen_of
from autograder.records import Exercise
from autograder.suite import compare
from autograder.suite.compare import Tolerance
from autograder.suite.local import LocalImplementation
from tools.unseen import UnseenAnswer, judged_of


def main(arguments: Sequence[str]) -> int:
    options = _options(arguments)
    root = find_root(Path.cwd())
    course = load_course(root)
    exercises = [e for a in chosen_of(course, options.names) for e in a.exercises]
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    runner = collect_suites(root, [exercise.hidden_suite for exercise in exercises])
    near = judged = 0
    for exercise in exercises:
        for answer in _answers(course, exercise):
            if options.right and answer.means:
                continue
            judged += 1
            seeds = [
                seed
                for seed in range(1, options.seeds + 1)
                if _is_near(runner, exercise, answer, seed, options.factor)
            ]
            if seeds:
                near += 1
                is_right = not answer.means
                verdicts = {_is_accepted(runner, exercise, answer, s, 1.0) for s in seeds}
                kind = "right" if is_right else "wrong"
                already = "" if verdicts == {is_right} else " (already misjudged)"
                what = answer.means or answer.name
                drawn = ", ".join(map(str, seeds))
                print(f"{exercise.name}.{answer.question}: {kind}, {what}: seeds {drawn}{already}")
    print(
        f"{near} of {judged} answers are within a factor of {options.factor:g} of the tolerance, "
        f"in {options.seeds} draws"
    )
    return 1 if near else 0


def _answers(course: Course, exercise: Exercise) -> Iterator[UnseenAnswer]:
    """Yields correct and wrong answers to an exercise; `means` is empty for correct answers."""
    for case in cases_of(course, exercise, ("module",)):
        if case.kind in ("misconception", "combination"):
            yield UnseenAnswer(case.question, f"{case.kind} {case.name}", case.text)
        elif case.kind in ("solution", "alternative"):
            for question in [case.question] if case.question else _questions(exercise):
                yield UnseenAnswer(question, "", case.text, f"{case.kind} {case.name}".strip())
    solution = exercise.solution.read_text(encoding="utf-8")
    for answer in judged_of(exercise, course.root):
        text = f"{solution}\n{answer.text}"
        yield UnseenAnswer(answer.question, answer.means, text, answer.name or "an unusual answer")


def _questions(exercise: Exercise) -> list[str]:
    return [question.name for question in exercise.questions]


def _is_near(
    runner: SuiteRunner, exercise: Exercise, answer: UnseenAnswer, seed: int, factor: float
) -> bool:
    """Returns whether an answer gets the opposite verdict if the tolerance favors that verdict."""
    times = factor if answer.means else 1 / factor
    return _is_accepted(runner, exercise, answer, seed, times) == bool(answer.means)


def _is_accepted(
    runner: SuiteRunner, exercise: Exercise, answer: UnseenAnswer, seed: int, times: float
) -> bool:
    module = ModuleType("_answer")
    sys.modules["_answer"] = module  # needed by dataclasses
    torch.manual_seed(0)
    with _tolerance_times(times), torch.enable_grad():  # an answer may have turned gradients off
        try:
            exec(compile(answer.text, "<answer>", "exec"), vars(module))
        except BaseException:
            return False
        implementation = LocalImplementation(vars(module), answer.text)
        suite = exercise.hidden_suite
        return runner.first_failure(suite, answer.question, implementation, seed) is None


@contextmanager
def _tolerance_times(factor: float) -> Iterator[None]:
    """Within the block, multiplies the tolerance in every comparison of numbers by `factor`."""
    with_tolerance = compare._tensor_difference

    def difference(got: Any, expected: torch.Tensor, tolerance: Tolerance | None) -> str | None:
        bound = tolerance or compare.tolerance_of(expected.dtype)
        scaled = Tolerance(bound.atol * factor, bound.rtol * factor)
        return with_tolerance(got, expected, scaled)

    compare._tensor_difference = difference
    try:
        yield
    finally:
        compare._tensor_difference = with_tolerance


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="ASSIGNMENT[/EXERCISE]")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--factor", type=float, default=10.0)
    parser.add_argument("--right", action="store_true", help="judge correct answers only")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
