"""The frozen records and closed enums of all that parts of the grader hand on.

Imports nothing of ours. The JSON form of `SubmissionResult` is the contract
`autograder/result/v1`; its schema stands in `results/result.schema.json`.
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


class Verdict(enum.StrEnum):
    """What was found out about one question."""

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
    """Whether a submission was graded, or the grader itself failed on it."""

    GRADED = "graded"
    FAILED = "failed"


class ExerciseStatus(enum.StrEnum):
    """What was found of one exercise in a submission."""

    GRADED = "graded"
    MISSING = "missing"
    UNREADABLE = "unreadable"


class Tier(enum.StrEnum):
    """How much stands between a student's code and the rest of the machine."""

    A = "A"
    B = "B"
    C = "C"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Limits:
    """What one question may use. Seconds, bytes and counts; `assignment.toml` may override each."""

    wall_seconds: float = 10.0
    cpu_seconds: float = 10.0
    memory_bytes: int = 2 << 30
    processes: int = 64
    output_bytes: int = 1_000_000
    reply_bytes: int = 64 << 20


@dataclass(frozen=True, slots=True)
class TestResult:
    """One hidden test's outcome; `message` is what the student reads."""

    name: str
    passed: bool
    points: float
    max_points: float
    message: str = ""


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """One question's score, verdict and tests.

    `behaviour` is equal for wrong answers that behave alike when they are asked the same.
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
class ExerciseResult:
    """One exercise of a submission: the file that counted and its questions."""

    exercise: str
    file: str | None
    status: ExerciseStatus
    score: float
    max_score: float
    questions: tuple[QuestionResult, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SubmissionResult:
    """One line of `results.jsonl`. `judging` is the version of judging that made it."""

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
        """Whose work it is, and for which assignment."""
        return self.student, self.assignment

    def questions(self) -> Iterator[tuple[ExerciseResult, QuestionResult]]:
        """Each question with its exercise."""
        return ((exercise, q) for exercise in self.exercises for q in exercise.questions)

    def to_json(self) -> dict[str, Any]:
        """The document of schema `autograder/result/v1`; `error` only when there is one."""
        document = {"schema": RESULT_SCHEMA, **asdict(self)}
        if self.error is None:
            del document["error"]
        return document

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> SubmissionResult:
        """The record of a line that the schema accepts."""
        return cls(
            student=intern(document["student"]),  # a class keeps names of thousands of lines
            assignment=intern(document["assignment"]),
            submission_digest=document["submission_digest"],
            suite_digest=document["suite_digest"],
            isolation=Tier(document["isolation"]),
            status=SubmissionStatus(document["status"]),
            score=document["score"],
            max_score=document["max_score"],
            seconds=document["seconds"],
            seed=document["seed"],
            attempt=document.get("attempt", 1),
            judging=document.get("judging", 1),
            exercises=tuple(_exercise(item) for item in document["exercises"]),
            notes=tuple(document["notes"]),
            error=document.get("error"),
        )


def _exercise(document: dict[str, Any]) -> ExerciseResult:
    return ExerciseResult(
        exercise=document["exercise"],
        file=document["file"],
        status=ExerciseStatus(document["status"]),
        score=document["score"],
        max_score=document["max_score"],
        questions=tuple(_question(item) for item in document["questions"]),
        notes=tuple(document["notes"]),
    )


def _question(document: dict[str, Any]) -> QuestionResult:
    return QuestionResult(
        question=document["question"],
        score=document["score"],
        max_score=document["max_score"],
        verdict=Verdict(document["verdict"]),
        misconception=document["misconception"],
        hint=document["hint"],
        tests=tuple(TestResult(**item) for item in document["tests"]),
        behaviour=document.get("behaviour"),
    )


@dataclass(frozen=True, slots=True)
class Question:
    """A function or class of a solution module that earns points."""

    name: str
    is_class: bool
    line: int


@dataclass(frozen=True, slots=True)
class Exercise:
    """One exercise by its name in all folders; each path is where that folder keeps it."""

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
    """A moment, and the zone in which the instructor wrote it.

    `at` has a zone; `grace` is how much later anybody may submit without being late.
    """

    at: datetime
    zone: str
    grace: timedelta = timedelta()

    @property
    def naive_utc(self) -> datetime:
        """The moment in UTC without a zone, as nbgrader keeps dates."""
        return self.at.astimezone(UTC).replace(tzinfo=None)


@dataclass(frozen=True, slots=True)
class Assignment:
    """One assignment: its exercises in teaching order, and the limits of its questions."""

    name: str
    title: str
    exercises: tuple[Exercise, ...]
    limits: Limits
    duedate: DueDate | None = None

    def exercise(self, name: str) -> Exercise:
        """The exercise of that name; raises `KeyError`."""
        return {exercise.name: exercise for exercise in self.exercises}[name]
