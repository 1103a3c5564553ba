"""Finds the scores that regrading has changed, and the causes of each change."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..records import Key, SubmissionResult, SubmissionStatus
from .manual import HumanWork, QuestionKey

_LEAST = 1e-9


class Cause(enum.StrEnum):
    SUBMISSION = "submission"
    SUITE = "suite"
    GRADER = "grader"
    POINTS = "points"
    AGAIN = "graded again"
    MANUAL = "manual"


@dataclass(frozen=True, slots=True)
class Score:
    """The points for a question, and the maximum."""

    points: float
    of: float


@dataclass(frozen=True, slots=True)
class Change:
    """A change to the points or maximum of a student's question.

    `before` is None for a new question, and `after` is None for a removed question. `between`
    contains intermediate scores outside the range from `before` to `after`, such as 100 if the
    scores were 0, 100 and 0.
    """

    student: str
    assignment: str
    exercise: str
    question: str
    before: Score | None
    after: Score | None
    causes: tuple[Cause, ...]
    between: tuple[Score, ...] = ()

    @property
    def difference(self) -> float:
        """The points gained; negative if points were lost."""
        new, old = (score.points if score else 0.0 for score in (self.after, self.before))
        return new - old


@dataclass(frozen=True, slots=True)
class Attempts:
    """A submission's graded results in order.

    `before` is the index of the result with which the last result is compared.
    """

    lines: tuple[SubmissionResult, ...]
    before: int

    @property
    def key(self) -> Key:
        return self.lines[-1].key


@dataclass(frozen=True, slots=True)
class OutdatedScore:
    """A score that a person entered before the answer or its automatic score changed.

    The score that counts is `entered`. `before` was probably the automatic score when a person
    entered the manual score; `after` is the current automatic score.
    """

    student: str
    assignment: str
    exercise: str
    question: str
    entered: float
    before: Score | None
    after: Score | None
    causes: tuple[Cause, ...]


def attempts(
    results: Iterable[SubmissionResult],
    seen: Mapping[str, int] | None = None,
    only: Container[Key] | None = None,
) -> list[Attempts]:
    """Groups the graded results by submission, sorted by student and assignment.

    `seen` says how many results the instructor has viewed for each assignment. The last result of a
    submission is compared with the last result that has been viewed, or with the submission's first
    result if none has been viewed. Submissions that are not in `only` are left out.
    """
    numbers: dict[str, int] = {}
    lines: dict[Key, list[SubmissionResult]] = {}
    looked: dict[Key, int] = {}
    for result in results:
        number = numbers[result.assignment] = numbers.get(result.assignment, 0) + 1
        key = result.key
        if result.status is not SubmissionStatus.GRADED or (only is not None and key not in only):
            continue
        own = lines.setdefault(key, [])
        own.append(result)
        if number <= (seen or {}).get(result.assignment, 0):
            looked[key] = len(own) - 1
    return [Attempts(tuple(lines[key]), looked.get(key, 0)) for key in sorted(lines)]


def changes(found: Iterable[Attempts]) -> list[Change]:
    """Returns the changes in automatic scores from the result `before` to the last result."""
    return [change for one in found for change in _changes_of(one) if _is_change(change)]


def manual_changes(found: Iterable[Attempts], work: HumanWork) -> list[Change]:
    """Returns the changes that people have made to automatic scores."""
    return [change for one in found for change in _manual(one, work) if _is_change(change)]


def doubts(found: Iterable[Attempts], work: HumanWork) -> list[OutdatedScore]:
    """Returns scores that people entered before the automatic score, maximum or answer changed."""
    return [
        OutdatedScore(*key, entered=entered, before=c.before, after=c.after, causes=c.causes)
        for one in found
        for c in _changes_of(one)
        for key in [(c.student, c.assignment, c.exercise, c.question)]
        if (entered := _entered(work, key)) is not None
        and (_is_change(c) or Cause.SUBMISSION in c.causes)
    ]


def _entered(work: HumanWork, key: QuestionKey) -> float | None:
    grade = work.grades.get(key)
    return grade.score if grade else None


def _is_change(change: Change) -> bool:
    old, new = change.before, change.after
    if change.between:
        return True
    if old is None or new is None:
        return old is not new
    return abs(new.points - old.points) > _LEAST or abs(new.of - old.of) > _LEAST


def _changes_of(one: Attempts) -> Iterator[Change]:
    """Yields a `Change` for each question of a submission, even if its score did not change."""
    before, after = one.lines[one.before], one.lines[-1]
    if one.before == len(one.lines) - 1:
        return
    steps = [(line, scores(line)) for line in one.lines[one.before :]]
    old, new = steps[0][1], steps[-1][1]
    for key in dict.fromkeys([*old, *new]):
        was, is_now = old.get(key), new.get(key)
        between = tuple(_beyond([found.get(key) for _, found in steps]))
        causes = list(_causes(before, after, was, is_now))
        if between:
            pairs = itertools.pairwise((line, found.get(key)) for line, found in steps)
            every = (_causes(a, b, x, y) for (a, x), (b, y) in pairs if x != y)
            causes = list(dict.fromkeys(cause for some in every for cause in some))
        yield Change(*one.key, *key, was, is_now, tuple(causes), between)


def _beyond(found: Sequence[Score | None]) -> Iterator[Score]:
    """Yields the intermediate scores outside the range from the first score to the last.

    If equal scores follow each other, only one of them is yielded.
    """
    ends = [score.points for score in (found[0], found[-1]) if score]
    turns = [score for score, _ in itertools.groupby(found[1:-1])]
    for score in turns:
        low, high = min(ends, default=0.0), max(ends, default=0.0)
        if score and not low - _LEAST <= score.points <= high + _LEAST:
            yield score


def _causes(
    before: SubmissionResult, after: SubmissionResult, was: Score | None, is_now: Score | None
) -> Iterator[Cause]:
    # a different version of the grader also changes the suite's digest
    is_regraded = before.judging != after.judging
    is_same = (
        before.submission_digest == after.submission_digest,
        is_regraded or before.suite_digest == after.suite_digest,
        not is_regraded,
        was is not None and is_now is not None and abs(was.of - is_now.of) <= _LEAST,
    )
    causes = (Cause.SUBMISSION, Cause.SUITE, Cause.GRADER, Cause.POINTS)
    yield from (cause for cause, same in zip(causes, is_same, strict=True) if not same)
    if all(is_same):
        yield Cause.AGAIN


def scores(result: SubmissionResult) -> dict[tuple[str, str], Score]:
    """Returns a result's scores, keyed by exercise and question."""
    return {
        (exercise.exercise, question.question): Score(question.score, question.max_score)
        for exercise, question in result.questions()
    }


def _manual(one: Attempts, work: HumanWork) -> Iterator[Change]:
    for (exercise, question), score in scores(one.lines[-1]).items():
        grade = work.grades.get((*one.key, exercise, question))
        if grade and grade.changes_score:
            points = score.points if grade.score is None else grade.score
            new = Score(points + (grade.extra_credit or 0.0), score.of)
            yield Change(*one.key, exercise, question, score, new, (Cause.MANUAL,))
