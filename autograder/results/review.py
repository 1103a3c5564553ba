"""Selects the results that count, and those that a human should look at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..records import ExerciseResult, ExerciseStatus, SubmissionResult, SubmissionStatus, Verdict
from ..submission import LOOK

_LOOK: dict[Verdict, str] = {
    Verdict.TIMEOUT: "did not end in time",
    Verdict.CRASHED: "ended its process",
    Verdict.MEMORY: "needed too much memory",
    Verdict.OUTPUT_LIMIT: "printed too much",
    Verdict.FORBIDDEN: "uses a call that is not allowed",
    Verdict.PROTOCOL: "returned something that is not an answer",
}


def latest(results: Iterable[SubmissionResult]) -> tuple[SubmissionResult, ...]:
    """Returns the last result of each student and assignment, in the order of both."""
    last = {result.key: result for result in results}
    return tuple(last[key] for key in sorted(last))


def never_ran(exercise: ExerciseResult) -> bool:
    """Return whether all of several questions stopped with an error, perhaps because of one line.

    Such answers show no behaviour, so they are not a mistake that others may share.
    """
    questions = exercise.questions
    return len(questions) > 1 and all(question.verdict is Verdict.ERROR for question in questions)


def reasons_to_look(result: SubmissionResult) -> tuple[str, ...]:
    """Returns the reasons to review a submission; empty if the automatic result is enough."""
    if result.status is SubmissionStatus.FAILED:
        return (f"the grader failed: {result.error or 'no reason given'}",)
    reasons = [reason for exercise in result.exercises for reason in _of_exercise(exercise)]
    return (*reasons, *(note for note in result.notes if note.startswith(LOOK)))


def _of_exercise(exercise: ExerciseResult) -> Iterator[str]:
    if exercise.status is ExerciseStatus.UNREADABLE:
        yield f"{exercise.exercise}: {exercise.file or 'the file'} can't be read"
        return
    if never_ran(exercise):
        yield f"{exercise.exercise}: every question stopped with an error; is one line to blame?"
    for question in exercise.questions:
        if question.verdict in _LOOK:
            yield f"{exercise.exercise}/{question.question}: {_LOOK[question.verdict]}"
    yield from (f"{exercise.exercise}: {note}" for note in exercise.notes if note.startswith(LOOK))
