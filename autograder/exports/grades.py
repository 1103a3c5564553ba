"""What formats write: the results that count, when they arrived, and who has submitted nothing."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ..classroom import Lateness, Person
from ..records import Key, SubmissionResult
from ..results.last import keys_of, last_of


class Missing(enum.StrEnum):
    """What stands in the place of a submission that is not there."""

    KEEP = "keep"
    BLANK = "blank"
    ZERO = "zero"


@dataclass(frozen=True, slots=True)
class Grades:
    """The last result of each student and assignment, and what else is known of the class.

    `absent` are people without any result, by name, and what their identifier is; `people` are who
    students are on the roster. `has_mark` wants a byte order mark, by which Excel knows UTF-8.
    `zero_for` are the assignments in which a missing submission may count as zero; `not_due` those
    in which it may not yet.
    """

    results: Sequence[SubmissionResult]
    arrivals: Mapping[Key, Lateness] = field(default_factory=dict)
    penalties: Mapping[Key, float] = field(default_factory=dict)
    absent: tuple[str, ...] = ()
    missing: Missing = Missing.KEEP
    zero_for: frozenset[str] = frozenset()
    not_due: tuple[str, ...] = ()
    waiting_for: frozenset[Key] = frozenset()
    known_as: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    people: Mapping[str, Person] = field(default_factory=dict)
    has_mark: bool = False

    @property
    def assignments(self) -> tuple[str, ...]:
        """The assignments with results, in the order of these."""
        return tuple(dict.fromkeys(name for _, name in keys_of(self.results)))

    @property
    def people_waited_for(self) -> tuple[str, ...]:
        """Who may still submit something, by name."""
        return tuple(sorted({student for student, _ in self.waiting_for}))

    def in_place_of_nothing(self, student: str, assignment: str, before: str = "") -> str:
        """The cell of a submission that is not there; `before` is what the platform has."""
        is_waiting = (student, assignment) in self.waiting_for
        if self.missing is Missing.ZERO and assignment in self.zero_for and not is_waiting:
            return "0"
        return "" if self.missing is Missing.BLANK else before


def grades_of(results: Grades | Iterable[SubmissionResult]) -> Grades:
    """Results alone as grades."""
    return results if isinstance(results, Grades) else Grades(last_of(results))
