"""Finds the submissions that a person should review and that nobody has reviewed yet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from ..classroom import read_marks, read_withdrawals
from ..records import Key, SubmissionResult
from ..results.review import Place, unsettled_places


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
    done: dict[Key, list[Sequence[str]]] = {}
    for student, assignment, *place in human_work(class_folder).grades:
        done.setdefault((student, assignment), []).append(place)
    for mark in read_marks(class_folder):
        if mark.points:
            place = mark.question.split("/")
            done.setdefault((mark.student, mark.assignment), []).append(place)
    places = {r.key: unsettled_places(r, done.get(r.key, ())) for r in found}
    return {key: own for key, own in places.items() if own and key not in withdrawn}
