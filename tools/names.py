"""Names wrong answers that were written from the questions alone, and says what nobody has read.

    python tools/names.py [--fresh | --list FOLDER] [ASSIGNMENT[/EXERCISE] ...]

The answers are those of tests/unseen; `--fresh` takes the quarter of them that is kept apart, by
default the others are taken; `--list later` takes those of tests/unseen/later, and so on for every
list in a folder of its own. They run in this process: they are our own. Ends with 1 where an answer
is not wrong, or has a name that the list's read.toml does not have: a person reads it there, next
to what the answer means to do.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from autograder.course import find_root, load_course
from autograder.grading.judging.suites import collect_suites
from autograder.grading.validation.cases import chosen_of
from autograder.grading.validation.unseen import Namer, Unseen, unseen_of
from autograder.records import Exercise, Verdict

#: of an answer that was read: by question and by what it means to do
Read = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Said:
    """What was said of one wrong answer; `problem` where a person has to look."""

    answer: Unseen
    name: str
    problem: str = ""


def main(arguments: Sequence[str]) -> int:
    """The exit code."""
    options = _options(arguments)
    root = find_root(Path.cwd())
    course = load_course(root)
    exercises = [e for a in chosen_of(course, options.names) for e in a.exercises]
    folder = root / "tests" / "unseen" / options.list
    read = tomllib.loads((folder / "read.toml").read_text(encoding="utf-8"))
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    runner = collect_suites(root, [exercise.hidden_suite for exercise in exercises])
    said = []
    for exercise in exercises:
        found = list(_said(Namer(runner, course, exercise), exercise, folder, options, read))
        said += found
        print(f"{exercise.name}: {sum(bool(s.name) for s in found)} of {len(found)} named")
        for one in found:
            if one.problem or not one.name:
                print(f"  {one.answer.question}: {one.answer.means}: {one.problem or 'no name'}")
    named = sum(bool(one.name) for one in said)
    print(f"{named} of {len(said)} wrong answers have a name: {100 * named / len(said):.1f}%")
    return 1 if any(one.problem for one in said) else 0


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make names", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="ASSIGNMENT[/EXERCISE]")
    parser.add_argument("--fresh", action="store_true", help="those that are kept apart")
    parser.add_argument("--list", default="", metavar="FOLDER", help="those of a list of its own")
    return parser.parse_args(arguments)


def _said(
    namer: Namer, exercise: Exercise, folder: Path, options: argparse.Namespace, read: Read
) -> Iterator[Said]:
    for answer in unseen_of(exercise, folder):
        if answer.means and (options.list or answer.is_fresh == options.fresh):
            yield _one(namer, answer, read)


def _one(namer: Namer, answer: Unseen, read: Read) -> Said:
    result = namer.named(answer)
    if result.verdict is Verdict.CORRECT:
        return Said(answer, "", "is not wrong")
    name = (result.misconception or "").rpartition(".")[2]
    if result.verdict is Verdict.FORBIDDEN:  # names itself
        return Said(answer, "forbidden")
    if name and name != read.get(answer.question, {}).get(answer.means):
        return Said(answer, name, f"nobody has read {name}: {result.hint}")
    return Said(answer, name)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
