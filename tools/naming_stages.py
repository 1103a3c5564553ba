"""Measures what each stage of the search for a mistake's name contributes, by switching it off.

    python tools/naming_stages.py [--share N] [ASSIGNMENT[/EXERCISE] ...]

Names the mistakes in the wrong answers in tests/unseen as grading does, and then again with each
stage switched off in turn. A stage contributes the names that are not found without the stage; the
number of names that change without the stage is also printed. A stage that contributes less than
one name in a hundred should be removed. Missing tables are made first, so that only the search is
measured.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch

from autograder.course import find_root, load_course
from autograder.grading.judging.suites import collect_suites
from autograder.grading.naming import diagnosis, unmatched
from autograder.grading.naming.diagnosis import Diagnosis
from autograder.grading.naming.known import KnownMistakes
from autograder.grading.naming.pairs import PairSearch
from autograder.grading.naming.partly import PartialSearch
from autograder.grading.naming.probe import Ask, Probe, ProbeReplies, Replies, replies_of
from autograder.grading.naming.rows import Row
from autograder.grading.naming.search import Search, SearchResult
from autograder.grading.naming.table import Pairs, Table
from autograder.grading.validation.cases import chosen_of
from tools.unseen import Namer, UnseenAnswer, unseen_of

#: a function that returns a context in which a stage is off
Off = Callable[[], AbstractContextManager[Any]]


@dataclass(frozen=True, slots=True)
class WrongAnswer:
    """A wrong answer, and its replies to the calls in the probe."""

    answer: UnseenAnswer
    diagnosis: Diagnosis
    asked: ProbeReplies


def main(arguments: Sequence[str]) -> int:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    options = _options(arguments)
    answers = list(_answers(options.names, options.share))
    _named(answers)  # read all replies now, so that this is not measured
    whole, seconds = _named(answers)
    named = sum(map(bool, whole))
    print(
        f"{len(answers)} wrong answers, {named} named, {1000 * seconds / len(answers):.1f} ms each"
    )
    for stage, off in _stages().items():
        with off():
            found, least = _named(answers)
        lost = [
            a for a, name, other in zip(answers, whole, found, strict=True) if name and not other
        ]
        others = sum(bool(n and o and n != o) for n, o in zip(whole, found, strict=True))
        share, cost = 100 * len(lost) / len(answers), 1000 * (seconds - least) / len(answers)
        print(f"{stage:32} {len(lost):4} lost ({share:4.1f}%), {others:3} others, {cost:6.1f} ms")
    return 0


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="ASSIGNMENT[/EXERCISE]")
    parser.add_argument(
        "--share", type=int, default=1, metavar="N", help="take only every N-th answer"
    )
    return parser.parse_args(arguments)


def _answers(names: Sequence[str], share: int) -> Iterator[WrongAnswer]:
    root = find_root(Path.cwd())
    course = load_course(root)
    exercises = [e for a in chosen_of(course, names) for e in a.exercises]
    runner = collect_suites(root, [exercise.hidden_suite for exercise in exercises])
    for exercise in exercises:
        namer = Namer(runner, course, exercise)
        answers = [a for a in unseen_of(exercise, root / "tests" / "unseen") if a.means]
        for answer in answers[::share]:
            if asked := _asked(namer, answer):
                yield WrongAnswer(answer, namer.diagnosis, asked)


def _asked(namer: Namer, answer: UnseenAnswer) -> ProbeReplies | None:
    """Returns an answer's replies to the calls in the probe, or None if it needs no name."""
    own = namer.executed(answer)
    replies: list[tuple[Probe, Replies, Ask]] = []

    def keep(probe: Probe, found: Replies, ask: Ask) -> ProbeReplies:
        replies.append((probe, found, ask))
        return ProbeReplies(probe, found, ask)

    with mock.patch("autograder.grading.naming.diagnosis.ProbeReplies", keep):
        result = namer.judged(answer)
        namer.diagnosis.explain(result, partial(replies_of, own), answer.text)
    return ProbeReplies(*replies[0]) if replies else None


