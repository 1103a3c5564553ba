"""The class at a glance: what is shared, how each question went, whom to look at."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ..classroom import Key, Lateness
from ..records import QuestionResult, SubmissionResult, SubmissionStatus, Verdict
from ..results.review import latest, reasons_to_look
from .arriving import ArrivalGroup, ArrivalSpot, arrival_groups, arrival_spots
from .mistakes import Codes, SharedMistake, shared_mistakes
from .statistics import discrimination, histogram, quartiles


@dataclass(frozen=True, slots=True)
class QuestionReport:
    """One question over all graded submissions of its assignment.

    `discrimination` is how its points go with those of the rest of the assignment, from -1 to 1;
    None where too few submitted. The tests that all of them, or none of them, passed are named.
    """

    assignment: str
    exercise: str
    question: str
    submissions: int
    mean: float
    max_score: float
    verdicts: tuple[tuple[Verdict, int], ...]
    misconceptions: tuple[tuple[str, int], ...]
    discrimination: float | None = None
    passed_by_all: tuple[str, ...] = ()
    passed_by_nobody: tuple[str, ...] = ()

    @property
    def share(self) -> float:
        """The mean part of the points, from 0 (hard) to 1 (easy)."""
        return self.mean / self.max_score if self.max_score else 0.0


@dataclass(frozen=True, slots=True)
class AssignmentReport:
    """How the points of an assignment lie, in which attempt, and when it arrived.

    `quartiles` are shares of the points; `histogram` counts submissions by tenths of them; `spots`
    are times against points, to be drawn.
    """

    assignment: str
    submissions: int
    max_score: float
    quartiles: tuple[float, float, float]
    histogram: tuple[int, ...]
    attempts: tuple[tuple[int, int], ...]
    arrivals: tuple[ArrivalGroup, ...] = ()
    spots: tuple[ArrivalSpot, ...] = ()


@dataclass(frozen=True, slots=True)
class StudentReport:
    """One student over all assignments; `look` is why a human should look, `late` how late."""

    student: str
    score: float
    max_score: float
    assignments: tuple[tuple[str, float, float], ...]
    look: tuple[str, ...]
    late: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """What `autograder report` says of a class.

    `missing` are the people of its roster without a submission, by assignment.
    """

    submissions: int
    failed: int
    questions: tuple[QuestionReport, ...]
    students: tuple[StudentReport, ...]
    missing: tuple[tuple[str, tuple[str, ...]], ...] = ()
    mistakes: tuple[SharedMistake, ...] = ()
    assignments: tuple[AssignmentReport, ...] = ()


@dataclass(frozen=True, slots=True)
class Background:
    """What is known of a class next to its results.

    `arrivals` say who was late, `missing` who has submitted nothing, by assignment; `codes` are
    wrong answers, and `sentences` what known mistakes confuse.
    """

    arrivals: Mapping[Key, Lateness] = field(default_factory=dict)
    missing: Mapping[str, Sequence[str]] = field(default_factory=dict)
    codes: Codes = field(default_factory=dict)
    sentences: Mapping[str, str] = field(default_factory=dict)


_Key = tuple[str, str, str]


def class_report(
    results: Iterable[SubmissionResult], background: Background | None = None
) -> Report:
    """The report of the latest result of each student and assignment."""
    counted, known = latest(results), background or Background()
    graded = [result for result in counted if result.status is SubmissionStatus.GRADED]
    by_assignment: defaultdict[str, list[SubmissionResult]] = defaultdict(list)
    for result in graded:
        by_assignment[result.assignment].append(result)
    return Report(
        submissions=len(counted),
        failed=len(counted) - len(graded),
        questions=tuple(q for own in by_assignment.values() for q in _questions(own)),
        students=_students(counted, known.arrivals),
        missing=tuple((name, tuple(people)) for name, people in known.missing.items()),
        mistakes=shared_mistakes(graded, known.codes, known.sentences),
        assignments=tuple(_assignment(own, known.arrivals) for own in by_assignment.values()),
    )


def _assignment(
    own: Sequence[SubmissionResult], arrivals: Mapping[Key, Lateness]
) -> AssignmentReport:
    shares = [result.score / result.max_score if result.max_score else 0.0 for result in own]
    times = [arrivals.get((result.student, result.assignment)) for result in own]
    arrived = list(zip(times, shares, strict=True))
    return AssignmentReport(
        assignment=own[0].assignment,
        submissions=len(own),
        max_score=max(result.max_score for result in own),
        quartiles=quartiles(shares),
        histogram=histogram(shares),
        attempts=tuple(sorted(Counter(result.attempt for result in own).items())),
        arrivals=arrival_groups(arrived),
        spots=arrival_spots(arrived),
    )


def _questions(own: Sequence[SubmissionResult]) -> Iterable[QuestionReport]:
    found: defaultdict[_Key, list[tuple[QuestionResult, float]]] = defaultdict(list)
    for result in own:
        for exercise in result.exercises:
            for question in exercise.questions:
                key = (result.assignment, exercise.exercise, question.question)
                found[key].append((question, result.score - question.score))
    return [_question(key, rows) for key, rows in found.items()]


def _question(key: _Key, rows: Sequence[tuple[QuestionResult, float]]) -> QuestionReport:
    found = [question for question, _ in rows]
    mistakes = Counter(result.misconception for result in found if result.misconception)
    passed = _passed(found)
    return QuestionReport(
        *key,
        submissions=len(found),
        mean=sum(result.score for result in found) / len(found),
        max_score=max(result.max_score for result in found),
        verdicts=tuple(Counter(result.verdict for result in found).most_common()),
        misconceptions=tuple(mistakes.most_common(5)),
        discrimination=discrimination([q.score for q in found], [rest for _, rest in rows]),
        passed_by_all=tuple(name for name, (good, of) in passed.items() if good == of > 1),
        passed_by_nobody=tuple(name for name, (good, of) in passed.items() if not good and of > 1),
    )


def _passed(found: Sequence[QuestionResult]) -> dict[str, tuple[int, int]]:
    """Of each test how many passed it, of how many."""
    good, every = Counter[str](), Counter[str]()
    for question in found:
        every.update(test.name for test in question.tests)
        good.update(test.name for test in question.tests if test.passed)
    return {name: (good[name], count) for name, count in every.items()}


def _students(
    counted: Sequence[SubmissionResult], arrivals: Mapping[Key, Lateness]
) -> tuple[StudentReport, ...]:
    by_student: defaultdict[str, list[SubmissionResult]] = defaultdict(list)
    for result in counted:
        by_student[result.student].append(result)
    return tuple(_student(student, own, arrivals) for student, own in by_student.items())


def _student(
    student: str, results: Sequence[SubmissionResult], arrivals: Mapping[Key, Lateness]
) -> StudentReport:
    graded = [result for result in results if result.status is SubmissionStatus.GRADED]
    return StudentReport(
        student=student,
        score=sum(result.score for result in graded),
        max_score=sum(result.max_score for result in graded),
        assignments=tuple((r.assignment, r.score, r.max_score) for r in graded),
        look=tuple(f"{r.assignment}: {reason}" for r in results for reason in reasons_to_look(r)),
        late=tuple(
            f"{result.assignment}: {arrived.text}"
            for result in results
            if (arrived := arrivals.get((student, result.assignment))) and arrived.is_late
        ),
    )
