"""Defines records of people's decisions after grading, and applies these decisions to results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ..records import ExerciseResult, Key, QuestionResult, SubmissionResult

#: (student, assignment, exercise, question)
QuestionKey = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class HumanGrade:
    """A human grader's entries for one question; None means that nothing was entered.

    The comment may refer to comments in the class's bank, by `#NAME`. `reused` contains the names
    that are in the bank, and `unknown` contains the other names.
    """

    score: float | None = None
    extra_credit: float | None = None
    comment: str | None = None
    reused: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def changes_score(self) -> bool:
        """True if this entry replaces the automatic score or adds to it."""
        return self.score is not None or bool(self.extra_credit)


@dataclass(frozen=True, slots=True)
class Request:
    """A student's request for a second look at a grade; `answer` is empty while nobody has replied.

    `question` is `exercise/question`, or empty if the request is about the whole assignment.
    """

    student: str
    assignment: str
    question: str
    request: str
    source: str = ""
    asked_at: str = ""
    answer: str = ""
    answered_by: str = ""
    answered_at: str = ""

    @property
    def key(self) -> Key:
        return self.student, self.assignment

    @property
    def is_open(self) -> bool:
        """True if nobody has answered the request yet."""
        return not self.answer


@dataclass(frozen=True, slots=True)
class HumanWork:
    """Human decisions about a class's results.

    `grades` is keyed by question; `penalties`, and `requests` for a second look, are keyed by
    submission.
    """

    grades: Mapping[QuestionKey, HumanGrade] = field(default_factory=dict)
    penalties: Mapping[Key, float] = field(default_factory=dict)
    requests: Mapping[Key, tuple[Request, ...]] = field(default_factory=dict)

    def of(self, result: SubmissionResult, exercise: str, question: str) -> HumanGrade:
        """Returns a human grader's entries for one question in a result."""
        return self.grades.get((*result.key, exercise, question), HumanGrade())

    def asked(self, key: Key, question: str) -> tuple[Request, ...]:
        """Returns the requests about `question` or, if it is empty, about the whole assignment."""
        return tuple(one for one in self.requests.get(key, ()) if one.question == question)

    def penalty(self, result: SubmissionResult) -> float:
        """Returns a result's late penalty in points."""
        return self.penalties.get(result.key, 0.0)


def counted(result: SubmissionResult, work: HumanWork) -> SubmissionResult:
    """Returns the result with its final score, after manual grades and the late penalty."""
    exercises = tuple(_exercise(result, exercise, work) for exercise in result.exercises)
    difference = sum(
        new.score - old.score for new, old in zip(exercises, result.exercises, strict=True)
    )
    penalty = work.penalty(result)
    if not difference and not penalty:
        return result if exercises == result.exercises else replace(result, exercises=exercises)
    score = max(0.0, result.score + difference - penalty)
    return replace(result, exercises=exercises, score=score)


def _exercise(
    result: SubmissionResult, exercise: ExerciseResult, work: HumanWork
) -> ExerciseResult:
    questions = tuple(
        _question(question, work.of(result, exercise.exercise, question.question))
        for question in exercise.questions
    )
    if questions == exercise.questions:
        return exercise
    score = sum(question.score for question in questions)
    return replace(exercise, questions=questions, score=score)


def _question(question: QuestionResult, grade: HumanGrade) -> QuestionResult:
    if not grade.changes_score:
        return question
    score = question.score if grade.score is None else grade.score
    return replace(question, score=score + (grade.extra_credit or 0.0))
