"""Defines the data that export formats use: the results that count, and facts about the class."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ..classroom import Lateness, Person
from ..records import Key, SubmissionResult
from ..results.last import keys_of, last_of
from ..results.manual import HumanWork
from ..results.review import Reviewed
from ..results.wording import title_of


class Missing(enum.StrEnum):
    """The grade that an export writes for a missing submission."""

    KEEP = "keep"
    BLANK = "blank"
    ZERO = "zero"


@dataclass(frozen=True, slots=True)
class Grades:
    """The last result for each student and assignment, and other information about the class.

    `human` contains graders' entries and late penalties, which the results already include.
    `absent` contains the names of people without any result. `people` contains each student's entry
    in the roster, and `known_as` contains each student's other names. `zero_for` contains the
    assignments for which a missing submission may count as zero, and `not_due` contains those that
    are not due yet. `waiting_for` contains missing submissions that may still arrive. `left`
    contains people who have left the class, and `chosen` contains the selected people (None means
    all people). The cells for missing submissions are not changed for people who have left or are
    not selected. `titles` contains the titles of the course's assignments, and `reviewed` the
    questions that people have reviewed.
    """

    results: Sequence[SubmissionResult]
    arrivals: Mapping[Key, Lateness] = field(default_factory=dict)
    human: HumanWork = field(default_factory=HumanWork)
    absent: tuple[str, ...] = ()
    missing: Missing = Missing.KEEP
    zero_for: frozenset[str] = frozenset()
    not_due: tuple[str, ...] = ()
    waiting_for: frozenset[Key] = frozenset()
    known_as: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    people: Mapping[str, Person] = field(default_factory=dict)
    left: frozenset[str] = frozenset()
    chosen: frozenset[str] | None = None
    titles: Mapping[str, str] = field(default_factory=dict)
    reviewed: Reviewed = field(default_factory=dict)

    @property
    def assignments(self) -> tuple[str, ...]:
        """The assignments with results, in the order of the results."""
        return tuple(dict.fromkeys(name for _, name in keys_of(self.results)))

    @property
    def maxima(self) -> Mapping[str, float]:
        """The maximum points for each assignment."""
        found = dict.fromkeys(self.assignments, 0.0)
        for result in self.results:
            found[result.assignment] = max(found[result.assignment], result.max_score)
        return found

    def title_of(self, assignment: str) -> str:
        """Returns an assignment's title in the course, or one made from the assignment's name."""
        return title_of(assignment, self.titles)

    @property
    def people_without(self) -> tuple[str, ...]:
        """The sorted names of people who are absent, have left, or may still submit something."""
        waited_for = {student for student, _ in self.waiting_for}
        return tuple(sorted({*waited_for, *self.absent, *self.left}))

    def missing_cell(self, student: str, assignment: str, before: str = "") -> str:
        """Returns the cell for a missing submission; `before` is the value on the platform."""
        is_others = self.chosen is not None and student not in self.chosen
        if is_others or student in self.left:
            return before
        is_waiting = (student, assignment) in self.waiting_for
        if self.missing is Missing.ZERO and assignment in self.zero_for and not is_waiting:
            return "0"
        return "" if self.missing is Missing.BLANK else before


def grades_of(results: Grades | Iterable[SubmissionResult]) -> Grades:
    """Returns `Grades` unchanged; converts plain results to `Grades`."""
    return results if isinstance(results, Grades) else Grades(last_of(results))
