"""Tests the hidden suites, which must reject every harmful small change to a solution.

    python -m tools.mutation [ASSIGNMENT[/EXERCISE] ...]

A mutant is a solution with one change. The mutants include the wrong answers in
tests/unseen/attack, which were written to look correct to the suites, and those in
tests/unseen/promise, where each answer breaks one promise in the text of its question. Mutants run
in this process, because they are our own code. A mutant survives if no test fails. Exits with 1 if
tests/mutation/equivalent.toml does not explain a surviving mutant, or if an entry in that file
explains no survivor.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import signal
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import torch

from autograder.course import Course, find_root, load_course
from autograder.grading.judging.suites import SuiteRunner, collect_suites
from autograder.grading.validation.cases import chosen_of
from autograder.records import Exercise
from autograder.suite.local import LocalImplementation
from autograder.suite.traits import declarations
from tools.unseen import judged_of

from .behaviours import behaviours, restore
from .equivalent import Equivalent, read_equivalents
from .mutants import Mutant, mutants_of

#: the limits on a mutant's CPU time and on the process's memory, because a changed bound may cause
#: an endless loop or a huge allocation
_SECONDS, _BYTES = 20.0, 8 << 30
_SEED = 1
#: small changes to a solution's text, behavioral defects around a right solution, and answers that
#: were written to pass as right
KINDS = ("text", "behaviour", "attack")


@dataclass(frozen=True, slots=True)
class MutationResults:
    """The results for the mutants of one exercise."""

    exercise: str
    mutants: int
    survivors: tuple[Mutant, ...]
    seconds: float


def main(arguments: Sequence[str]) -> int:
    options = _options(arguments)
    root = find_root(Path.cwd())
    course = load_course(root)
    exercises = [e for a in chosen_of(course, options.names) for e in a.exercises]
    known = read_equivalents(root / "tests" / "mutation" / "equivalent.toml")
    modules = {f"{e.assignment}/{e.name}" for e in exercises}
    kinds = frozenset([options.only] if options.only else KINDS)
    known = tuple(item for item in known if _kind_of(item) in kinds)
    start = time.perf_counter()
    figures = list(_run(course, exercises, kinds, options.jobs))
    print(
        f"{time.perf_counter() - start:.0f} s with {options.jobs} jobs, "
        f"{sum(f.seconds for f in figures):.0f} s of CPU time"
    )
    return _report(figures, [item for item in known if item.module in {*modules, "*"}])


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make mutation", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="ASSIGNMENT[/EXERCISE]")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", choices=KINDS, help="only mutants of that kind")
    return parser.parse_args(arguments)


def _run(
    course: Course, exercises: Sequence[Exercise], kinds: frozenset[str], jobs: int
) -> Iterator[MutationResults]:
    torch.set_num_threads(1)
    fork = multiprocessing.get_context("fork")
    tasks = [(course.root, exercise, kinds) for exercise in exercises]
    with ProcessPoolExecutor(jobs, mp_context=fork) as pool:
        for figures in pool.map(_exercise, *zip(*tasks, strict=True)):
            killed = figures.mutants - len(figures.survivors)
            print(f"{figures.exercise}: {killed} of {figures.mutants} mutants fail", flush=True)
            yield figures


def _exercise(root: Path, exercise: Exercise, kinds: frozenset[str]) -> MutationResults:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # torch warns about mutants
    resource.setrlimit(resource.RLIMIT_AS, (_BYTES, _BYTES))
    signal.signal(signal.SIGPROF, _too_long)
    start = time.process_time()
    questions = frozenset(question.name for question in exercise.questions)
    mutants = [*mutants_of(exercise.solution, questions)] if "text" in kinds else []
    mutants += [*_behaving(exercise)] if "behaviour" in kinds else []
    mutants += [*_attacking(root, exercise)] if "attack" in kinds else []
    runner = collect_suites(root, [exercise.hidden_suite])
    survivors = tuple(m for m in mutants if _survives(runner, exercise.hidden_suite, m))
    name = f"{exercise.assignment}/{exercise.name}"
    return MutationResults(name, len(mutants), survivors, time.process_time() - start)


def _behaving(exercise: Exercise) -> Iterator[Mutant]:
    source = exercise.solution.read_text(encoding="utf-8")
    module = f"{exercise.assignment}/{exercise.name}"
    for traits in declarations(exercise.hidden_suite):
        for name, text in behaviours(traits, source):
            yield Mutant(module, traits.question, "behaviour", "", name, text)


def _attacking(root: Path, exercise: Exercise) -> Iterator[Mutant]:
    source = exercise.solution.read_text(encoding="utf-8")
    module = f"{exercise.assignment}/{exercise.name}"
    for answer in judged_of(exercise, root):
        if answer.means:
            text = f"{source}\n\n{answer.text}\n"
            yield Mutant(module, answer.question, "attack", "", answer.means, text)


def _kind_of(item: Equivalent) -> str:
    return item.operator if item.operator in KINDS else "text"


def _survives(runner: SuiteRunner, suite: Path, mutant: Mutant) -> bool:
    torch.manual_seed(_SEED)  # always get the same verdict, even for random answers
    signal.setitimer(signal.ITIMER_PROF, _SECONDS)
    try:
        with torch.enable_grad():  # a mutant may have left gradients off
            namespace: dict[str, object] = {"__name__": "_mutant"}
            exec(compile(mutant.source, mutant.module, "exec"), namespace)
            answer = LocalImplementation(namespace, mutant.source)
            return runner.first_failure(suite, mutant.question, answer, _SEED) is None
    except TimeoutError:
        return False
    finally:
        restore()
        signal.setitimer(signal.ITIMER_PROF, 0.0)


def _too_long(signum: int, frame: FrameType | None) -> None:
    raise TimeoutError(f"more than {_SECONDS:g} s of CPU time")


def _report(figures: Sequence[MutationResults], known: Sequence[Equivalent]) -> int:
    survivors = [mutant for item in figures for mutant in item.survivors]
    unexplained = [m for m in survivors if not any(item.fits(m) for item in known)]
    stale = [item for item in known if not any(item.fits(m) for m in survivors)]
    for mutant in unexplained:
        print(f"\nsurvived: {mutant.module} {mutant.question}, {mutant.operator}")
        print("\n".join(f"  - {line}" for line in mutant.before.splitlines()))
        print("\n".join(f"  + {line}" for line in mutant.after.splitlines()))
    for item in stale:
        print(f"\nexplains no survivor (remove it from equivalent.toml): {item}")
    total = sum(item.mutants for item in figures)
    print(
        f"\n{total} mutants: {total - len(survivors)} fail, "
        f"{len(survivors) - len(unexplained)} change nothing that is judged (explained), "
        f"{len(unexplained)} unexplained; {len(stale)} stale explanations"
    )
    return 1 if unexplained or stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
