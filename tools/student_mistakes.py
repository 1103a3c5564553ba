"""Writes what known mistakes answer to the public checks: `source/<assignment>/mistakes.json`.

    python tools/student_mistakes.py [--check] [ASSIGNMENT ...]

Release puts it into the bundle, so that `check` says of an answer what it seems to confuse. Each
mistake of the catalogue is asked what the checks ask; what it answers is the key to its sentence.
It is left out where it passes the checks, where chance is part of it, where no check shows a value
that is wrong, and where another mistake with another sentence answers the same. `--check` ends
with 1 where a file was not written for what its checks, catalogue and solutions are now.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import warnings
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch

from autograder.course import Course, find_root, load_course
from autograder.course.manifest import MISTAKES
from autograder.grading.judging.suites import SuiteRunner, collect_suites
from autograder.grading.naming.rows import hint_of
from autograder.records import Assignment, Exercise
from autograder.student import known_mistakes, recording
from autograder.student.known_mistakes import RAISED, sealed
from autograder.student.recording import Recorder
from autograder.suite import LocalImplementation
from autograder.suite.variants import variants_in

_SEED = 0  # the one that students' checks are drawn from

#: all that came in the checks of a question
Said = tuple[str, ...]


def main(arguments: Sequence[str]) -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("names", nargs="*", metavar="ASSIGNMENT")
    options = parser.parse_args(arguments)
    course = load_course(find_root(Path.cwd()))
    chosen = [a for a in course.assignments if not options.names or a.name in options.names]
    if options.check:
        old = [a.name for a in chosen if not is_current(course, a)]
        print(f"not current: {', '.join(old)}: make student-mistakes" if old else "all current")
        return 1 if old else 0
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    for assignment in chosen:
        _write(course, assignment)
    return 0


def is_current(course: Course, assignment: Assignment) -> bool:
    """Whether an assignment's file was written for what it depends on now."""
    try:
        text = _place(course, assignment).read_text(encoding="utf-8")
        return bool(json.loads(text)["of"] == _digest(course, assignment))
    except (OSError, ValueError, KeyError):
        return False


def sentences(course: Course, runner: SuiteRunner, exercise: Exercise) -> dict[str, dict[str, str]]:
    """Sealed sentences of the mistakes of an exercise, by question."""
    right = LocalImplementation.from_file(exercise.solution)
    found: defaultdict[str, defaultdict[Said, set[str]]] = defaultdict(lambda: defaultdict(set))
    expected = {q.name: _said(runner, exercise, q.name, right) for q in exercise.questions}
    for variant in variants_in(course.variants("misconceptions", exercise)):
        names = {**right.namespace, variant.question: variant.implementation}
        own = LocalImplementation(names)
        said = _said(runner, exercise, variant.question, own)
        if said == _said(runner, exercise, variant.question, own):  # else it is by chance
            found[variant.question][said].add(hint_of(variant))
    return {
        question: dict(
            sealed(min(hints), said)
            for said, hints in of_question.items()
            if len(hints) == 1 and _has_a_wrong_value(said, expected[question])
        )
        for question, of_question in found.items()
    }


def _said(runner: SuiteRunner, exercise: Exercise, question: str, own: LocalImplementation) -> Said:
    recorder = Recorder(own)
    runner.judge(exercise.public_suite, recorder, _SEED, only=question)
    return tuple(recorder.said)


def _has_a_wrong_value(said: Said, right: Said) -> bool:
    """Whether one of the first things that differ is a value: an error alone says little."""
    pairs = zip(said, right, strict=False)
    return any(one != other and not one.startswith(RAISED) for one, other in pairs)


def _write(course: Course, assignment: Assignment) -> None:
    runner = collect_suites(course.root, [e.public_suite for e in assignment.exercises])
    questions: dict[str, Mapping[str, str]] = {}
    for exercise in assignment.exercises:
        questions |= sentences(course, runner, exercise)
    known = sum(map(len, questions.values()))
    print(f"{assignment.name}: {known} sentences")
    document = {"of": _digest(course, assignment), "questions": questions}
    text = json.dumps(document, indent=1, sort_keys=True) + "\n"
    _place(course, assignment).write_text(text, encoding="utf-8")


def _place(course: Course, assignment: Assignment) -> Path:
    return course.root / "source" / assignment.name / MISTAKES


def _digest(course: Course, assignment: Assignment) -> str:
    """Of all that the file depends on."""
    files = [Path(known_mistakes.__file__), Path(recording.__file__)]
    for exercise in assignment.exercises:
        files += [exercise.public_suite, exercise.solution]
        files.append(course.variants("misconceptions", exercise))
    texts = (path.read_bytes() for path in files if path.is_file())
    return hashlib.sha256(b"\0".join(texts)).hexdigest()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
