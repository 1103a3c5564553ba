"""Writes `source/<assignment>/mistakes.json`: the results of known mistakes in the public checks.

    python tools/student_mistakes.py [--check] [ASSIGNMENT ...]

A release puts the file into the bundle, so that `check` can name the likely mistake in an answer.
Each mistake in the catalog, and each likely small change to the solution, is called as `check`
calls a student's answer. The sentence that describes the mistake is looked up by the results in the
failed checks. A mistake is left out if it passes all checks, or if its results in the failed checks
equal the solution's up to rounding. A change that only raises errors is also left out, because
error messages are more helpful than such a sentence.

If a catalog entry and a change have the same results, the entry's sentence is used; likewise,
changes to known steps take precedence over other changes. Changes in the same family that have the
same results count as one mistake, with the family's sentence. If two or three sentences remain for
the same results, `check` shows all of them. The sentences of catalog entries are in the catalog's
order, in which more frequent mistakes are first. If more than three sentences remain, `check` shows
none.

A file is left unchanged if it is up to date with the checks, the catalog and the solutions' code;
`--check` exits with 1 if a file is not up to date. If only the catalog's wording has changed, only
the catalog's entries are called again, which takes seconds instead of minutes.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import io
import json
import sys
import tokenize
import warnings
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import torch

from autograder.course import Course, find_root, load_course
from autograder.course.manifest import MISTAKES
from autograder.grading.naming import families
from autograder.grading.naming.families import members
from autograder.grading.naming.known import digest_of_families, likeliest
from autograder.grading.naming.probe import silence
from autograder.grading.naming.rows import Row, hint_of
from autograder.records import Assignment, Exercise
from autograder.student import known_mistakes
from autograder.student import last_call as recording
from autograder.student.known_mistakes import MOST_SENTENCES, RAISED, Answers, sealed
from autograder.student.runner import answers_in, answers_in_turn
from autograder.suite import LocalImplementation
from autograder.suite.variants import Variant, variants_in, without_words

#: the rank of a catalog entry, which is lower than the ranks of all changes
_ENTRY = -1
#: the results in each failing check, as a key
Key = tuple[tuple[str, Sequence[str]], ...]


def main(arguments: Sequence[str]) -> int:
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
        if not is_current(course, assignment) and not _reword(course, assignment):
            _write(course, assignment)
    return 0


def is_current(course: Course, assignment: Assignment) -> bool:
    """Returns whether an assignment's file is up to date with everything on which it depends."""
    document = _read(course, assignment)
    digests = _digest(course, assignment), _digest_of_words(course, assignment)
    return (document.get("of"), document.get("words")) == digests


def sentences(course: Course, exercise: Exercise) -> dict[str, dict[str, str]]:
    """Returns the encrypted sentences about an exercise's mistakes, keyed by question."""
    found: defaultdict[str, dict[Key, dict[int, dict[tuple[str, str], None]]]]
    found = defaultdict(lambda: defaultdict(lambda: defaultdict(dict)))
    variants = variants_in(course.variants("misconceptions", exercise))
    ranked = {v: (_ENTRY, hint_of(v), hint_of(v)) for v in variants} | changes_of(exercise)
    for variant, answers in answers_of(exercise, [*ranked]).items():
        rank, own, general = ranked[variant]
        if answers and (rank == _ENTRY or not _only_raises(answers)):
            found[variant.question][tuple(sorted(answers.items()))][rank][own, general] = None
    first = {
        question: {
            key: [own for own, _ in by_rank[_ENTRY]]
            if _ENTRY in by_rank
            else _of_families(by_rank[min(by_rank)])
            for key, by_rank in of_question.items()
        }
        for question, of_question in found.items()
    }
    return {question: _sealed(hints) for question, hints in first.items()}


def entry_sentences(course: Course, exercise: Exercise) -> dict[str, dict[str, str]]:
    """Returns the encrypted sentences for an exercise's catalog entries only, keyed by question."""
    found: defaultdict[str, defaultdict[Key, list[str]]] = defaultdict(lambda: defaultdict(list))
    variants = variants_in(course.variants("misconceptions", exercise))
    for variant, answers in answers_of(exercise, variants).items():
        if answers:
            found[variant.question][tuple(sorted(answers.items()))].append(hint_of(variant))
    return {question: _sealed(hints) for question, hints in found.items()}


def _sealed(hints: Mapping[Key, Iterable[str]]) -> dict[str, str]:
    distinct = {key: [*dict.fromkeys(of_key)] for key, of_key in hints.items()}
    return dict(
        sealed(of_key, dict(key))
        for key, of_key in distinct.items()
        if len(of_key) <= MOST_SENTENCES
    )


def _of_families(hints: Iterable[tuple[str, str]]) -> list[str]:
    """Returns a sentence for each family: the general one if there are several precise ones."""
    precise: defaultdict[str, set[str]] = defaultdict(set)
    for own, general in hints:
        precise[general].add(own)
    return sorted({own.pop() if len(own) == 1 else general for general, own in precise.items()})


def changes_of(exercise: Exercise) -> dict[Variant, tuple[int, str, str]]:
    """Returns each likely small change, with its rank, its sentence and its family's sentence."""
    right = LocalImplementation.from_file(exercise.solution).namespace
    found: dict[Variant, tuple[int, str, str]] = {}
    for question in exercise.questions:
        for number, member in likeliest(list(members(exercise.solution, question.name, right))):
            with silence():
                own = member.change.answer()
            if own is not None:
                row = Row.of_member(member, number)
                if not row.is_vague:  # a vague one would fit too many answers
                    variant = Variant(question.name, f"{row.name} {number}", own)
                    found[variant] = member.rank, row.precise, row.hint
    return found


