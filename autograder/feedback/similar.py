"""Finds pairs of submissions that share unusual code, for a person to look at.

Code from the stub, and code that many students in the class wrote, is ignored, because short
answers in textbook style are alike even if they were written independently.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..course import Course
from ..files import replace_file
from ..records import ExerciseResult, SubmissionResult
from ..submission.bounded import BoundedReader
from ..submission.class_files import submission_folder
from ..submission.code import read_code
from ..submission.fingerprints import Fingerprints, fingerprints
from .answer_code import code_reader, definitions_of
from .rendering import render

#: code is common if more than this share of the students who wrote anything has it; the number of
#: students that this gives is kept within the limits below
_COMMON_SHARE = 0.1
_COMMON_LEAST, _COMMON_MOST = 3, 20
#: the minimum number of rare fingerprints that a pair must share
_LEAST_SHARED = 4
_MOST_PAIRS = 100


@dataclass(frozen=True, slots=True)
class SimilarCode:
    """One side of a pair: a student, the code, and the numbers of lines that both sides contain."""

    student: str
    code: str
    common: frozenset[int]


@dataclass(frozen=True, slots=True)
class SimilarPair:
    """Two students whose code for an exercise is similar.

    A fingerprint is rare if few students in the class have it. `shared` says how many rare
    fingerprints the two students have in common, and `share` is that number divided by the number
    of rare fingerprints in the code that has fewer of them. `weight` also counts common
    fingerprints, but a fingerprint counts less if more students have it, so that an isolated pair
    is listed before the pairs in a large group.
    """

    assignment: str
    exercise: str
    shared: int
    share: float
    left: SimilarCode
    right: SimilarCode
    weight: float


@dataclass(frozen=True, slots=True)
class SharedFingerprints:
    """Two students, and the rare fingerprints that they have in common.

    `share` and `weight` have the same meaning as in `SimilarPair`.
    """

    left: str
    right: str
    common: frozenset[int]
    share: float
    weight: float


#: assignment and exercise
_Key = tuple[str, str]
_Numbers = npt.NDArray[Any]


class ClassFingerprints:
    """A class's code for one exercise, stored as fingerprints of eight bytes each, without text."""

    def __init__(self, given: Collection[int] = ()) -> None:
        """`given` contains the fingerprints of the code that every student was given."""
        self.students: list[str] = []
        self._given = np.fromiter(given, np.uint64)
        self._ends = array("Q", [0])
        self._values = array("Q")

    def add(self, student: str, prints: Fingerprints) -> None:
        self.students.append(student)
        self._values.extend(prints.lines)
        self._ends.append(len(self._values))

    def likenesses(self) -> list[SharedFingerprints]:
        """Returns the pairs of students who have enough rare fingerprints in common."""
        values = np.frombuffer(self._values, np.uint64)
        owners = np.repeat(np.arange(len(self.students)), np.diff(self._ends).astype(np.int64))
        _, groups, spread = np.unique(values, return_inverse=True, return_counts=True)
        most = min(max(_COMMON_LEAST, _COMMON_SHARE * len(self.students)), _COMMON_MOST)
        is_rare = (spread[groups] <= most) & ~np.isin(values, self._given)
        rare = np.bincount(owners[is_rare], minlength=len(self.students))
        common: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
        weights: defaultdict[tuple[int, int], float] = defaultdict(float)
        for value, own in _owners(values, owners, is_rare & (spread[groups] > 1)):
            for pair in combinations(own, 2):
                common[pair].append(value)
                weights[pair] += 1 / (len(own) - 1)
        return [
            SharedFingerprints(
                self.students[one],
                self.students[other],
                frozenset(both),
                len(both) / int(min(rare[one], rare[other])),
                weights[one, other],
            )
            for (one, other), both in common.items()
            if len(both) >= _LEAST_SHARED
        ]


def _owners(
    values: _Numbers, owners: _Numbers, chosen: npt.NDArray[np.bool_]
) -> Iterator[tuple[int, list[int]]]:
    """Yields each chosen fingerprint with its owners, in ascending order of fingerprints."""
    order = np.flatnonzero(chosen)
    order = order[np.argsort(values[order], kind="stable")]
    for value, places in groupby(order, key=lambda place: int(values[place])):
        yield value, [int(owners[place]) for place in places]


