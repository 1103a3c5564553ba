"""Makes submissions with known verdicts: solutions, stubs, alternatives, mistakes and others.

Each submission is made in two forms: as a module and as a notebook.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ... import parts
from ...course import Course
from ...course.content import VARIANTS
from ...course.points import points_by_question
from ...course.rules import rules_beside
from ...errors import ContentError, UserError
from ...records import Assignment, Exercise
from ...submission import Submission
from ...submission.text import first_line_of
from ...suite.names import definition_of
from ...suite.variants import Variant, module_texts, variants_of_text
from ..judging.parts import PACKAGE, modules_of
from ..naming.unmatched import is_description

FORMS = ("module", "notebook")


@dataclass(frozen=True, slots=True)
class Case:
    """A submission with a known verdict; `question` and `name` are empty for a whole module.

    If a mistake is named in a combination, or in an answer with a known intent, this name must be
    in `fitting`.
    """

    kind: str
    exercise: Exercise
    text: str
    form: str
    question: str = ""
    name: str = ""
    fitting: tuple[str, ...] = ("",)

    @property
    def label(self) -> str:
        parts = (self.exercise.assignment, self.exercise.name, self.question, self.name)
        return f"{self.kind} {'/'.join(part for part in parts if part)} ({self.form})"


def chosen_of(course: Course, names: Sequence[str]) -> tuple[Assignment, ...]:
    """Returns the named assignments, each with the named exercises; by default, returns all.

    Raises `UserError` for a name that the course does not have.
    """
    wanted: dict[str, set[str]] = {}
    for name in names:
        assignment, _, exercise = name.partition("/")
        known = {item.name for item in course.assignment(assignment).exercises}
        if exercise and exercise not in known:
            raise UserError(
                f"{assignment} has no exercise {exercise!r}; it has: {', '.join(sorted(known))}"
            )
        wanted.setdefault(assignment, set()).update({exercise} if exercise else known)
    if not names:
        return course.assignments
    return tuple(
        replace(item, exercises=tuple(e for e in item.exercises if e.name in wanted[item.name]))
        for item in course.assignments
        if item.name in wanted
    )


def check_declarations(course: Course, chosen: Sequence[Assignment]) -> None:
    """Raises `ContentError` for the first file that can't be read or contains an unknown name.

    Nothing else would notice such a file: an answer to a question that does not exist is the
    solution with one more function, and grading never reports a mistake that does not exist.
    """
    for assignment in chosen:
        rules_beside(assignment.exercises[0].hidden_suite)
        for exercise in assignment.exercises:
            for suite in (exercise.hidden_suite, exercise.public_suite):
                points_by_question(exercise, suite)
            mistakes = _variants(course.variants("misconceptions", exercise))
            for kind in VARIANTS:
                _check_variants(exercise, course.variants(kind, exercise), mistakes)


def _check_variants(exercise: Exercise, path: Path, mistakes: Sequence[Variant]) -> None:
    known = [question.name for question in exercise.questions]
    for variant in _variants(path):
        if variant.question not in known:
            problem = f"{exercise.name} has no question {variant.question!r}"
            raise _unknown(path, variant, problem, known)
        own = [mistake.name for mistake in mistakes if mistake.question == variant.question]
        for name in variant.names:
            if name not in own and not is_description(name):
                problem = f"{variant.question} has no known mistake {name!r}"
                raise _unknown(path, variant, problem, own)


def _unknown(path: Path, variant: Variant, problem: str, known: Sequence[str]) -> ContentError:
    node = definition_of(path.read_text(encoding="utf-8"), variant.name)
    line = first_line_of(node) if node else None
    return ContentError(path, line, f"{variant.name}: {problem}", f"use one of: {', '.join(known)}")


def _variants(path: Path) -> Sequence[Variant]:
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    try:
        return variants_of_text(text)
    except SyntaxError as error:
        problem = f"not valid Python: {error.msg}"
        raise ContentError(path, error.lineno, problem, "fix the line") from error
    except (TypeError, ValueError) as error:
        fix = "write each decorator's arguments as in docs/authoring.md, as text in quotes"
        raise ContentError(path, None, f"a decorator can't be read: {error}", fix) from error


def cases_of(course: Course, exercise: Exercise, forms: Sequence[str]) -> Iterator[Case]:
    """Yields every case for an exercise: the submissions whose verdicts are known."""
    solution = exercise.solution.read_text(encoding="utf-8")
    for form in forms:
        yield Case("solution", exercise, solution, form)
        if exercise.stub.is_file():
            yield Case("stub", exercise, exercise.stub.read_text(encoding="utf-8"), form)
        for kind in VARIANTS:
            for variant, text in module_texts(exercise.solution, course.variants(kind, exercise)):
                fitting = ("", *variant.names)
                yield Case(kind[:-1], exercise, text, form, variant.question, variant.name, fitting)
        for question, name, text in part_texts(exercise):
            yield Case("part", exercise, text, form, question, name)


def notebook_of(text: str) -> str:
    """Converts a module to a notebook with a cell for each statement, and a magic command last."""
    nodes = ast.parse(text).body
    lines = text.splitlines()
    starts = [first_line_of(node) for node in nodes] + [len(lines) + 1]
    sources = [
        "\n".join(lines[start - 1 : end - 1])
        for start, end in zip(starts, starts[1:], strict=False)
    ]
    cells = [
        {"cell_type": "code", "source": source, "metadata": {}, "outputs": []} for source in sources
    ]
    cells.append({"cell_type": "code", "source": "%time print('mine')\nplt.show()"})
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def write_submissions(
    folder: Path, cases: Sequence[Case], assignments: Sequence[Assignment]
) -> Iterator[tuple[Submission, Assignment]]:
    """Writes each case as a student's submission; the case's number is the student's name."""
    by_name = {assignment.name: assignment for assignment in assignments}
    for number, case in enumerate(cases):
        place = folder / str(number) / case.exercise.assignment
        place.mkdir(parents=True)
        if case.form == "module":
            (place / f"{case.exercise.name}.py").write_text(case.text, encoding="utf-8")
        else:
            text = notebook_of(case.text)
            (place / f"{case.exercise.name}.ipynb").write_text(text, encoding="utf-8")
        submission = Submission(str(number), case.exercise.assignment, place)
        yield submission, by_name[case.exercise.assignment]


