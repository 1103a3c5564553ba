"""Computes the report on a class: shared mistakes, questions, and students to look at."""

from __future__ import annotations

import statistics
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from ..classroom import Lateness
from ..counts import number_of
from ..records import (
    ExerciseStatus,
    Key,
    QuestionResult,
    SubmissionResult,
    SubmissionStatus,
    Verdict,
)
from ..results.last import last_of
from ..results.manual import QuestionKey
from ..results.review import Reviewed, reasons_to_look
from .arriving import ArrivalGroup, ArrivalSpot, arrival_groups, arrival_spots
from .mistakes import Codes, SharedMistake, SharedMistakes

#: the minimum number of students for a meaningful correlation
_LEAST = 5
BINS = 10


def numbers() -> array[float]:
    """Returns an empty array whose numbers take 8 bytes each."""
    return array("d")


def discrimination(question: Sequence[float], rest: Sequence[float]) -> float | None:
    """Returns the correlation (-1 to 1) of a question's points with the other questions' points.

    Returns None for fewer than five students, or if all have the same points.
    """
    if len(question) < _LEAST:
        return None
    try:
        return statistics.correlation(question, rest)
    except statistics.StatisticsError:
        return None


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """Returns the lower quartile, median and upper quartile, or zeros if there are no values."""
    if not values:
        return 0.0, 0.0, 0.0
    if len(values) == 1:
        return (values[0],) * 3
    lower, middle, upper = statistics.quantiles(values, n=4, method="inclusive")
    return lower, middle, upper


def histogram(shares: Sequence[float]) -> tuple[int, ...]:
    """Counts how many of the shares are in each tenth of the range from 0 to 1."""
    counts = [0] * BINS
    for share in shares:
        counts[max(0, min(BINS - 1, int(BINS * share)))] += 1
    return tuple(counts)


@dataclass(frozen=True, slots=True)
class QuestionReport:
    """Statistics on a question, over all graded submissions for its assignment.

    `discrimination` is the correlation, from -1 to 1, of the question's points with the points for
    the rest of the assignment, or None if too few students submitted. `passed_by_all` contains the
    names of the tests that all submissions passed, and `passed_by_nobody` contains the names of the
    tests that no submission passed. `comments` contains comments from the class's comment bank, and
    how often each was used.
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
    comments: tuple[tuple[str, int], ...] = ()

    @property
    def share(self) -> float:
        """The mean share of the points, from 0 (a hard question) to 1 (an easy one)."""
        return self.mean / self.max_score if self.max_score else 0.0


@dataclass(frozen=True, slots=True)
class AssignmentReport:
    """An assignment's distribution of points, its attempts, and when its submissions arrived.

    `quartiles` contains shares of the points, and `histogram` counts submissions by tenths of the
    points. `spots` contains times and points for a plot. `never_ran` counts the submissions without
    a readable file; the other statistics don't include these submissions.
    """

    assignment: str
    submissions: int
    max_score: float
    quartiles: tuple[float, float, float]
    histogram: tuple[int, ...]
    attempts: tuple[tuple[int, int], ...]
    never_ran: int
    arrivals: tuple[ArrivalGroup, ...] = ()
    spots: tuple[ArrivalSpot, ...] = ()


@dataclass(frozen=True, slots=True)
class StudentReport:
    """A student's results in all assignments, reasons to `look` at them, and notes on lateness."""

    student: str
    score: float
    max_score: float
    assignments: tuple[tuple[str, float, float], ...]
    look: tuple[str, ...]
    late: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """The content of `autograder report` for a class.

    `missing` maps each assignment to the people on the roster who have not submitted it. `names`
    contains the names that the roster gives for students, and `titles` the titles of assignments.
    """

    submissions: int
    failed: int
    questions: tuple[QuestionReport, ...]
    students: tuple[StudentReport, ...]
    missing: tuple[tuple[str, tuple[str, ...]], ...] = ()
    mistakes: tuple[SharedMistake, ...] = ()
    assignments: tuple[AssignmentReport, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ClassFacts:
    """Facts about a class other than its results.

    `arrivals` says who was late, and `missing` maps each assignment to the people who have
    submitted nothing. `codes` contains the code of wrong answers, `sentences` says what known
    mistakes confuse, and `names` contains students' names from the roster. `comments` contains the
    names of the comments from the class's comment bank that were written on each answer, `titles`
    contains the titles of assignments, and `reviewed` the questions that people have reviewed.
    """

    arrivals: Mapping[Key, Lateness] = field(default_factory=dict)
    missing: Mapping[str, Sequence[str]] = field(default_factory=dict)
    codes: Codes = field(default_factory=dict)
    sentences: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    comments: Mapping[QuestionKey, Sequence[str]] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)
    reviewed: Reviewed = field(default_factory=dict)


_Key = tuple[str, str, str]


