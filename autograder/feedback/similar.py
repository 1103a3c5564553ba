"""Pairs of submissions that have in common what few others have: to look at, no accusation.

What the stub gives is taken out, and so is what many of the class wrote: a short answer of the
textbook's kind is the same for everybody.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from ..course import Course
from ..records import SubmissionResult
from ..results.review import latest
from ..submission.bounded import BoundedReader
from ..submission.code import read_code
from ..submission.fingerprints import Fingerprints, fingerprints
from ..submission.names import submission_folder
from .code import code_reader, definitions_of

#: what this share of those who wrote anything has, or that many people, is common
_COMMON_SHARE = 0.1
_COMMON_LEAST, _COMMON_MOST = 3, 20
#: of a pair: fingerprints that they share and few others have
_LEAST_SHARED = 4
_MOST_PAIRS = 100


@dataclass(frozen=True, slots=True)
class Side:
    """One half of a pair: whose code, and the lines (from 1) that the other half has, too."""

    student: str
    code: str
    common: frozenset[int]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two students whose code for an exercise is alike.

    `shared` counts fingerprints that few others have; `share` is their part of all rare ones of
    the shorter text, from 0 to 1. `weight` counts them, too, each less the more others have it, so
    that a pair comes before one of a group of sixteen.
    """

    assignment: str
    exercise: str
    shared: int
    share: float
    left: Side
    right: Side
    weight: float


@dataclass(frozen=True, slots=True)
class _Text:
    student: str
    code: str
    prints: Fingerprints


def similar_pairs(
    course: Course, class_folder: Path, results: Iterable[SubmissionResult]
) -> list[Pair]:
    """The pairs of a class, those with most in common first.

    Reads the files that counted, in a child with limits.
    """
    texts: defaultdict[tuple[str, str], list[_Text]] = defaultdict(list)
    with code_reader() as reader:
        for result in latest(results):
            for key, text in _texts(class_folder, result, reader):
                texts[key].append(text)
    given = _given(course)
    found = [pair for key, own in texts.items() for pair in pairs_of(key, own, given.get(key, ()))]
    return sorted(found, key=lambda pair: (-pair.weight * pair.share, pair.left.student))[
        :_MOST_PAIRS
    ]


def _texts(
    class_folder: Path, result: SubmissionResult, reader: BoundedReader
) -> Iterable[tuple[tuple[str, str], _Text]]:
    folder = submission_folder(class_folder, result.student, result.assignment)
    for exercise in result.exercises:
        code = _joined(definitions_of(folder, exercise, reader))
        if code.strip():
            key = (result.assignment, exercise.exercise)
            yield key, _Text(result.student, code, fingerprints(code))


def _given(course: Course) -> Mapping[tuple[str, str], Collection[int]]:
    """Of each exercise the fingerprints of what students got, as a module and as a notebook."""
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


def pairs_of(key: tuple[str, str], texts: Sequence[_Text], given: Collection[int]) -> list[Pair]:
    """The pairs of one exercise: what all wrote for it, and fingerprints of what all got."""
    spread = Counter(value for text in texts for value in text.prints.lines)
    common = min(max(_COMMON_LEAST, _COMMON_SHARE * len(texts)), _COMMON_MOST)
    rare = [
        {value for value in text.prints.lines if value not in given and spread[value] <= common}
        for text in texts
    ]
    pairs = []
    for (one, other), shared in _shared(rare).items():
        if shared >= _LEAST_SHARED:
            both = rare[one] & rare[other]
            least = min(len(rare[one]), len(rare[other]))
            left, right = (_side(texts[number], both) for number in (one, other))
            weight = sum(1 / (spread[value] - 1) for value in both)
            pairs.append(Pair(*key, shared, shared / least, left, right, weight))
    return pairs


def _shared(rare: Sequence[set[int]]) -> Counter[tuple[int, int]]:
    """How many fingerprints each pair shares, without comparing those who share none."""
    owners: defaultdict[int, list[int]] = defaultdict(list)
    for number, values in enumerate(rare):
        for value in values:
            owners[value].append(number)
    return Counter(pair for own in owners.values() for pair in combinations(own, 2))


def _side(text: _Text, both: Iterable[int]) -> Side:
    lines = frozenset().union(*(text.prints.lines[value] for value in both))
    return Side(text.student, text.code, lines)
