"""Finds mistakes that several students share; unknown mistakes are compared by behavior."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from ..records import ExerciseResult, QuestionResult, SubmissionResult, Verdict
from ..results.review import never_ran
from ..results.wording import mistake_text

_MOST_EXCERPTS = 3
_MOST_SHARED = 25
#: the verdicts of answers that were not written, which say nothing about mistakes
UNWRITTEN = (Verdict.NOT_IMPLEMENTED, Verdict.MISSING)

#: code by student, assignment, exercise and question
Codes = Mapping[tuple[str, str, str, str], str]
#: assignment, exercise, question, and the name or behavior that is shared
GroupKey = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class SharedMistake:
    """A mistake that several students share; `name` is empty if the mistake is not a known one.

    `sentence` says what the mistake confuses, such as "A with B". `message` is the message from the
    first test that one of the answers fails. `excerpts` contains up to three different answers,
    without comments or names.
    """

    assignment: str
    exercise: str
    question: str
    name: str
    sentence: str
    hint: str
    message: str
    students: tuple[str, ...]
    submissions: int
    excerpts: tuple[str, ...]

    @property
    def count(self) -> int:
        return len(self.students)


def group_of(
    result: SubmissionResult, exercise: ExerciseResult, question: QuestionResult
) -> GroupKey | None:
    """Returns the key of the mistake in an answer, or None if there is no mistake to report."""
    shared = question.misconception or question.behaviour
    if question.verdict is Verdict.CORRECT or question.verdict in UNWRITTEN or not shared:
        return None
    if never_ran(exercise):
        return None
    return result.assignment, exercise.exercise, question.question, shared


class SharedMistakes:
    """Collects results one by one, and then finds the mistakes that students share.

    For each mistake, keeps the first result, the students, and a few different answers.
    """

    def __init__(self, codes: Codes) -> None:
        self._codes = codes
        self._firsts: dict[GroupKey, QuestionResult] = {}
        self._students: defaultdict[GroupKey, list[str]] = defaultdict(list)
        self._excerpts: defaultdict[GroupKey, dict[str, None]] = defaultdict(dict)
        self._asked = Counter[tuple[str, str, str]]()

    def add(self, student: str, result: SubmissionResult) -> None:
        for exercise, question in result.questions():
            place = (result.assignment, exercise.exercise, question.question)
            self._asked[place] += 1
            if key := group_of(result, exercise, question):
                self._firsts.setdefault(key, question)
                self._students[key].append(student)
                text, excerpts = self._codes.get((student, *place), ""), self._excerpts[key]
                if text and len(excerpts) < _MOST_EXCERPTS:
                    excerpts[text] = None

    def found(self, sentences: Mapping[str, str]) -> tuple[SharedMistake, ...]:
        """Returns the most frequent mistakes that at least two students share.

        `sentences` says what known mistakes confuse, keyed by `<assignment>/<exercise>.<name>`.
        """
        groups = sorted(self._students.items(), key=lambda group: -len(group[1]))
        shared = [key for key, students in groups if len(students) > 1]
        return tuple(self._shared(key, sentences) for key in shared[:_MOST_SHARED])

    def _shared(self, key: GroupKey, sentences: Mapping[str, str]) -> SharedMistake:
        assignment, exercise, question, _ = key
        first = self._firsts[key]
        return SharedMistake(
            assignment,
            exercise,
            question,
            name=mistake_text(first.misconception),
            sentence=sentences.get(f"{assignment}/{first.misconception}", ""),
            hint=first.hint or "",
            message=first_message(first),
            students=tuple(self._students[key]),
            submissions=self._asked[assignment, exercise, question],
            excerpts=tuple(self._excerpts[key]),
        )


def first_message(question: QuestionResult) -> str:
    """Returns the message from a question's first failed test."""
    return next((test.message for test in question.tests if test.message), "")