def answers_of(exercise: Exercise, variants: Sequence[Variant]) -> dict[Variant, Answers]:
    """Returns each mistake's results in those checks that it fails.

    A mistake whose results in these checks equal the solution's up to rounding is left out. The
    checks run repeatedly, each time with one mistake for every question. If a mistake calls answers
    to other questions, these are correct.
    """
    solution = LocalImplementation.from_file(exercise.solution)
    right = solution.namespace
    of_solution = answers_in(exercise.public_suite, solution, in_all=True)
    by_question: defaultdict[str, list[Variant]] = defaultdict(list)
    for variant in variants:
        by_question[variant.question].append(variant)
    turns = [
        {v.question: v for v in together if v is not None}
        for together in zip_longest(*by_question.values())
    ]
    asked = [
        (LocalImplementation({**right, **{n: v.implementation for n, v in wrong.items()}}), wrong)
        for wrong in turns
    ]
    answers: dict[Variant, Answers] = {}
    for wrong, found in zip(turns, answers_in_turn(exercise.public_suite, asked), strict=True):
        answers |= {
            variant: found[name]
            for name, variant in wrong.items()
            if not _is_beginning_of(found[name], of_solution[name])
        }
    return answers


def _is_beginning_of(answers: Answers, right: Answers) -> bool:
    """Returns whether the solution's results begin with these results, which show no mistake."""
    return all(
        tuple(results) == tuple(right[check])[: len(results)] for check, results in answers.items()
    )


def _only_raises(answers: Answers) -> bool:
    """Returns whether each failing check ends with an error that the answer raises."""
    return all(found[-1:] and found[-1].startswith(RAISED) for found in answers.values())


def _read(course: Course, assignment: Assignment) -> dict[str, Any]:
    try:
        return dict(json.loads(_place(course, assignment).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return {}


def _reword(course: Course, assignment: Assignment) -> bool:
    """Writes the file again if only the catalog's wording has changed; returns whether it has.

    Only entries' sentences are replaced. All other sentences stay, because an entry's sentence
    takes precedence over the sentences of changes with the same results.
    """
    document = _read(course, assignment)
    if document.get("of") != _digest(course, assignment):
        return False
    for exercise in assignment.exercises:
        for question, entries in entry_sentences(course, exercise).items():
            known = document["questions"].get(question, {})
            if not entries.keys() <= known.keys():
                return False
            known.update(entries)
    print(f"{assignment.name}: new words")
    _keep(course, assignment, document["questions"])
    return True


def _write(course: Course, assignment: Assignment) -> None:
    questions: dict[str, Mapping[str, str]] = {}
    for exercise in assignment.exercises:
        questions |= sentences(course, exercise)
    known = sum(map(len, questions.values()))
    print(f"{assignment.name}: {known} sentences")
    _keep(course, assignment, questions)


def _keep(course: Course, assignment: Assignment, questions: Mapping[str, object]) -> None:
    digests = {
        "of": _digest(course, assignment),
        "words": _digest_of_words(course, assignment),
    }
    document = {**digests, "questions": questions}
    text = json.dumps(document, indent=1, sort_keys=True) + "\n"
    _place(course, assignment).write_text(text, encoding="utf-8")


def _place(course: Course, assignment: Assignment) -> Path:
    return course.root / "source" / assignment.name / MISTAKES


def _digest(course: Course, assignment: Assignment) -> str:
    """Returns a digest of everything on which the file depends, except the catalog's wording."""
    files = [Path(families.__file__).with_name("words.toml")]
    modules = (__file__, known_mistakes.__file__, recording.__file__)
    codes = [digest_of_families()]
    codes += [code_of(Path(module).read_text(encoding="utf-8")) for module in modules]
    for exercise in assignment.exercises:
        files.append(exercise.public_suite)
        codes.append(without_words(_catalogue(course, exercise)))
        codes.append(code_of(exercise.solution.read_text(encoding="utf-8")))
    texts = (path.read_bytes() for path in files if path.is_file())
    return hashlib.sha256(b"\0".join([*(code.encode() for code in codes), *texts])).hexdigest()


def _digest_of_words(course: Course, assignment: Assignment) -> str:
    catalogues = (_catalogue(course, exercise) for exercise in assignment.exercises)
    return hashlib.sha256("\0".join(catalogues).encode()).hexdigest()


def _catalogue(course: Course, exercise: Exercise) -> str:
    path = course.variants("misconceptions", exercise)
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def code_of(text: str) -> str:
    """Returns a module's lines without docstrings, comments and imports of our own modules.

    None of these lines affects a result, and neither does a function's position.
    """
    lines = text.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    for node in ast.walk(ast.parse(text)):
        gone: ast.stmt | None = None
        if isinstance(node, documented) and ast.get_docstring(node) is not None:
            gone = node.body[0]
        elif isinstance(node, ast.ImportFrom) and (
            node.level or (node.module or "").startswith("autograder")
        ):
            gone = node
        if gone is not None:
            for row in range(gone.lineno - 1, gone.end_lineno or gone.lineno):
                lines[row] = ""
    return "\n".join(line.rstrip() for line in lines if line.strip())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
