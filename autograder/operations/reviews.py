"""Finds the submissions that a person should review and that nobody has reviewed yet."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ..classroom import read_marks, read_withdrawals
from ..records import Key, SubmissionResult
from ..results.manual import HumanWork
from ..results.review import Place, Reviewed, unsettled_places


def places_to_review(
    class_folder: Path, results: Iterable[SubmissionResult]
) -> dict[Key, tuple[Place, ...]]:
    """Returns the places in each submission that a person should review; see `unsettled_places`.

    A person reviews a submission by entering points or a comment, by accepting the automatic
    points, or by withdrawing it. Submissions that the grader failed to grade are left out, because
    the next run grades them again.
    """
    found = [result for result in results if unsettled_places(result)]
    if not found:
        return {}
    from ..nbgrader import human_work

    withdrawn = read_withdrawals(class_folder)
    reviewed = reviewed_questions(class_folder, human_work(class_folder))
    places = {result.key: unsettled_places(result, reviewed) for result in found}
    return {key: own for key, own in places.items() if own and key not in withdrawn}


def reviewed_questions(class_folder: Path, human: HumanWork) -> Reviewed:
    """Returns the questions for which people have entered or accepted points, or a comment.

    `human` contains the entries in the gradebook.
    """
    found: dict[Key, list[tuple[str, ...]]] = {}
    for student, assignment, *place in human.grades:
        found.setdefault((student, assignment), []).append(tuple(place))
    for mark in read_marks(class_folder):
        if mark.points:
            place = mark.question.split("/")
            found.setdefault((mark.student, mark.assignment), []).append(tuple(place))
    return found
