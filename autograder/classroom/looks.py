"""Stores which results an instructor has viewed, in `looked.csv` in the class folder.

Every run of `autograder changes` counts as a view of the results. The file stores how many lines of
results each assignment had at that time, which is enough because a results file only grows, and the
manual scores that were shown. The next run reports the changes since then or, if there are none,
the same changes again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path

from ..errors import UserError
from .tables import change_table, read_table

LOOKED_FILE = "looked.csv"


@dataclass(frozen=True, slots=True)
class ReviewMark:
    """One look at an assignment's results: how many lines the results had, and the time in UTC.

    If `student` is not empty, this is a look at a manual score: `points` contains the points and
    the extra points that somebody entered for `question`, which is `exercise/question`.
    """

    assignment: str
    lines: int
    looked_at: str
    student: str = ""
    question: str = ""
    points: str = ""


#: a student, an assignment, and `exercise/question`
ManualKey = tuple[str, str, str]
#: what people have entered: the points and the extra points, as text
ManualScores = Mapping[ManualKey, str]


class ReviewMarks:
    """Every time someone viewed a class's results, in chronological order."""

    def __init__(self, looks: Iterable[ReviewMark] = ()) -> None:
        every = tuple(looks)
        self._looks = tuple(look for look in every if not look.student)
        self._scores = tuple(look for look in every if look.student)

    def numbers(self, assignment: str) -> frozenset[int]:
        """Returns how many lines an assignment's results had each time they were viewed."""
        return frozenset(look.lines for look in self._looks if look.assignment == assignment)

    def before(self, lines: Mapping[str, int], scores: ManualScores | None = None) -> ReviewMarks:
        """Returns the views before the lines and manual scores that are new now.

        If all of them have been viewed, ignores the last view, so that viewing the results again
        shows the same changes as before.
        """
        looks = [look for look in self._looks if look.lines <= lines.get(look.assignment, 0)]
        shown = [look for look in self._scores if look.assignment in lines]
        if all(n in self.numbers(name) for name, n in lines.items()) and not self.new(scores or {}):
            last = max((look.looked_at for look in (*looks, *shown)), default="")
            looks = [look for look in looks if look.looked_at < last]
            shown = [look for look in shown if look.looked_at < last]
        return ReviewMarks((*looks, *shown))

    def lines(self) -> dict[str, int]:
        """Returns how many lines of each assignment's results have been viewed."""
        found: dict[str, int] = {}
        for look in self._looks:
            found[look.assignment] = max(found.get(look.assignment, 0), look.lines)
        return found

    def new(self, scores: ManualScores) -> frozenset[ManualKey]:
        """Returns the keys of the manual scores that have not been viewed with these points."""
        seen = {(one.student, one.assignment, one.question): one.points for one in self._scores}
        return frozenset(key for key, points in scores.items() if seen.get(key) != points)


_COLUMNS = tuple(field.name for field in fields(ReviewMark))


def read_review_marks(class_folder: Path) -> ReviewMarks:
    """Returns every view of a class's results; raises `UserError` for a malformed table."""
    path = class_folder / LOOKED_FILE
    return ReviewMarks(_look(row, path) for row in read_table(path, _COLUMNS))


def _look(row: Mapping[str, str], path: Path) -> ReviewMark:
    try:
        others = (row[column] for column in _COLUMNS[2:])
        return ReviewMark(row["assignment"], int(row["lines"]), *others)
    except ValueError as error:
        raise UserError(
            f"{path}: {row['lines']!r} is not a number of lines; correct it, or delete the row"
        ) from error


def write_review_marks(class_folder: Path, lines: Mapping[str, int], scores: ManualScores) -> None:
    """Stores the lines and manual scores that were viewed, unless they are already stored."""
    known = read_review_marks(class_folder)
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S.%f UTC")
    new = [
        ReviewMark(assignment, number, now)
        for assignment, number in lines.items()
        if number not in known.numbers(assignment)
    ]
    new += [
        ReviewMark(assignment, 0, now, student, question, scores[student, assignment, question])
        for student, assignment, question in sorted(known.new(scores))
    ]
    if new:
        rows = [{name: str(value) for name, value in asdict(look).items()} for look in new]
        change_table(class_folder / LOOKED_FILE, _COLUMNS, lambda old: [*old, *rows])
