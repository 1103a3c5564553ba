"""Finds two members of families that together explain an answer.

If one of two changes has no effect, both together answer like the other one, except for few calls.
So a pair is likely if the answer equals each of them where the other one is right. Where both show
in every call nothing tells which they are: pairs of frequent mistakes are tried.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, combinations
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from .families import may_be_in_a_pair
from .families.words import frequency_place
from .record import OF_GRADIENTS, Answered, Call
from .rows import Row
from .table import UNKNOWN, Table

#: the number of requests that decide which pairs are likely; the number of pairs to try
_REQUESTS, _PAIRS = 40, 100
#: the place of a family that is not among the frequent ones
_RARE = 100
#: the calls to likely pairs, and to pairs of frequent mistakes
MOST_CALLS, _BLIND_CALLS = 1500, 500

Cells = NDArray[np.bool_]
#: returns the answers of two combined members
AskPair = Callable[[int, int, str], Answered | None]


@dataclass(slots=True)
class Budget:
    """The number of calls that may still be made."""

    left: int

    def spend(self, calls: int) -> bool:
        """Spends calls; returns whether there were enough left."""
        self.left -= calls
        return self.left >= 0


class Pairs:
    """Pairs of members of a table, compared with one answer.

    `came` are the answer's calls, `right` the solution's, in the order of the table's columns;
    `wrong_first` are the tests in the order in which they can tell most.
    """

    def __init__(
        self,
        table: Table,
        wrong_first: Sequence[str],
        tests: Mapping[str, slice],
        came: Sequence[Call],
        right: Sequence[Call],
    ) -> None:
        self._table = table
        self._tests = tests
        self._came = came
        self._right = right
        self._shortest = sorted(wrong_first, key=self._cost)
        self._chosen = np.array(
            [not row.is_entry and may_be_in_a_pair(row.rank) for row in table.rows], bool
        )

    def first(self, ask: AskPair) -> list[Row]:
        """Returns the row of the first pair with the answer's calls, likely pairs first."""
        columns = self._columns()
        if not columns:
            return []
        likely, frequent = self._likely(columns)[:_PAIRS], self._frequent(columns)
        found = self._equal(likely, ask, Budget(MOST_CALLS))
        return found or self._equal(frequent, ask, Budget(_BLIND_CALLS))

    def _equal(self, pairs: Sequence[tuple[int, int]], ask: AskPair, budget: Budget) -> list[Row]:
        for pair in pairs:
            one, other = (self._table.rows[row] for row in pair)
            for test in self._shortest:
                columns = self._tests[test]
                if not budget.spend(columns.stop - columns.start):
                    return []
                both = ask(one.member, other.member, test)
                calls = both.calls if both else ()
                if len(calls) != columns.stop - columns.start or not all(
                    map(Call.equals, calls, self._came[columns])
                ):
                    break
            else:
                return [Row.of_both(one, other)]
        return []

    def _cost(self, test: str) -> tuple[bool, int]:
        columns = self._tests[test]
        calls = zip(self._came[columns], self._right[columns], strict=True)
        return all(came.equals(right) for came, right in calls), columns.stop - columns.start

    def _columns(self) -> list[int]:
        """Returns requests of wrong tests that every member was asked: the shortest, up to 40."""
        cells = self._table.cells[[not row.is_entry for row in self._table.rows]]
        wrong = [
            range(columns.start, columns.stop)
            for columns in sorted(self._tests.values(), key=lambda c: c.stop - c.start)
            if (cells[:, columns] != UNKNOWN).all()
            and any(
                self._came[at].is_wrong(self._right[at])
                for at in range(columns.start, columns.stop)
            )
        ]
        ends = accumulate(map(len, wrong))
        return [at for c, end in zip(wrong, ends, strict=True) if end <= _REQUESTS for at in c]

    def _likely(self, columns: Sequence[int]) -> list[tuple[int, int]]:
        """Returns pairs of rows, the likeliest first; of equal rows, that with the lowest rank."""
        told = [at for at in columns if self._tells(at)]
        counts = ~self._raised(told)
        right, alike = _bits(self._right_cells(told) & counts), _bits(self._alike(told) & counts)
        wrong = sum(self._came[at].is_wrong(self._right[at]) << n for n, at in enumerate(told))
        found = []
        for one, other in combinations(self._different(self._chosen, columns), 2):
            own, its = right[other] & alike[one] & wrong, right[one] & alike[other] & wrong
            missed = right[one] & ~alike[other] | right[other] & ~alike[one]
            explains = (own | its).bit_count() - missed.bit_count()
            if explains > 0:
                rare = self._rarity(one) + self._rarity(other)
                found.append(((not (own and its), -explains, rare), one, other))
        found.sort(key=itemgetter(0))
        return [(one, other) for _, one, other in found]

    def _frequent(self, columns: Sequence[int]) -> list[tuple[int, int]]:
        """Returns pairs of rows that are right where the answer is, the most frequent first.

        A row counts less the rarer its family is, and the more rows of the family come before it.
        """
        told = [at for at in columns if self._tells(at)]
        is_right = self._right_cells(told)
        came_right = np.array([self._came[at].equals(self._right[at]) for at in told], bool)
        fits = (is_right | ~came_right).all(1) & ~self._raised(told).any(1) & ~is_right.all(1)
        weights: dict[int, float] = {}
        turns: Counter[int] = Counter()
        for row in self._different(self._chosen & fits, columns):
            place = frequency_place(self._table.rows[row].name)
            if place is not None:
                weights[row] = (1 + place / 2) * (1 + turns[place])
                turns[place] += 1
        return sorted(
            combinations(weights, 2), key=lambda pair: weights[pair[0]] * weights[pair[1]]
        )

    def _different(self, chosen: Cells, columns: Sequence[int]) -> list[int]:
        """Returns one of all rows with equal answers: the most frequent, then the lowest rank.

        They are equal if they are for these requests; rows that are right in all of them, only if
        they are everywhere.
        """
        rows = np.flatnonzero(chosen).tolist()
        cells, right = self._table.cells, np.array(self._table.right)
        different: dict[object, int] = {}
        for row in sorted(rows, key=lambda row: (self._rarity(row), self._table.rows[row].rank)):
            own = cells[row, columns]
            known = cells[row] if (own == right[columns]).all() else own
            different.setdefault(known.tobytes(), row)
        return [*different.values()]

    def _rarity(self, row: int) -> int:
        """Returns the place of a row's family among frequent ones; of others, a place after them.

        Two members may answer alike in all requests: the more frequent mistake is reported.
        """
        place = frequency_place(self._table.rows[row].name)
        return _RARE if place is None else place

    # comparisons of all rows with some requests

    def _right_cells(self, columns: Sequence[int]) -> Cells:
        return self._cells(columns, lambda own, at: own.equals(self._right[at]))

    def _alike(self, columns: Sequence[int]) -> Cells:
        return self._cells(columns, lambda own, at: own.equals(self._came[at]))

    def _raised(self, columns: Sequence[int]) -> Cells:
        return self._cells(columns, lambda own, at: bool(own.raised))

    def _cells(self, columns: Sequence[int], holds: Callable[[Call, int], bool]) -> Cells:
        """Returns for each row and request whether something holds; unknown cells may be anything.

        Only entries have unknown cells here, and they are not compared.
        """
        found = np.zeros((len(self._table.rows), len(columns)), bool)
        for number, at in enumerate(columns):
            values = [holds(own, at) for own in self._table.answers[at]]
            found[:, number] = np.array([*values, True])[self._table.cells[:, at]]
        return found

    def _tells(self, at: int) -> bool:
        came, right = self._came[at], self._right[at]
        return not (came.raised or right.raised or came.operation in OF_GRADIENTS)


def _bits(cells: Cells) -> list[int]:
    """Returns each row as an integer with one bit per cell."""
    return [sum(1 << at for at in np.flatnonzero(row).tolist()) for row in cells]
