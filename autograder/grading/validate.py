"""The proof of the suites: solutions, stubs, alternatives and misconceptions, each graded.

Each is handed in like a student's work, as module and as notebook, and judged like any student's.
"""

from __future__ import annotations

import ast
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..course import Course
from ..records import Assignment, Exercise, QuestionResult, SubmissionResult, Tier, Verdict
from ..sandbox import start_parent
from ..submission import Submission
from ..suite.variants import module_text, variants_in
from .run import grade_submissions

FORMS = ("module", "notebook")


@dataclass(frozen=True, slots=True)
class Case:
    """One submission with a known verdict. `question` and `name` are empty for a whole module."""

    kind: str
    exercise: Exercise
    text: str
    form: str
    question: str = ""
    name: str = ""

    @property
    def label(self) -> str:
        """How the case is called in reports."""
        parts = (self.exercise.assignment, self.exercise.name, self.question, self.name)
        return f"{self.kind} {'/'.join(part for part in parts if part)} ({self.form})"


@dataclass(frozen=True, slots=True)
class Judged:
    """A case and what the suite said; `problem` where that is not what it must say."""

    case: Case
    question: str
    verdict: Verdict
    misconception: str | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class QuestionProof:
    """One question's figures, both forms added up."""

    assignment: str
    exercise: str
    question: str
    accepted: int
    alternatives: int
    caught: int
    named: int
    misconceptions: int


@dataclass(frozen=True, slots=True)
class ValidationReport:
    """The figures by question, and every problem found."""

    questions: tuple[QuestionProof, ...]
    problems: tuple[str, ...]
    not_named: tuple[str, ...]
    tier: Tier
    cases: int = field(default=0)


def validate(
    course: Course,
    names: Sequence[str] = (),
    *,
    forms: Sequence[str] = FORMS,
    jobs: int = 2,
    tier: Tier | None = None,
    starts: Callable[[int], None] = lambda cases: None,
    judged: Callable[[], None] = lambda: None,
) -> ValidationReport:
    """Grades every case of some assignments (default: all) and says what was accepted and caught.

    `starts` is called with the number of cases, `judged` after each. Raises `IsolationUnavailable`
    without a tier, `ContentError` for content that can't be judged.
    """
    chosen = [course.assignment(name) for name in names] or list(course.assignments)
    cases = [case for a in chosen for e in a.exercises for case in cases_of(course, e, forms)]
    starts(len(cases))
    results: list[tuple[Case, SubmissionResult]] = []

    def on_result(result: SubmissionResult) -> None:
        results.append((cases[int(result.student)], result))
        judged()

    with tempfile.TemporaryDirectory(prefix="autograder-") as folder, start_parent(tier) as parent:
        tasks = list(_handed_in(Path(folder), cases, chosen))
        grade_submissions(course, tasks, parent, jobs, on_result)
        used = parent.tier
    verdicts = [item for case, result in results for item in _judgements(case, result)]
    return _report(chosen, verdicts, used, len(cases))


def cases_of(course: Course, exercise: Exercise, forms: Sequence[str]) -> Iterator[Case]:
    """Every submission of an exercise whose verdict is known."""
    solution = exercise.solution.read_text(encoding="utf-8")
    for form in forms:
        yield Case("solution", exercise, solution, form)
        if exercise.stub.is_file():
            yield Case("stub", exercise, exercise.stub.read_text(encoding="utf-8"), form)
        for kind in ("alternatives", "misconceptions"):
            path = course.variants(kind, exercise)
            for variant in variants_in(path):
                text = module_text(exercise.solution, path, variant)
                yield Case(kind[:-1], exercise, text, form, variant.question, variant.name)


def notebook_of(text: str) -> str:
    """A module as the notebook that a student would have it in: one statement a cell."""
    nodes = ast.parse(text).body
    lines = text.splitlines()
    starts = [_first_line(node) for node in nodes] + [len(lines) + 1]
    sources = [
        "\n".join(lines[start - 1 : end - 1])
        for start, end in zip(starts, starts[1:], strict=False)
    ]
    cells = [
        {"cell_type": "code", "source": source, "metadata": {}, "outputs": []} for source in sources
    ]
    cells.append({"cell_type": "code", "source": "%time print('mine')\nplt.show()"})
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def _first_line(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _handed_in(
    folder: Path, cases: Sequence[Case], assignments: Sequence[Assignment]
) -> Iterator[tuple[Submission, Assignment]]:
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


def _judgements(case: Case, result: SubmissionResult) -> Iterator[Judged]:
    if result.error is not None:
        yield Judged(case, "", Verdict.ERROR, None, f"the grader failed: {result.error}")
    for exercise in result.exercises:
        if exercise.exercise == case.exercise.name:
            for question in exercise.questions:
                yield Judged(
                    case,
                    question.question,
                    question.verdict,
                    question.misconception,
                    _problem(case, question),
                )


def _problem(case: Case, question: QuestionResult) -> str:
    right = question.verdict is Verdict.CORRECT
    if case.kind == "stub":
        if question.verdict is Verdict.NOT_IMPLEMENTED and question.score == 0:
            return ""
        return f"a stub is {question.verdict} with {question.score:g} points"
    if case.kind == "misconception" and question.question == case.question:
        return "survived: it has full marks" if right else ""
    if right:
        return ""
    message = next((test.message for test in question.tests if not test.passed), "")
    return f"{question.question} refused ({question.verdict}): {message}"


def _report(
    assignments: Sequence[Assignment], verdicts: Sequence[Judged], tier: Tier, cases: int
) -> ValidationReport:
    proofs = tuple(
        _proof(exercise, question.name, verdicts)
        for assignment in assignments
        for exercise in assignment.exercises
        for question in exercise.questions
    )
    problems = [f"{item.case.label}: {item.problem}" for item in verdicts if item.problem]
    not_named = [item.case.label for item in _targets(verdicts) if not _is_named(item)]
    return ValidationReport(proofs, tuple(problems), tuple(not_named), tier, cases)


def _proof(exercise: Exercise, question: str, verdicts: Sequence[Judged]) -> QuestionProof:
    mine = [
        item
        for item in verdicts
        if item.case.exercise == exercise and item.case.question == item.question == question
    ]
    right = [item for item in mine if item.case.kind == "alternative"]
    wrong = [item for item in mine if item.case.kind == "misconception"]
    return QuestionProof(
        assignment=exercise.assignment,
        exercise=exercise.name,
        question=question,
        accepted=sum(item.verdict is Verdict.CORRECT for item in right),
        alternatives=len(right),
        caught=sum(item.verdict is not Verdict.CORRECT for item in wrong),
        named=sum(_is_named(item) for item in wrong),
        misconceptions=len(wrong),
    )


def _targets(verdicts: Iterable[Judged]) -> Iterator[Judged]:
    for item in verdicts:
        if item.case.kind == "misconception" and item.question == item.case.question:
            yield item


def _is_named(item: Judged) -> bool:
    """Named by its own name, or `forbidden`, which names itself."""
    if item.verdict is Verdict.FORBIDDEN:
        return True
    return item.misconception == f"{item.case.exercise.name}.{item.case.name}"