def part_texts(exercise: Exercise) -> Iterator[tuple[str, str, str]]:
    """Yields a module for each way of submitting a part as an answer: question, name and text."""
    for question in exercise.questions:
        if question.name in parts.__all__:
            for name, answer in _answers(question.name):
                yield question.name, name, _answered_by(exercise, question.name, answer)


def _answers(part: str) -> Iterator[tuple[str, str]]:
    text = modules_of((part,))[-1].text.replace("from .", f"from {PACKAGE}.")
    yield "imported_part", f"from {PACKAGE} import {part}\n"
    if isinstance(_definition(text, part), ast.ClassDef):
        # This is not a subclass: if the part is not given, the module would then fail when it is
        # imported.
        own = f"class {part}:\n    def __new__(cls, *args):\n        return parts.{part}(*args)\n"
    else:
        own = f"def {part}(*arguments):\n    return parts.{part}(*arguments)\n"
    yield "wrapped_part", f"from autograder import parts\n\n\n{own}"
    yield "text_of_a_part", text
    yield "text_of_a_part_in_other_words", _in_other_words(text)


def _answered_by(exercise: Exercise, question: str, answer: str) -> str:
    """Returns the solution with a different answer to one question; keeps future imports first."""
    solution = ast.parse(exercise.solution.read_text(encoding="utf-8"))
    solution.body = [node for node in solution.body if getattr(node, "name", "") != question]
    text = ast.unparse(solution) + "\n\n\n" + answer
    future = "from __future__ import annotations\n"
    return future + text.replace(future, "")


def _definition(text: str, name: str) -> ast.stmt:
    found = definition_of(text, name)
    if found is None:
        raise LookupError(f"{name} is not defined in the module of its part")
    return found


def _in_other_words(text: str) -> str:
    """Returns a function's text with its own names changed, and without its comments and layout."""
    tree = ast.parse(text)
    for function in [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]:
        own = {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
        own |= {
            node.id
            for node in ast.walk(function)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        for node in ast.walk(function):
            if isinstance(node, ast.arg) and node.arg in own - {"self"}:
                node.arg = f"my_{node.arg}"
            elif isinstance(node, ast.Name) and node.id in own - {"self"}:
                node.id = f"my_{node.id}"
    return ast.unparse(tree) + "\n"
