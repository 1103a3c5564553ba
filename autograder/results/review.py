"""Selects the results that a person should review."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from ..records import (
    NO_DIGEST,
    ExerciseResult,
    ExerciseStatus,
    Key,
    SubmissionResult,
    SubmissionStatus,
    Verdict,
)
from ..submission import LOOK

#: the names of an exercise and a question, of an exercise only, or no names
Place = tuple[str, ...]

#: for each submission, the exercise and the question of each entry that a person made
Reviewed = Mapping[Key, Collection[Sequence[str]]]

_LOOK: dict[Verdict, str] = {
    Verdict.TIMEOUT: "did not finish in time",
    Verdict.CRASHED: "ended its process",
    Verdict.MEMORY: "needed too much memory",
    Verdict.OUTPUT_LIMIT: "printed too much",
    Verdict.FORBIDDEN: "uses a call that is not allowed",
    Verdict.PROTOCOL: "returned something that is not an answer",
}


def never_ran(exercise: ExerciseResult) -> bool:
    """Returns whether an exercise has several questions that all ended with an error.

    A single line may have caused all errors, so nothing is known about the answers themselves.
    """
    questions = exercise.questions
    return len(questions) > 1 and all(question.verdict is Verdict.ERROR for question in questions)


def reasons_to_look(result: SubmissionResult, reviewed: Reviewed | None = None) -> tuple[str, ...]:
    """Returns the reasons to review a submission that nobody has settled; see `unsettled_places`.

    Returns () if the automatic result is enough.
    """
    if result.status is SubmissionStatus.FAILED:
        return (f"the grader failed: {result.error or 'no reason given'}",)
    found = _unsettled(result, reviewed)
    return tuple(": ".join(filter(None, ("/".join(place), text))) for place, text in found)


def unsettled_places(
    result: SubmissionResult, reviewed: Reviewed | None = None
) -> tuple[Place, ...]:
    """Returns the places in a result that must be reviewed for a reason that nobody has settled.

    A place is (exercise, question), (exercise,) or, for the whole submission, (). A person's entry
    for a question settles all reasons for a review that concern the question, the exercise as a
    whole, or the submission as a whole. The reasons in nbgrader's own results are left out of the
    result itself when they are settled.
    """
    return tuple(dict.fromkeys(place for place, _ in _unsettled(result, reviewed)))


def _unsettled(result: SubmissionResult, reviewed: Reviewed | None) -> Iterator[tuple[Place, str]]:
    done = () if result.suite_digest == NO_DIGEST else (reviewed or {}).get(result.key, ())
    settled = {tuple(place[:length]) for place in done for length in range(3)}
    return (found for found in _reasons(result) if found[0] not in settled)


def _reasons(result: SubmissionResult) -> Iterator[tuple[Place, str]]:
    """Yields the place and the text of each reason for a review."""
    for exercise in result.exercises:
        yield from _of_exercise(exercise)
    yield from (((), note) for note in result.notes if note.startswith(LOOK))


def _of_exercise(exercise: ExerciseResult) -> Iterator[tuple[Place, str]]:
    whole = (exercise.exercise,)
    if exercise.status is ExerciseStatus.UNREADABLE:
        yield whole, f"{exercise.file or 'the file'} can't be read"
        return
    if never_ran(exercise):
        yield whole, "every question stopped with an error; is a single line the cause?"
    for question in exercise.questions:
        if question.verdict in _LOOK:
            yield (*whole, question.question), _LOOK[question.verdict]
    yield from ((whole, note) for note in exercise.notes if note.startswith(LOOK))
