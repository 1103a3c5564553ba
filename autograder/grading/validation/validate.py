"""Checks the suites by grading solutions, stubs, alternatives, mistakes and combinations.

Each case is submitted as a module and as a notebook, and judged like a student's work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace

from ...counts import number_of
from ...course import Course
from ...records import Assignment, Exercise, QuestionResult, SubmissionResult, Tier, Verdict
from ...sandbox import ForkServer, start_fork_server, temporary_folder
from ...sandbox.replies import Batch
from ...suite.traits import traits_of
from ...suite.traits.declaration import GENERATED
from ..engine import Scope
from ..jobs import Jobs
from ..judging.suites import collect_suites
from ..naming.diagnosis import Diagnosis
from ..naming.store import Store
from ..sources import ListedSubmissions
from ..suite_engine import SuiteEngine
from .cases import FORMS, Case, cases_of, check_declarations, chosen_of, write_submissions
from .rule_proofs import rule_problems

#: the seed for all cases' inputs; a class has a seed for each attempt, and `make soak` draws many
SEED = 1


@dataclass(frozen=True, slots=True)
class JudgedCase:
    """A case and its verdict; `problem` says what is wrong with the verdict, if anything."""

    case: Case
    question: str
    verdict: Verdict
    misconception: str | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class QuestionProof:
    """The number of cases of each kind for a question, counting modules and notebooks together."""

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
    """The numbers of cases for each question, and every problem that was found.

    For each question, `traits` says which tests show each trait, and `rules` says which tests check
    each general rule; see `suite.traits`. `slow` contains right answers that need much of the time
    limit for a question: a slower machine might refuse them.
    """

    questions: tuple[QuestionProof, ...]
    problems: tuple[str, ...]
    not_named: tuple[str, ...]
    not_told_apart: tuple[str, ...]
    tier: Tier
    cases: int
    traits: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    rules: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    slow: tuple[str, ...] = ()


#: a right answer is slow if grading it takes more than this share of a question's time limit
_MUCH = 0.5
#: advice for authors if a generated test rejects an answer that they know is correct
_ROUNDING = (
    "\n  if this answer is right and only its rounding differs, let the generated tests compute in "
    "float64: Traits(..., dtype=torch.float64) in the hidden suite"
)


def validate(
    course: Course,
    names: Sequence[str] = (),
    *,
    forms: Sequence[str] = FORMS,
    jobs: int = 2,
    seed: int = SEED,
    wanted: Callable[[Case], bool] = lambda case: True,
    starts: Callable[[int], None] = lambda cases: None,
    judged: Callable[[], None] = lambda: None,
    on_question: Callable[[Case, QuestionResult], None] = lambda case, result: None,
    start_sandbox: Callable[[], AbstractContextManager[ForkServer]] = start_fork_server,
) -> ValidationReport:
    """Grades every case for some assignments or exercises (default: all).

    Each of `names` is `ASSIGNMENT` or `ASSIGNMENT/EXERCISE`. Only cases for which `wanted` returns
    True are graded. All cases get the same inputs, which depend on `seed`, so that the results that
    known mistakes give are computed only once. `starts` is called with the number of cases,
    `judged` after each case, and `on_question` with each question's result. `start_sandbox`
    provides the fork server. The results that known mistakes give are stored in the course, so that
    other users of the course need not compute them. Raises `IsolationUnavailable` if no tier works,
    `UserError` for a name that the course does not have, and `ContentError` for content that can't
    be judged.
    """
    chosen = chosen_of(course, names)
    check_declarations(course, chosen)
    cases = [case for a in chosen for e in a.exercises for case in cases_of(course, e, forms)]
    cases = [case for case in cases if wanted(case)]
    starts(len(cases))
    results: list[tuple[Case, SubmissionResult]] = []

    def on_result(result: SubmissionResult) -> None:
        case = cases[int(result.student)]
        results.append((case, result))
        for question in _questions_of(case, result):
            on_question(case, question)
        judged()

    tiers: list[Tier | None] = []
    with temporary_folder() as folder:
        engine = SuiteEngine(course, lambda tier: start_sandbox(), seed)
        source = ListedSubmissions(write_submissions(folder, cases, chosen))
        Jobs(jobs=jobs).grade(Scope.of(engine, chosen), source, on_result, tiers.append)
    exercises = [e for assignment in course.assignments for e in assignment.exercises]
    Store(course.root).remove_others(f"{e.name}-{q.name}" for e in exercises for q in e.questions)
    verdicts = [item for case, result in results for item in _judgements(case, result)]
    report = _report(chosen, verdicts, tiers[0] or Tier.NONE, len(cases))
    report = replace(report, slow=tuple(_slow(chosen, results)))
    report = _with_traits(chosen, _with_pairs(course, report, verdicts))
    return _with_rules(course, chosen, report)


def _slow(
    chosen: Sequence[Assignment], results: Sequence[tuple[Case, SubmissionResult]]
) -> Iterator[str]:
    limits = {assignment.name: assignment.limits.cpu_seconds for assignment in chosen}
    for case, result in results:
        limit = limits[case.exercise.assignment]
        if case.kind in ("solution", "alternative") and result.seconds > _MUCH * limit:
            yield f"{case.label} takes {result.seconds:.1f} s; the limit is {limit:g} s of CPU time"


def _judgements(case: Case, result: SubmissionResult) -> Iterator[JudgedCase]:
    if result.error is not None:
        yield JudgedCase(case, "", Verdict.ERROR, None, f"the grader failed: {result.error}")
    for question in _questions_of(case, result):
        problem = _problem(case, question)
        yield JudgedCase(case, question.question, question.verdict, question.misconception, problem)


def _questions_of(case: Case, result: SubmissionResult) -> Iterator[QuestionResult]:
    for exercise in result.exercises:
        if exercise.exercise == case.exercise.name:
            yield from exercise.questions


def _problem(case: Case, question: QuestionResult) -> str:
    right = question.verdict is Verdict.CORRECT
    if case.kind == "stub":
        if question.verdict is Verdict.NOT_IMPLEMENTED and question.score == 0:
            return ""
        if question.verdict is Verdict.MISSING:
            return f"the stub in assignments/ has no {question.question}: run autograder release"
        return (
            f"{question.question} is {question.verdict} with {number_of(question.score, 'point')}"
        )
    if case.kind == "misconception" and question.question == case.question:
        return "was not caught: it got full credit" if right else ""
    if case.kind == "part" and question.question == case.question:
        if question.verdict is Verdict.FORBIDDEN and question.score == 0:
            return ""
        got = f"{question.verdict} with {number_of(question.score, 'point')}"
        return f"a part submitted as the answer is {got}; expected {Verdict.FORBIDDEN} with 0"
    if case.kind == "combination" and question.question == case.question:
        if right:
            return "was not caught: it got full credit"
        name = (question.misconception or "").removeprefix(f"{case.exercise.name}.")
        return f"named {name}, which is a different mistake" if name not in case.fitting else ""
    if right:
        return ""
    failed = next((test for test in question.tests if not test.passed), None)
    message = failed.message if failed else ""
    hint = _ROUNDING if failed and _is_generated(failed.name) else ""
    return f"{question.question} rejected ({question.verdict}): {message}{hint}"


def _is_generated(test: str) -> bool:
    return test.rpartition("[")[2].removesuffix("]") in GENERATED


def _report(
    assignments: Sequence[Assignment], verdicts: Sequence[JudgedCase], tier: Tier, cases: int
) -> ValidationReport:
    proofs = tuple(
        _proof(exercise, question.name, verdicts)
        for assignment in assignments
        for exercise in assignment.exercises
        for question in exercise.questions
    )
    problems = _problems([item for item in verdicts if item.problem])
    not_named = [item.case.label for item in _targets(verdicts) if not _is_named(item)]
    return ValidationReport(proofs, tuple(problems), tuple(not_named), (), tier, cases)


def _problems(wrong: Sequence[JudgedCase]) -> Iterator[str]:
    """Yields the problem of each verdict; if a question rejects the solution, counts the others.

    A suite that rejects the solution rejects most right answers, all for the same reason.
    """
    rejected: dict[tuple[Exercise, str], list[JudgedCase]] = {}
    for item in filter(_is_rejected, wrong):
        rejected.setdefault((item.case.exercise, item.question), []).append(item)
    solutions = {
        place: next((item for item in items if item.case.kind == "solution"), None)
        for place, items in rejected.items()
    }
    for item in wrong:
        place = (item.case.exercise, item.question)
        solution = solutions.get(place) if _is_rejected(item) else None
        text = f"{item.case.label}: {item.problem}"
        if solution is item and (others := len(rejected[place]) - 1):
            text += f"\n  and {number_of(others, 'other right answer')}"
        if solution in (item, None):
            yield text


def _is_rejected(item: JudgedCase) -> bool:
    """Returns whether a wrong verdict is about an answer that should get all points."""
    case = item.case
    is_right = case.kind in ("solution", "alternative") or item.question != case.question
    return is_right and case.kind != "stub" and item.question != ""


def _with_pairs(
    course: Course, report: ValidationReport, verdicts: Sequence[JudgedCase]
) -> ValidationReport:
    not_named = [item.case for item in _targets(verdicts) if not _is_named(item)]
    groups = groups_alike(course, not_named)
    apart = [
        f"misconceptions {group}: no call in the suite distinguishes them, so they must "
        "share a hint"
        for group in groups
        if not group.share_a_hint
    ]
    return replace(
        report,
        problems=(*report.problems, *apart),
        not_told_apart=tuple(str(group) for group in groups),
    )


def _with_traits(chosen: Sequence[Assignment], report: ValidationReport) -> ValidationReport:
    table: dict[str, Mapping[str, str]] = {}
    rules: dict[str, Mapping[str, str]] = {}
    problems: list[str] = []
    for exercise in (exercise for assignment in chosen for exercise in assignment.exercises):
        rows, wrong = traits_of(exercise.hidden_suite)
        place = f"{exercise.assignment}/{exercise.name}"
        table |= {f"{place}/{row.question}": row.cells for row in rows}
        rules |= {f"{place}/{row.question}": row.rules for row in rows}
        problems += [f"traits of {place}/{text}" for text in wrong]
    return replace(report, problems=(*report.problems, *problems), traits=table, rules=rules)


def _with_rules(
    course: Course, chosen: Sequence[Assignment], report: ValidationReport
) -> ValidationReport:
    return replace(report, problems=(*report.problems, *rule_problems(course, chosen)))


def _proof(exercise: Exercise, question: str, verdicts: Sequence[JudgedCase]) -> QuestionProof:
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


def _targets(verdicts: Iterable[JudgedCase]) -> Iterator[JudgedCase]:
    for item in verdicts:
        if item.case.kind == "misconception" and item.question == item.case.question:
            yield item


def _is_named(item: JudgedCase) -> bool:
    """Returns whether a case's mistake was named correctly, or is `forbidden` and needs no name."""
    if item.verdict is Verdict.FORBIDDEN:
        return True
    return item.misconception == f"{item.case.exercise.name}.{item.case.name}"


