"""What grading again changed: of whom, which question, from, to, and because of what."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..records import Key, SubmissionResult, SubmissionStatus
from .manual import HumanWork, QuestionKey

_LEAST = 1e-9


class Cause(enum.StrEnum):
    """Why a score changed."""

    SUBMISSION = "submission"
    SUITE = "suite"
    GRADER = "grader"
    POINTS = "points"
    AGAIN = "graded again"
    MANUAL = "manual"


@dataclass(frozen=True, slots=True)
class Score:
    """Points of a question, and of how many."""

    points: float
    of: float


@dataclass(frozen=True, slots=True)
class Change:
    """One question of one student whose points, or maximum, changed.

    `before` is None for a question that was not asked before, `after` for one that is gone.
    `between` are scores that it had in the meantime and that lie beyond both, such as the 100 of
    0, 100, 0.
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
        """Points won (or lost, below zero)."""
        new, old = (score.points if score else 0.0 for score in (self.after, self.before))
        return new - old


@dataclass(frozen=True, slots=True)
class Attempts:
    """All graded lines of one submission in order, and which of them is the one before."""

    lines: tuple[SubmissionResult, ...]
    before: int

    @property
    def key(self) -> Key:
        """Student and assignment."""
        return self.lines[-1].key


@dataclass(frozen=True, slots=True)
class Doubt:
    """A score that a human entered for an answer, or a question, that changed since.

    `entered` counts; the automatic score was `before` when it may have been entered, and is
    `after` now.
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
    """The graded lines of each submission, in the order of student and assignment.

    `seen` is how many lines of each assignment were looked at: the last of those is the one
    before, or the first of all where there is none. Those that are not in `only` are left out.
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
    """What is another score now than in the line before, as it was given automatically."""
    return [change for one in found for change in _changes_of(one) if _is_change(change)]


def manual_changes(found: Iterable[Attempts], work: HumanWork) -> list[Change]:
    """The scores of humans that are not the automatic ones."""
    return [change for one in found for change in _manual(one, work) if _is_change(change)]


def doubts(found: Iterable[Attempts], work: HumanWork) -> list[Doubt]:
    """The scores of humans for what changed since the line before: score, maximum or answer."""
    return [
        Doubt(*key, entered=entered, before=c.before, after=c.after, causes=c.causes)
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
    """Every question of the two lines, changed or not."""
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
    """Scores between the first and the last that lie beyond both, each turn once."""
    ends = [score.points for score in (found[0], found[-1]) if score]
    turns = [score for score, _ in itertools.groupby(found[1:-1])]
    for score in turns:
        low, high = min(ends, default=0.0), max(ends, default=0.0)
        if score and not low - _LEAST <= score.points <= high + _LEAST:
            yield score


def _causes(
    before: SubmissionResult, after: SubmissionResult, was: Score | None, is_now: Score | None
) -> Iterator[Cause]:
    # another version of judging changes the suite's digest too
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
    """The score of each exercise and question of a line."""
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