def class_report(
    results: Iterable[SubmissionResult], background: ClassFacts | None = None
) -> Report:
    """Returns the report, based on the last result for each student and assignment.

    Reads each result only once, one after another, and does not keep all results in memory.
    """
    known = background or ClassFacts()
    assignments: defaultdict[str, _Assignment] = defaultdict(_Assignment)
    questions: defaultdict[_Key, _Question] = defaultdict(_Question)
    shared, students, count = SharedMistakes(known.codes), list[StudentReport](), 0
    failed = 0
    for student, submitted in groupby(last_of(results), lambda result: result.student):
        own = _Student(student)
        for result in submitted:
            count += 1
            arrived = known.arrivals.get((student, result.assignment))
            own.add(result, arrived, known.reviewed)
            if result.status is SubmissionStatus.GRADED:
                assignments[result.assignment].add(result, arrived)
                shared.add(student, result)
                for exercise, question in result.questions():
                    if exercise.status is not ExerciseStatus.GRADED:
                        continue
                    key = (result.assignment, exercise.exercise, question.question)
                    texts = known.comments.get((student, *key), ())
                    questions[key].add(question, result.score - question.score, texts)
            failed += result.status is SubmissionStatus.FAILED
        students.append(own.report())
    return Report(
        submissions=count,
        failed=failed,
        questions=tuple(
            question.report(key)
            for name in assignments
            for key, question in questions.items()
            if key[0] == name
        ),
        students=tuple(students),
        missing=tuple((name, tuple(people)) for name, people in known.missing.items()),
        mistakes=shared.found(known.sentences),
        assignments=tuple(own.report(name) for name, own in assignments.items()),
        names=known.names,
        titles=known.titles,
    )


@dataclass(slots=True)
class _Assignment:
    shares: array[float] = field(default_factory=numbers)
    arrivals: list[Lateness | None] = field(default_factory=list)
    attempts: Counter[int] = field(default_factory=Counter)
    max_score: float = 0.0
    never_ran: int = 0

    def add(self, result: SubmissionResult, arrived: Lateness | None) -> None:
        """Adds a graded result; if no exercise could be graded, only adds 1 to `never_ran`."""
        self.max_score = max(self.max_score, result.max_score)
        if all(e.status is not ExerciseStatus.GRADED for e in result.exercises):
            self.never_ran += 1
            return
        self.shares.append(result.score / result.max_score if result.max_score else 0.0)
        self.arrivals.append(arrived)
        self.attempts[result.attempt] += 1

    def report(self, name: str) -> AssignmentReport:
        return AssignmentReport(
            assignment=name,
            submissions=len(self.shares),
            max_score=self.max_score,
            quartiles=quartiles(self.shares),
            histogram=histogram(self.shares),
            attempts=tuple(sorted(self.attempts.items())),
            never_ran=self.never_ran,
            arrivals=arrival_groups(zip(self.arrivals, self.shares, strict=True)),
            spots=arrival_spots(zip(self.arrivals, self.shares, strict=True)),
        )


@dataclass(slots=True)
class _Question:
    """Adds up the results for a question; `rest` contains the points for the other questions."""

    scores: array[float] = field(default_factory=numbers)
    rest: array[float] = field(default_factory=numbers)
    verdicts: Counter[Verdict] = field(default_factory=Counter)
    misconceptions: Counter[str] = field(default_factory=Counter)
    comments: Counter[str] = field(default_factory=Counter)
    #: how many submissions had each test, and how many passed it
    tests: Counter[str] = field(default_factory=Counter)
    passed: Counter[str] = field(default_factory=Counter)
    max_score: float = 0.0

    def add(self, result: QuestionResult, rest: float, comments: Sequence[str]) -> None:
        """Adds a result, and the names of the comments on the answer."""
        self.comments.update(comments)
        self.scores.append(result.score)
        self.rest.append(rest)
        self.verdicts[result.verdict] += 1
        if result.misconception:
            self.misconceptions[result.misconception] += 1
        self.tests.update(test.name for test in result.tests)
        self.passed.update(test.name for test in result.tests if test.passed)
        self.max_score = max(self.max_score, result.max_score)

    def report(self, key: _Key) -> QuestionReport:
        many = {name: of for name, of in self.tests.items() if of > 1}
        return QuestionReport(
            *key,
            submissions=len(self.scores),
            mean=sum(self.scores) / len(self.scores),
            max_score=self.max_score,
            verdicts=tuple(self.verdicts.most_common()),
            misconceptions=tuple(self.misconceptions.most_common(5)),
            discrimination=discrimination(self.scores, self.rest),
            passed_by_all=tuple(name for name, of in many.items() if self.passed[name] == of),
            passed_by_nobody=tuple(name for name in many if not self.passed[name]),
            comments=tuple(self.comments.most_common()),
        )


@dataclass(slots=True)
class _Student:
    name: str
    points: list[tuple[str, float, float]] = field(default_factory=list)
    look: list[str] = field(default_factory=list)
    late: list[str] = field(default_factory=list)

    def add(self, result: SubmissionResult, arrived: Lateness | None, reviewed: Reviewed) -> None:
        name = result.assignment
        if result.status is SubmissionStatus.GRADED:
            self.points.append((name, result.score, result.max_score))
        if reasons := reasons_to_look(result, reviewed):
            self.look.append(f"{name}: {'; '.join(reasons)}")
        if arrived and arrived.late_days:
            days = number_of(arrived.late_days, "late day")
            self.late.append(f"{name}: {days} of the budget")
        if arrived and arrived.is_late:
            self.late.append(f"{name}: {arrived.text}")

    def report(self) -> StudentReport:
        return StudentReport(
            student=self.name,
            score=sum(score for _, score, _ in self.points),
            max_score=sum(of for _, _, of in self.points),
            assignments=tuple(self.points),
            look=tuple(self.look),
            late=tuple(self.late),
        )
