"""What mistakes a class shares: known ones by their name, others by how they behave."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..records import ExerciseResult, QuestionResult, SubmissionResult, Verdict
from ..results.wording import readable

_MOST_EXCERPTS = 3
_MOST_SHARED = 25
#: verdicts of answers that were not written: nothing can be learnt from them
UNWRITTEN = (Verdict.NOT_IMPLEMENTED, Verdict.MISSING)

#: student, assignment, exercise, question: what was written
Codes = Mapping[tuple[str, str, str, str], str]
#: assignment, exercise, question, and the name or behaviour that is shared
GroupKey = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class SharedMistake:
    """One mistake that several students share; `name` is empty for a group without a name.

    `sentence` is what it confuses, `message` what the first failed test of one of them says, and
    `excerpts` are up to three different answers, without comments and without names.
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
        """How many students share it."""
        return len(self.students)


def group_of(
    result: SubmissionResult, exercise: ExerciseResult, question: QuestionResult
) -> GroupKey | None:
    """Which mistake an answer has; None for a right one, or one that nobody wrote."""
    shared = question.misconception or question.behaviour
    if question.verdict is Verdict.CORRECT or question.verdict in UNWRITTEN or not shared:
        return None
    return result.assignment, exercise.exercise, question.question, shared


def shared_mistakes(
    graded: Iterable[SubmissionResult], codes: Codes, sentences: Mapping[str, str]
) -> tuple[SharedMistake, ...]:
    """The mistakes of at least two students, those of most first.

    `sentences` say what each known mistake confuses, by `<assignment>/<exercise>.<name>`.
    """
    groups: defaultdict[GroupKey, list[tuple[str, QuestionResult]]] = defaultdict(list)
    asked: defaultdict[tuple[str, str, str], int] = defaultdict(int)
    for result in graded:
        for exercise in result.exercises:
            for question in exercise.questions:
                asked[result.assignment, exercise.exercise, question.question] += 1
                if key := group_of(result, exercise, question):
                    groups[key].append((result.student, question))
    found = [
        _shared(key, own, asked[key[:3]], codes, sentences)
        for key, own in groups.items()
        if len(own) > 1
    ]
    return tuple(sorted(found, key=lambda mistake: -mistake.count)[:_MOST_SHARED])


def _shared(
    key: GroupKey,
    own: Sequence[tuple[str, QuestionResult]],
    submissions: int,
    codes: Codes,
    sentences: Mapping[str, str],
) -> SharedMistake:
    assignment, exercise, question, _ = key
    first = own[0][1]
    texts = (codes.get((student, assignment, exercise, question), "") for student, _ in own)
    excerpts = tuple(dict.fromkeys(text for text in texts if text))
    return SharedMistake(
        assignment,
        exercise,
        question,
        name=readable((first.misconception or "").rpartition(".")[2]),
        sentence=sentences.get(f"{assignment}/{first.misconception}", ""),
        hint=first.hint or "",
        message=first_message(first),
        students=tuple(student for student, _ in own),
        submissions=submissions,
        excerpts=excerpts[:_MOST_EXCERPTS],
    )


def first_message(question: QuestionResult) -> str:
    """What the first failed test of a question says."""
    return next((test.message for test in question.tests if test.message), "")
