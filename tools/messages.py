"""Prints the messages for wrong answers, so that a person can judge them.

    python tools/messages.py [--check] [ASSIGNMENT[/EXERCISE] ...]

The answers are those in tests/unseen for which a person has read a message (`read`) and has judged
it (`does`): the message `states` the fault, `leads` to it, is `general`, or `misleads`. Prints each
message with the intended mistake and the judgment. `--check` prints only messages that have changed
since a person read them, or that mislead, and exits with 1 if there are any. The answers run in
this process, because they are our own code.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from autograder.course import find_root, load_course
from autograder.grading.judging.suites import collect_suites
from autograder.grading.validation.cases import chosen_of
from autograder.records import Exercise
from tools.unseen import Namer, UnseenAnswer, unseen_of

JUDGEMENTS = ("states", "leads", "general", "misleads")
_ADVICE = ("likely:", "remember:", "next step:")


@dataclass(frozen=True, slots=True)
class Message:
    """The first message for an answer; `is_as_read` is true if a person has read this message."""

    answer: UnseenAnswer
    text: str
    is_as_read: bool


def main(arguments: Sequence[str]) -> int:
    options = _options(arguments)
    root = find_root(Path.cwd())
    course = load_course(root)
    exercises = [e for a in chosen_of(course, options.names) for e in a.exercises]
    folder = root / "tests" / "unseen"
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    runner = collect_suites(root, [exercise.hidden_suite for exercise in exercises])
    found: list[Message] = []
    for exercise in exercises:
        found += _messages(Namer(runner, course, exercise), exercise, folder)
    to_look_at = [one for one in found if not one.is_as_read or one.answer.does == "misleads"]
    for one in to_look_at if options.check else found:
        print(_shown(one))
    counts = Counter(one.answer.does for one in found)
    print(f"{len(found)} messages: " + ", ".join(f"{n} {what}" for what, n in counts.items()))
    return 1 if options.check and to_look_at else 0


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tools/messages.py", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="ASSIGNMENT[/EXERCISE]")
    parser.add_argument(
        "--check", action="store_true", help="print only changed or misleading messages"
    )
    return parser.parse_args(arguments)


def _messages(namer: Namer, exercise: Exercise, folder: Path) -> Iterator[Message]:
    for answer in unseen_of(exercise, folder):
        if answer.does:
            result = namer.judged(answer)
            text = next((test.message for test in result.tests if not test.passed), "")
            as_read = answer.does in JUDGEMENTS and messages_in(text) == answer.read
            yield Message(answer, text, as_read)


def messages_in(message: str) -> str:
    """Returns the first line of a message and the lines with advice; leaves out the numbers."""
    first, *others = message.split("\n")
    return "\n".join([first, *(line for line in others if line.startswith(_ADVICE))])


def _shown(message: Message) -> str:
    answer = message.answer
    lines = message.text.replace("\n", "\n      ")
    noted = answer.does if message.is_as_read else f"{answer.does} (has changed)"
    return f"{answer.question}: {answer.means} [{answer.name}] {noted}\n      {lines}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
