"""The class at a glance: how each question went, which mistakes are common, whom to look at."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..classroom import Key, Lateness
from ..records import QuestionResult, SubmissionResult, SubmissionStatus, Verdict
from ..results.review import latest, reasons_to_look


@dataclass(frozen=True, slots=True)
class QuestionReport:
    """One question over all graded submissions of its assignment."""

    assignment: str
    exercise: str
    question: str
    submissions: int
    mean: float
    max_score: float
    verdicts: tuple[tuple[Verdict, int], ...]
    misconceptions: tuple[tuple[str, int], ...]


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


_Key = tuple[str, str, str]


def class_report(
    results: Iterable[SubmissionResult],
    arrivals: Mapping[Key, Lateness] | None = None,
    missing: Mapping[str, Sequence[str]] | None = None,
) -> Report:
    """The report of the latest result of each student and assignment.

    `arrivals` say who was late, `missing` who has submitted nothing, by assignment.
    """
    counted = latest(results)
    graded = [result for result in counted if result.status is SubmissionStatus.GRADED]
    return Report(
        submissions=len(counted),
        failed=len(counted) - len(graded),
        questions=_questions(graded),
        students=_students(counted, arrivals or {}),
        missing=tuple((name, tuple(people)) for name, people in (missing or {}).items()),
    )


def _questions(graded: Sequence[SubmissionResult]) -> tuple[QuestionReport, ...]:
    found: defaultdict[_Key, list[QuestionResult]] = defaultdict(list)
    for result in graded:
        for exercise in result.exercises:
            for question in exercise.questions:
                key = (result.assignment, exercise.exercise, question.question)
                found[key].append(question)
    assignments = list(dict.fromkeys(result.assignment for result in graded))
    ordered = sorted(found.items(), key=lambda item: assignments.index(item[0][0]))
    return tuple(_question(key, questions) for key, questions in ordered)


def _question(key: _Key, found: Sequence[QuestionResult]) -> QuestionReport:
    assignment, exercise, question = key
    mistakes = Counter(result.misconception for result in found if result.misconception)
    return QuestionReport(
        assignment=assignment,
        exercise=exercise,
        question=question,
        submissions=len(found),
        mean=sum(result.score for result in found) / len(found),
        max_score=max(result.max_score for result in found),
        verdicts=tuple(Counter(result.verdict for result in found).most_common()),
        misconceptions=tuple(mistakes.most_common(5)),
    )


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
