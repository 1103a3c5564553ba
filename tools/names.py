"""Names the mistakes in the wrong answers in tests/unseen, and reports unexpected names.

    python tools/names.py [ASSIGNMENT[/EXERCISE] ...]

The answers run in this process, because they are our own code. Exits with 1 if an answer is not
wrong, or if its mistake is given a name other than the one in the list; a person must then compare
this name with the intended mistake. If no name is found for an answer, the answer is printed with
the name that the list gives it, if any.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from autograder.course import find_root, load_course
from autograder.grading.judging.suites import collect_suites
from autograder.grading.validation.cases import chosen_of
from autograder.records import Exercise, Verdict
from tools.unseen import Namer, UnseenAnswer, unseen_of


@dataclass(frozen=True, slots=True)
class NamedAnswer:
    """A wrong answer and its mistake's name; `problem` says why a person must look at them."""

    answer: UnseenAnswer
    name: str
    problem: str = ""


def main(arguments: Sequence[str]) -> int:
    options = _options(arguments)
    root = find_root(Path.cwd())
    course = load_course(root)
    exercises = [e for a in chosen_of(course, options.names) for e in a.exercises]
    folder = root / "tests" / "unseen"
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    runner = collect_suites(root, [exercise.hidden_suite for exercise in exercises])
    named_answers = []
    for exercise in exercises:
        found = list(_named_answers(Namer(runner, course, exercise), exercise, folder))
        named_answers += found
        print(f"{exercise.name}: {sum(bool(s.name) for s in found)} of {len(found)} named")
        for one in found:
            if one.problem or not one.name:
                print(
                    f"  {one.answer.question}: {one.answer.means}: {one.problem or _missing(one)}"
                )
    named = sum(bool(one.name) for one in named_answers)
    count = len(named_answers)
    print(f"{named} of {count} wrong answers have a name: {100 * named / count:.1f}%")
    return 1 if any(one.problem for one in named_answers) else 0


def _missing(named: NamedAnswer) -> str:
    return f"no name; it had {named.answer.name} before" if named.answer.name else "no name"


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make names", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="ASSIGNMENT[/EXERCISE]")
    return parser.parse_args(arguments)


def _named_answers(namer: Namer, exercise: Exercise, folder: Path) -> Iterator[NamedAnswer]:
    for answer in unseen_of(exercise, folder):
        if answer.means:
            yield _one(namer, answer)


def _one(namer: Namer, answer: UnseenAnswer) -> NamedAnswer:
    result = namer.named(answer)
    if result.verdict is Verdict.CORRECT:
        return NamedAnswer(answer, "", "is not wrong")
    name = (result.misconception or "").rpartition(".")[2]
    if result.verdict is Verdict.FORBIDDEN:  # needs no name
        return NamedAnswer(answer, "forbidden")
    if name and name != answer.name:
        return NamedAnswer(answer, name, f"the name {name} is new: {result.hint}")
    return NamedAnswer(answer, name)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