def _named(answers: Sequence[WrongAnswer]) -> tuple[list[str], float]:
    """Returns the name of each answer's mistake, and the CPU seconds for finding all names."""
    names, start = [], time.process_time()
    for wrong in answers:
        wrong.diagnosis._diagnosed.clear()
        found = wrong.diagnosis.diagnose(wrong.answer.question, wrong.asked, wrong.answer.text)
        names.append(found[0])
    return names, time.process_time() - start


def _in_ranks(chosen: range) -> Off:
    return lambda: _without(lambda row: not row.is_entry and row.rank in chosen)


def _off(name: str) -> Off:
    """Returns a function that switches off a step, even if `diagnosis` calls the step directly."""

    def without() -> AbstractContextManager[Any]:
        stack = ExitStack()
        for module in (unmatched, diagnosis):
            if hasattr(module, name):
                stack.enter_context(mock.patch.object(module, name, lambda *given: []))
        return stack

    return without


def _pairs_off(name: str) -> Off:
    return lambda: mock.patch.object(PairSearch, name, lambda self, *given: [])


def _stages() -> Mapping[str, Off]:
    ranks = {
        "known steps": range(1),
        "what any step may get": range(1, 200),
        "small changes": range(200, 300),
    }
    return {
        "nothing (noise)": nullcontext,
        "catalogue": lambda: _without(lambda row: row.is_entry),
        "all families": lambda: _without(lambda row: not row.is_entry),
        **{f"families: {what}": _in_ranks(chosen) for what, chosen in ranks.items()},
        "answers by chance": lambda: mock.patch.object(
            Search, "may_be_a_sample", lambda self, *given: False
        ),
        "what a table leaves open": lambda: mock.patch(
            "autograder.grading.naming.search.MOST_CALLS", 0
        ),
        "two at once": lambda: mock.patch.object(diagnosis, "pair", lambda *given: []),
        **{
            f"two at once: {what}": _pairs_off(name)
            for what, name in (
                ("pairs of the table", "_of_table"),
                ("likely members", "_equal"),
                ("two entries", "_apart"),
            )
        },
        "part of it": lambda: mock.patch.object(
            PartialSearch, "found", lambda self: SearchResult()
        ),
        "by itself": lambda: mock.patch.object(diagnosis, "unmatched_rows", lambda *given: []),
        **{
            f"by itself: {what}": _off(name)
            for what, name in (
                ("parameters", "of_parameters"),
                ("causes of errors", "of_causes"),
                ("what comes back", "_of_results"),
                ("where it is right, errors", "_of_calls"),
            )
        },
    }


def _without(is_off: Callable[[Row], bool]) -> AbstractContextManager[Any]:
    """Returns a context in which tables lack the rows for which `is_off` returns true."""
    whole = KnownMistakes.table

    def table(self: KnownMistakes, question: str) -> Table:
        found = whole(self, question)
        kept = [at for at, row in enumerate(found.rows) if not is_off(row)]
        numbers = {at: number for number, at in enumerate(kept)}
        pairs = [
            own
            for own in zip(found.pairs.ids, found.pairs.sums, strict=True)
            if own[0][1] in numbers
        ]
        ids = [(at, numbers[row], second) for (at, row, second), _ in pairs]
        sums = np.array([total for _, total in pairs], np.float32)
        return replace(
            found,
            pairs=Pairs(np.array(ids, np.int16).reshape(-1, 3), sums),
            rows=tuple(found.rows[at] for at in kept),
            cells=found.cells[np.array(kept, int)],
            samples={(numbers[r], t): s for (r, t), s in found.samples.items() if r in numbers},
            words={(numbers[r], t): words for (r, t), words in found.words.items() if r in numbers},
        )

    return mock.patch.object(KnownMistakes, "table", table)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
