"""Finds two mistakes that together explain an answer: members of families, or catalogue entries.

Where one of two mistakes has no effect, both together answer like the other one, except for few
calls. So a pair is likely if the answer equals each of them where the other one is right: in some
calls, or in some numbers of a result. Two members are combined and executed; the likeliest entry is
executed with changes of families. If nothing indicates which two mistakes they are, pairs of
frequent ones are tried.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, combinations, compress
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from .changed_entries import ChangedEntries
from .families import may_be_in_a_pair
from .families.words import frequency_place
from .record import OF_GRADIENTS, AnswerRecord, Call
from .rows import Row
from .table import SCREEN, UNKNOWN, Column, Table

#: the number of pairs to try
_PAIRS = 60
#: the place of a family that is not among the frequent ones
_RARE = 100
#: the most calls to likely pairs, and to pairs of frequent mistakes
MOST_CALLS, _BLIND_CALLS = 400, 400
#: the most calls to changes of the likeliest entry, and the most changes that run in all tests
_ENTRY_CALLS, _EXECUTED = 30, 2

Cells = NDArray[np.bool_]
#: returns the answers of two combined members to the first requests of a test, or to all
AskPair = Callable[[int, int, str, int | None], AnswerRecord | None]


@dataclass(slots=True)
class Budget:
    """The number of calls that may still be made."""

    left: int

    def spend(self, calls: int) -> bool:
        """Spends calls; returns whether there were enough left."""
        self.left -= calls
        return self.left >= 0


class PairSearch:
    """Pairs of members of a table, compared with one answer.

    `came` are the answer's calls and `right` the solution's, in the order of the table's columns;
    `wrong_first` are the tests, the most informative one first.
    """

    def __init__(
        self,
        table: Table,
        wrong_first: Sequence[str],
        tests: Mapping[str, slice],
        came: Sequence[Call],
        right: Sequence[Call],
        entries: ChangedEntries,
    ) -> None:
        self._table = table
        self._tests = tests
        self._came = came
        self._right = right
        self._changed_entries = entries
        self._shortest = sorted(wrong_first, key=self._cost)
        by_chance = {row for row, _ in table.samples}
        self._chosen = np.array(
            [
                number not in by_chance
                and (may_be_in_a_pair(row.rank) or frequency_place(row.name) is not None)
                for number, row in enumerate(table.rows)
            ],
            bool,
        )

    def first(self, ask: AskPair) -> list[Row]:
        """Returns the row of the first pair that explains the answer; executes pairs first."""
        columns = self._columns()
        if not columns:
            return []
        likely, with_entries = self._likely(columns)
        return (
            self._equal(likely, ask, Budget(MOST_CALLS))
            or self._of_changed_entries(with_entries)
            or self._equal(self._frequent(columns), ask, Budget(_BLIND_CALLS))
        )

    def _of_changed_entries(self, pairs: Sequence[tuple[int, int]]) -> list[Row]:
        """Returns the row of the first pair of an entry and a member that explains the answer.

        The likeliest entry is executed with each of its changes up to the first wrong call; the
        first changes that give the same answers are then executed in all tests.
        """
        rows, (test, count) = self._table.rows, self._first_wrong()
        likeliest = next((row for pair in pairs for row in pair if rows[row].is_entry), None)
        tried = [
            (pair, definitions)
            for pair in pairs
            if likeliest in pair
            for definitions in self._changed_entries.changed(*(rows[row] for row in pair))
        ][: max(1, _ENTRY_CALLS // count)]
        asked = self._changed_entries.answered([own for _, own in tried], [test], count)
        fits = [self._is_came(of_test, [test]) for of_test in asked]
        for pair, definitions in [*compress(tried, fits)][:_EXECUTED]:
            of_all = self._changed_entries.answered([definitions], self._shortest)
            if of_all and self._is_came(of_all[0], self._shortest):
                return self._both(*pair)
        return []

    def _is_came(self, records: Sequence[AnswerRecord], tests: Sequence[str]) -> bool:
        """Returns whether a record equals the answer in tests, or in the first requests of each."""
        return all(
            all(map(Call.equals, record.calls, self._came[self._tests[test]]))
            for record, test in zip(records, tests, strict=True)
        )

    def _both(self, one: int, other: int) -> list[Row]:
        return [Row.of_both(self._table.rows[one], self._table.rows[other])]

    def _equal(self, pairs: Sequence[tuple[int, int]], ask: AskPair, budget: Budget) -> list[Row]:
        parts: list[tuple[str, int | None]] = [self._first_wrong()]
        parts += [(test, None) for test in self._shortest]
        for pair in pairs:
            one, other = (self._table.rows[row].member for row in pair)
            for test, count in parts:
                came = self._came[self._tests[test]][:count]
                if not budget.spend(len(came)):
                    return []
                both = ask(one, other, test, count)
                calls = both.calls if both else ()
                if len(calls) != len(came) or not all(map(Call.equals, calls, came)):
                    break
            else:
                return self._both(*pair)
        return []

    def _first_wrong(self) -> tuple[str, int]:
        """Returns the test with the fewest requests up to a wrong call, and their number."""
        ends = []
        for test, columns in self._tests.items():
            calls = zip(self._came[columns], self._right[columns], strict=True)
            wrong = (end for end, (came, right) in enumerate(calls, 1) if came.is_wrong(right))
            ends.append((next(wrong, columns.stop), test))
        count, test = min(ends)
        return test, count

    def _cost(self, test: str) -> tuple[bool, int]:
        columns = self._tests[test]
        calls = zip(self._came[columns], self._right[columns], strict=True)
        return all(came.equals(right) for came, right in calls), columns.stop - columns.start

    def _columns(self) -> list[int]:
        """Returns requests of wrong tests that all members answered, the shortest tests first."""
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
        return [at for c, end in zip(wrong, ends, strict=True) if end <= SCREEN for at in c]

    def _likely(self, columns: Sequence[int]) -> tuple[list[tuple[int, int]], ...]:
        """Returns pairs of members, and pairs with one entry, the likeliest first.

        Of equal rows, only the one with the lowest rank is used in pairs.
        """
        places = [at for at in columns if self._is_informative(at)]
        right = _bits(self._figures(places, self._right))
        alike = _bits(self._figures(places, self._came))
        wrong = _bits(~self._came_right(places))[0] if places else 0
        found = []
        for one, other in combinations(self._different(self._chosen, columns), 2):
            own, its = right[other] & alike[one] & wrong, right[one] & alike[other] & wrong
            missed = right[one] & ~alike[other] | right[other] & ~alike[one]
            explains = (own | its).bit_count() - missed.bit_count()
            if explains > 0:
                rare = self._rarity(one) + self._rarity(other)
                found.append(((not (own and its), -explains, rare), one, other))
        entry = [row.is_entry for row in self._table.rows]
        by_entries: tuple[list[tuple[int, int]], ...] = ([], [], [])
        for _, one, other in sorted(found, key=itemgetter(0)):
            by_entries[entry[one] + entry[other]].append((one, other))
        return by_entries[0][:_PAIRS], by_entries[1][:_PAIRS]

    def _frequent(self, columns: Sequence[int]) -> list[tuple[int, int]]:
        """Returns pairs of rows that are right where the answer is, the most frequent first.

        A row has less weight the rarer its family is, and the more rows of the family precede it.
        """
        places = [at for at in columns if self._is_informative(at)]
        is_right = self._right_cells(places)
        came_right = np.array([self._came[at].equals(self._right[at]) for at in places], bool)
        fits = (is_right | ~came_right).all(1) & ~self._raised(places).any(1) & ~is_right.all(1)
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
        """Returns one row per group of equal answers: the most frequent, then the lowest rank.

        Rows are equal if they answer these requests equally; rows that are right in all of these
        requests must be equal everywhere.
        """
        rows = np.flatnonzero(chosen).tolist()
        cells, right = self._table.cells, np.array(self._table.right)
        different: dict[object, int] = {}
        for row in sorted(rows, key=self._order):
            own = cells[row, columns]
            known = cells[row] if (own == right[columns]).all() else own
            different.setdefault(known.tobytes(), row)
        return [*different.values()]

    def _order(self, row: int) -> tuple[bool, int, int, bool]:
        own = self._table.rows[row]
        return own.is_entry, self._rarity(row), own.rank, not own.detail

    def _rarity(self, row: int) -> int:
        """Returns the place of a row's family among the frequent ones, or a place after them.

        If two members answer alike in all requests, the more frequent mistake is reported.
        """
        place = frequency_place(self._table.rows[row].name)
        return _RARE if place is None else place

    # comparisons of all rows with some requests

    def _right_cells(self, columns: Sequence[int]) -> Cells:
        return self._cells(columns, lambda at: self._column(at).equal_to(self._right[at])[:, None])

    def _raised(self, columns: Sequence[int]) -> Cells:
        return self._cells(columns, lambda at: self._column(at).raised[:, None])

    def _figures(self, columns: Sequence[int], others: Sequence[Call]) -> Cells:
        """Returns for each row which numbers of its results equal another answer's."""
        return self._cells(
            columns, lambda at: self._column(at).figures_equal_to(others[at], self._count(at))
        )

    def _came_right(self, columns: Sequence[int]) -> Cells:
        """Returns which numbers of the answer's results are right, as one row."""
        pairs = ((self._came[at], self._right[at], self._count(at)) for at in columns)
        return np.array([[fits for pair in pairs for fits in _equal_figures(*pair)]], bool)

    def _count(self, at: int) -> int:
        """Returns the number of figures to compare in a request."""
        return max(1, len(self._right[at].figures))

    def _column(self, at: int) -> Column:
        return self._table.column(at)

    def _cells(self, columns: Sequence[int], holds: Callable[[int], Cells]) -> Cells:
        """Returns for each row and request whether something holds; all cells must be known."""
        found = [np.zeros((len(self._table.rows), 0), bool)]
        found += [holds(at)[self._table.cells[:, at]] for at in columns]
        return np.hstack(found)

    def _is_informative(self, at: int) -> bool:
        came, right = self._came[at], self._right[at]
        return not (came.raised or right.raised or came.operation in OF_GRADIENTS)


def _bits(cells: Cells) -> list[int]:
    """Returns each row as an integer with one bit per cell."""
    return [sum(1 << at for at in np.flatnonzero(row).tolist()) for row in cells]


def _equal_figures(own: Call, other: Call, count: int) -> list[bool]:
    """Returns which figures are equal; all or none if the results differ in more than numbers."""
    if own.form != other.form or own.raised or other.raised or len(own.figures) != count:
        return [own.equals(other)] * count
    if len(other.figures) != count:
        return [False] * count
    triples = zip(own.figures, other.figures, own.bounds, strict=True)
    return [abs(one - another) <= bound for one, another, bound in triples]