@dataclass(frozen=True, slots=True)
class Group:
    """Misconceptions about a question that give equal results for every call in the suite."""

    place: str
    names: tuple[str, ...]
    share_a_hint: bool

    def __str__(self) -> str:
        return f"{self.place}: {', '.join(self.names)}"


def groups_alike(course: Course, not_named: Iterable[Case]) -> tuple[Group, ...]:
    """Returns groups of misconceptions with equal results that contain a case in `not_named`."""
    cases = {(case.exercise.hidden_suite, case.question, case.name): case for case in not_named}
    suites = sorted({suite for suite, _, _ in cases})
    if not cases:
        return ()
    runner = collect_suites(course.root, suites)
    diagnoses = {
        case.exercise.hidden_suite: Diagnosis(runner, course, case.exercise, _not_asked)
        for case in cases.values()
    }
    groups = (_group(diagnoses[case.exercise.hidden_suite], case) for case in cases.values())
    return tuple(dict.fromkeys(group for group in groups if len(group.names) > 1))


def _not_asked(text: str, batch: Batch) -> None:
    """Does nothing, because the tables of known mistakes already exist."""


def _group(diagnosis: Diagnosis, case: Case) -> Group:
    names, share_a_hint = diagnosis.alike(case.question, case.name)
    place = f"{case.exercise.assignment}/{case.exercise.name}/{case.question}"
    return Group(place, names, share_a_hint)