def similar_pairs(
    course: Course, class_folder: Path, results: Iterable[SubmissionResult]
) -> list[SimilarPair]:
    """Returns at most a hundred pairs in a class, those with the most in common first.

    `results` contains the last result for each submission. A child process with limits reads the
    files that counted. A pair's code is then read again, so that memory never holds the code of a
    whole class.
    """
    given = _given(course)
    written: dict[_Key, ClassFingerprints] = {}
    with code_reader() as reader:
        for result in results:
            for exercise in result.exercises:
                if code := _code(class_folder, result.student, result.assignment, exercise, reader):
                    key = (result.assignment, exercise.exercise)
                    own = written.setdefault(key, ClassFingerprints(given.get(key, ())))
                    own.add(result.student, fingerprints(code))
        found = [(key, one) for key, own in written.items() for one in own.likenesses()]
        found.sort(key=lambda item: (-item[1].weight * item[1].share, item[1].left))
        shown = found[:_MOST_PAIRS]
        files = _files(results, shown)
        return [_pair(class_folder, key, likeness, files, reader) for key, likeness in shown]


def _code(
    class_folder: Path,
    student: str,
    assignment: str,
    exercise: ExerciseResult,
    reader: BoundedReader,
) -> str:
    """Returns the definitions in an exercise's file as one string, or "" if there are none."""
    folder = submission_folder(class_folder, student, assignment)
    return _joined(definitions_of(folder, exercise, reader)).strip()


def _files(
    results: Iterable[SubmissionResult], shown: Sequence[tuple[_Key, SharedFingerprints]]
) -> Mapping[tuple[str, _Key], ExerciseResult]:
    """Returns the results for the exercises of the pairs, keyed by student and exercise."""
    wanted = {(name, key) for key, one in shown for name in (one.left, one.right)}
    return {
        place: exercise
        for result in results
        for exercise in result.exercises
        if (place := (result.student, (result.assignment, exercise.exercise))) in wanted
    }


def _pair(
    class_folder: Path,
    key: _Key,
    likeness: SharedFingerprints,
    files: Mapping[tuple[str, _Key], ExerciseResult],
    reader: BoundedReader,
) -> SimilarPair:
    def side(student: str) -> SimilarCode:
        code = _code(class_folder, student, key[0], files[student, key], reader)
        prints = fingerprints(code).lines
        lines = (prints.get(value, frozenset()) for value in likeness.common)
        return SimilarCode(student, code, frozenset().union(*lines))

    left, right = side(likeness.left), side(likeness.right)
    return SimilarPair(*key, len(likeness.common), likeness.share, left, right, likeness.weight)


def _given(course: Course) -> Mapping[tuple[str, str], Collection[int]]:
    """Returns, for each exercise, the fingerprints of the stub as a module and as a notebook."""
    return {
        (assignment.name, exercise.name): frozenset(
            value for text in _given_texts(exercise.stub) for value in fingerprints(text).lines
        )
        for assignment in course.assignments
        for exercise in assignment.exercises
    }


def _given_texts(stub: Path) -> Iterator[str]:
    if stub.is_file():
        yield stub.read_text("utf-8", "replace")
    if (notebook := stub.with_suffix(".ipynb")).is_file():
        yield _joined(read_code(notebook.parent, notebook.name).definitions)


def _joined(definitions: Mapping[str, str]) -> str:
    return "\n\n\n".join(definitions.values())


def write_similar(
    pairs: Sequence[SimilarPair], path: Path, titles: Mapping[str, str] | None = None
) -> Path:
    """Writes the page to `path`; raises `UserError` if the page can't be written.

    `titles` contains the titles of assignments.
    """
    page = render("similar.html.jinja", titles=titles, pairs=pairs, lines=_lines)
    return replace_file(path, page)


def _lines(side: SimilarCode) -> list[tuple[int, str, bool]]:
    """Returns each line's number and text, and whether the other side also contains the line."""
    return [
        (number, text, number in side.common)
        for number, text in enumerate(side.code.split("\n"), start=1)
    ]
