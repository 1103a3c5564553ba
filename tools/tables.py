"""Makes the missing tables of known mistakes in `tests/tables`.

    python tools/tables.py [--check] [ASSIGNMENT[/EXERCISE] ...]

A table contains the results that a question's known mistakes give, so that grading can compare a
wrong answer's results with them. The table belongs to the current suite, solution and catalog, and
is committed with them. With `--check`, no table is made; the exit code is 1 if a table is missing
or out of date.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import torch

from autograder.course import Course, find_root, load_course
from autograder.grading.exercises import ask_text
from autograder.grading.judging.suites import collect_suites
from autograder.grading.naming.known import KnownMistakes
from autograder.grading.suite_engine import SuiteEngine
from autograder.records import Assignment, Exercise
from autograder.sandbox import ForkServer


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("names", nargs="*", metavar="ASSIGNMENT[/EXERCISE]")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    course = load_course(find_root(Path.cwd()))
    old = 0
    with SuiteEngine(course, seed=1).start_sandbox(None, course.assignments, 1) as fork_server:
        for assignment, exercise in _chosen(course, options.names):
            for question, known in _without(course, assignment, exercise, fork_server):
                old += 1
                place = f"{assignment.name}/{exercise.name}/{question}"
                if options.check:
                    print(f"{place}: the table is missing, or of an earlier suite: make tables")
                    continue
                began = time.process_time()
                known.renew_table(question)
                print(f"{place}: {time.process_time() - began:.1f} s of CPU time", flush=True)
    return 1 if old and options.check else 0


def _chosen(course: Course, names: Sequence[str]) -> Iterator[tuple[Assignment, Exercise]]:
    for assignment in course.assignments:
        for exercise in assignment.exercises:
            if not names or {assignment.name, f"{assignment.name}/{exercise.name}"} & {*names}:
                yield assignment, exercise


def _without(
    course: Course, assignment: Assignment, exercise: Exercise, fork_server: ForkServer
) -> Iterator[tuple[str, KnownMistakes]]:
    """Yields each of an exercise's questions without a current table, and the known mistakes."""
    runner = collect_suites(course.root, [exercise.hidden_suite])
    ask = partial(ask_text, fork_server, assignment, exercise)
    known = KnownMistakes(runner, course, exercise, ask)
    for question in (question.name for question in exercise.questions):
        if not known.has_table(question):
            yield question, known


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
