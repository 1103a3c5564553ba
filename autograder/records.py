"""Defines the frozen records and enums that the packages of the grader exchange.

Imports no other module of this package. The JSON form of `SubmissionResult` follows the schema
`autograder/result/v1` in `results/result.schema.json`.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from sys import intern
from typing import Any

RESULT_SCHEMA = "autograder/result/v1"
#: student, assignment
Key = tuple[str, str]

#: the digest in a result if there is none; the suite's digest in results of nbgrader's own checks
NO_DIGEST = "sha256:" + "0" * 64


class Verdict(enum.StrEnum):
    """The outcome of one question."""

    CORRECT = "correct"
    PARTIAL = "partial"
    WRONG = "wrong"
    NOT_IMPLEMENTED = "not_implemented"
    MISSING = "missing"
    ERROR = "error"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    CRASHED = "crashed"
    OUTPUT_LIMIT = "output_limit"
    FORBIDDEN = "forbidden"
    PROTOCOL = "protocol"


class SubmissionStatus(enum.StrEnum):
    """The status of a submission: graded, or not graded because the grader failed."""

    GRADED = "graded"
    FAILED = "failed"


class ExerciseStatus(enum.StrEnum):
    GRADED = "graded"
    MISSING = "missing"
    UNREADABLE = "unreadable"


class Tier(enum.StrEnum):
    """The level of isolation between a student's code and the rest of the machine."""

    A = "A"
    B = "B"
    C = "C"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits for one question. `assignment.toml` may override any of the defaults."""

    wall_seconds: float = 10.0
    cpu_seconds: float = 10.0
    memory_bytes: int = 2 << 30
    processes: int = 64
    output_bytes: int = 1_000_000
    reply_bytes: int = 64 << 20


class _Sent:
    """The base class of records that jobs send to the grader; it makes pickling twice as fast."""

    __slots__: tuple[str, ...] = ()

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return type(self), tuple(getattr(self, name) for name in self.__slots__)


@dataclass(frozen=True, slots=True)
class TestResult(_Sent):
    """The outcome of one hidden test; `message` is the text that the student reads."""

    name: str
    passed: bool
    points: float
    max_points: float
    message: str = ""


@dataclass(frozen=True, slots=True)
class QuestionResult(_Sent):
    """The score, verdict and test results of one question.

    Wrong answers that return equal results for the same calls have the same `behaviour`.
    """

    question: str
    score: float
    max_score: float
    verdict: Verdict
    misconception: str | None = None
    hint: str | None = None
    tests: tuple[TestResult, ...] = ()
    behaviour: str | None = None


@dataclass(frozen=True, slots=True)
class ExerciseResult(_Sent):
    """One exercise of a submission: the file that was graded, and the results of its questions."""

    exercise: str
    file: str | None
    status: ExerciseStatus
    score: float
    max_score: float
    questions: tuple[QuestionResult, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SubmissionResult(_Sent):
    """One line of `results.jsonl`; `judging` is the version of the code that judges answers."""

    student: str
    assignment: str
    submission_digest: str
    suite_digest: str
    isolation: Tier
    status: SubmissionStatus
    score: float
    max_score: float
    seconds: float
    seed: int
    attempt: int = 1
    judging: int = 1
    exercises: tuple[ExerciseResult, ...] = ()
    notes: tuple[str, ...] = ()
    error: str | None = None

    @property
    def key(self) -> Key:
        return self.student, self.assignment

    def questions(self) -> Iterator[tuple[ExerciseResult, QuestionResult]]:
        return ((exercise, q) for exercise in self.exercises for q in exercise.questions)

    def to_json(self) -> dict[str, Any]:
        """Returns a document of schema `autograder/result/v1`; leaves `error` out if it is None."""
        document = {"schema": RESULT_SCHEMA, **asdict(self)}
        if self.error is None:
            del document["error"]
        return document

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> SubmissionResult:
        """Returns the record for a document that conforms to the schema.

        Raises `TypeError` if points are not a number, as after an edit by hand.
        """
        return cls(
            student=intern(document["student"]),  # thousands of results share these names
            assignment=intern(document["assignment"]),
            submission_digest=document["submission_digest"],
            suite_digest=document["suite_digest"],
            isolation=Tier(document["isolation"]),
            status=SubmissionStatus(document["status"]),
            score=_number(document["score"]),
            max_score=_number(document["max_score"]),
            seconds=document["seconds"],
            seed=document["seed"],
            attempt=document.get("attempt", 1),
            judging=document.get("judging", 1),
            exercises=tuple(_exercise(item) for item in document["exercises"]),
            notes=tuple(document["notes"]),
            error=document.get("error"),
        )


def _number(value: float) -> float:
    if type(value) not in (int, float):
        raise TypeError(f"expected a number instead of {value!r}")
    return value


def _exercise(document: dict[str, Any]) -> ExerciseResult:
    return ExerciseResult(
        exercise=document["exercise"],
        file=document["file"],
        status=ExerciseStatus(document["status"]),
        score=_number(document["score"]),
        max_score=_number(document["max_score"]),
        questions=tuple(_question(item) for item in document["questions"]),
        notes=tuple(document["notes"]),
    )


def _question(document: dict[str, Any]) -> QuestionResult:
    return QuestionResult(
        question=document["question"],
        score=_number(document["score"]),
        max_score=_number(document["max_score"]),
        verdict=Verdict(document["verdict"]),
        misconception=document["misconception"],
        hint=document["hint"],
        tests=tuple(TestResult(**item) for item in document["tests"]),
        behaviour=document.get("behaviour"),
    )


@dataclass(frozen=True, slots=True)
class Question:
    """A function or class in a solution module that earns points."""

    name: str
    is_class: bool
    line: int


@dataclass(frozen=True, slots=True)
class Exercise:
    """One exercise and the paths of its files; every folder uses the same name for the exercise."""

    assignment: str
    name: str
    questions: tuple[Question, ...]
    solution: Path
    source: Path
    hidden_suite: Path
    public_suite: Path
    stub: Path


@dataclass(frozen=True, slots=True)
class DueDate:
    """A due date, and the name of the time zone in which the instructor wrote it.

    `at` is a timezone-aware `datetime`. A submission is late only if it arrives after `at` plus
    `grace`.
    """

    at: datetime
    zone: str
    grace: timedelta = timedelta()

    @property
    def naive_utc(self) -> datetime:
        """The moment in UTC without a time zone, as nbgrader stores dates."""
        return self.at.astimezone(UTC).replace(tzinfo=None)


@dataclass(frozen=True, slots=True)
class Assignment:
    """One assignment: its exercises in teaching order, and the limits for its questions."""

    name: str
    title: str
    exercises: tuple[Exercise, ...]
    limits: Limits
    duedate: DueDate | None = None

    def exercise(self, name: str) -> Exercise:
        """Returns the exercise with that name; raises `KeyError` if there is none."""
        return {exercise.name: exercise for exercise in self.exercises}[name]
