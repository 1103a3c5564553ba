"""Finds two mistakes that together explain an answer: members of families, or catalog entries.

If one of two mistakes has no effect on a call, the pair usually answers this call like the other
mistake. A pair is therefore likely if the answer equals that of each mistake wherever the other
mistake is right: in some calls, or in some numbers in a result. Two members are combined and
executed; the likeliest entry is executed with changes from families. If nothing indicates which
mistakes were made, the search looks for pairs of known mistakes and frequent changes that give the
same result in one call; a table contains the results of these pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, combinations, compress, islice
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from .changed_entries import ChangedEntries, Definitions
from .families import is_small, may_be_in_a_pair
from .families.words import frequency_place, most_frequent
from .record import OF_GRADIENTS, AnswerRecord, Call
from .rows import Row
from .table import SCREEN, UNKNOWN, Pairs, Table, total_of

#: the number of pairs to try
_PAIRS = 60
#: the position of a family that is not among the frequent ones
_RARE = 100
#: the most calls to likely pairs, in addition to all calls to the pair that fits
MOST_CALLS = 400
#: the most calls to pairs with changed definitions, and the most pairs that are executed in all
#: tests
_TRIED_CALLS, _EXECUTED = 30, 2
#: the most members of families for which a table has pairs, and how many of a test's first requests
#: may be used to tell pairs apart
_MOST_BASES, _MOST_REQUESTS = 16, 8

_CALLS = ("call", "forward")
#: the beginning of the form of a call that returns a list
_LIST = "tuple(list("

Cells = NDArray[np.bool_]
#: returns the answers of two combined members to the first requests of a test, or to all of them
AskPair = Callable[[int, int, str, int | None], AnswerRecord | None]
#: two mistakes, and the definitions of an answer with both
_Pair = tuple[Row, Row, Definitions]


@dataclass(slots=True)
class Budget:
    """The number of calls that may still be made."""

    left: int

    def spend(self, calls: int) -> bool:
        """Spends calls; returns whether enough were left."""
        self.left -= calls
        return self.left >= 0


class PairSearch:
    """Searches the rows of a table for pairs that explain one answer.

    `came` contains the answer's calls and `right` the solution's, in the order of the table's
    columns; `wrong_first` contains all tests, those with a wrong call first.
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
        self._chosen = np.array([_may_be_one_of_two(row) for row in table.rows], bool)
        self._chosen[[row for row, _ in table.samples]] = False

    def first(self, ask: AskPair) -> list[Row]:
        """Returns a row for the first pair that explains the answer, or an empty list."""
        columns = self._columns()
        if not columns or self._returns_lists():
            return []
        likely, with_entries, entries = self._likely(columns)
        return (
            self._executed(self._of_table())
            or self._equal(likely, ask, Budget(MOST_CALLS + len(self._came)))
            or self._executed(self._of_entry(with_entries))
            or self._apart(entries)
        )

    def _returns_lists(self) -> bool:
        """Returns whether the answer returns a list where the solution does not.

        The step that joins parts may then be missing, so a mistake in this step can't be one of the
        two.
        """
        calls = zip(self._came, self._right, strict=True)
        return any(_LIST in own.form and _LIST not in right.form for own, right in calls)

    def _apart(self, pairs: Sequence[tuple[int, int]]) -> list[Row]:
        """Returns a row for two entries that change different numbers in the results.

        Each number in the answer must equal one entry's number, in a place where the other entry is
        right. Such entries need not be executed together. Each must explain a wrong number, because
        an entry that is right everywhere would fit any answer.
        """
        every = [at for at in range(len(self._came)) if self._is_informative(at)] if pairs else []
        places = [at for at in every if len(self._came[at].figures) == self._count(at)]
        right, alike = self._figures(places, self._right), self._figures(places, self._came)
        for one, other in pairs:
            own, its = alike[one] & right[other], alike[other] & right[one]
            if (own | its).all() and (own & ~right[one]).any() and (its & ~right[other]).any():
                return [Row.of_both(self._table.rows[one], self._table.rows[other])]
        return []

    def _of_entry(self, pairs: Sequence[tuple[int, int]]) -> Iterator[_Pair]:
        """Yields pairs of the likeliest entry and each change that may be the second mistake."""
        rows = self._table.rows
        entries = (row for pair in pairs for row in pair if rows[row].is_entry)
        likeliest = next((row for row in entries if row not in self._table.right_rows), None)
        for pair in pairs:
            one, other = (rows[row] for row in pair)
            if likeliest in pair:
                found = self._changed_entries.changed(one, other)
                yield from ((one, other, definitions) for definitions in found)

    def _of_table(self) -> Iterator[_Pair]:
        """Yields the pairs in the table that may give the answer's result in one call."""
        known = self._table.pairs
        if self._came and self._came[known.at].is_wrong(self._right[known.at]):
            for row, number in known.like(self._came[known.at]):
                base = self._table.rows[row]
                other, definitions = self._changed_entries.second(base)[number]
                yield from ((base, other, own) for own in definitions())

    def _executed(self, pairs: Iterator[_Pair]) -> list[Row]:
        """Returns a row for the first pair that explains the answer, or an empty list.

        The pairs are executed up to the first wrong call; the first `_EXECUTED` of those that give
        the answer's results are then executed in all tests.
        """
        test, count = self._first_wrong()
        tried = [*islice(pairs, max(1, _TRIED_CALLS // count))]
        asked = self._changed_entries.answered([own for *_, own in tried], [test], count)
        fits = [self._is_came(of_test, [test]) for of_test in asked]
        for one, other, definitions in [*compress(tried, fits)][:_EXECUTED]:
            of_all = self._changed_entries.answered([definitions], self._shortest)
            if of_all and self._is_came(of_all[0], self._shortest):
                return [Row.of_both(one, other)]
        return []

    def _is_came(self, records: Sequence[AnswerRecord], tests: Sequence[str]) -> bool:
        """Returns whether `records` equal the answer's records in all of `tests`."""
        return all(
            all(map(Call.equals, record.calls, self._came[self._tests[test]]))
            for record, test in zip(records, tests, strict=True)
        )

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
                return [Row.of_both(*(self._table.rows[row] for row in pair))]
        return []

    def _first_wrong(self) -> tuple[str, int]:
        """Returns the test with the fewest requests up to a wrong call, and that number."""
        ends = []
        for test, columns in self._tests.items():
            calls = zip(self._came[columns], self._right[columns], strict=True)
            wrong = (end for end, (came, right) in enumerate(calls, 1) if came.is_wrong(right))
            ends.append((next(wrong, columns.stop), test))
        count, test = min(ends)
        return test, count

    def _cost(self, test: str) -> tuple[bool, int]:
        columns = self._tests[test]
        is_right = all(map(Call.equals, self._came[columns], self._right[columns]))
        return is_right, columns.stop - columns.start

    def _columns(self) -> list[int]:
        """Returns the requests in failed tests that all members answered, shortest test first."""
        cells = self._table.cells[[not row.is_entry for row in self._table.rows]]
        wrong = [
            range(columns.start, columns.stop)
            for columns in sorted(self._tests.values(), key=lambda c: c.stop - c.start)
            if (cells[:, columns] != UNKNOWN).all()
            and any(map(Call.is_wrong, self._came[columns], self._right[columns]))
        ]
        ends = accumulate(map(len, wrong))
        return [at for c, end in zip(wrong, ends, strict=True) if end <= SCREEN for at in c]

    def _likely(self, columns: Sequence[int]) -> tuple[list[tuple[int, int]], ...]:
        """Returns the pairs with zero, one and two entries, the likeliest first in each list.

        If several rows are equal, only the one with the lowest rank is used in pairs.
        """
        places = [at for at in columns if self._is_informative(at)]
        right = _bits(self._figures(places, self._right))
        alike = _bits(self._figures(places, self._came))
        found = []
        for one, other in combinations(self._different(self._chosen, columns), 2):
            own = right[other] & alike[one] & ~right[one]
            its = right[one] & alike[other] & ~right[other]
            missed = right[one] & ~alike[other] | right[other] & ~alike[one]
            explains = (own | its).bit_count() - missed.bit_count()
            if explains > 0:
                rare = self._rarity(one) + self._rarity(other)
                found.append(((not (own and its), -explains, rare), one, other))
        entry = [row.is_entry for row in self._table.rows]
        by_entries: tuple[list[tuple[int, int]], ...] = ([], [], [])
        for _, one, other in sorted(found, key=itemgetter(0)):
            by_entries[entry[one] + entry[other]].append((one, other))
        return tuple(pairs[:_PAIRS] for pairs in by_entries)

    def _different(self, chosen: Cells, columns: Sequence[int]) -> list[int]:
        """Returns the first row of each group of equal rows, in the order of `_order`.

        Rows are equal if their answers to these requests are equal. Rows that are right in all of
        these requests must be equal everywhere.
        """
        rows = np.flatnonzero(chosen).tolist()
        cells, right = self._table.cells, np.array(self._table.right)
        different: dict[object, int] = {}
        for row in sorted(rows, key=self._order):
            own = cells[row, columns]
            known = cells[row] if (own == right[columns]).all() else own
            different.setdefault(known.tobytes(), row)
        return [*different.values()]

    def _order(self, row: int) -> tuple[bool, bool, int, int, bool]:
        own = self._table.rows[row]
        is_vague = is_small(own.rank) and (own.in_check or not own.detail)
        return own.is_entry, is_vague, self._rarity(row), own.rank, not own.detail

    def _rarity(self, row: int) -> int:
        """Returns the position of a row's family among the frequent ones, or a later position.

        If two members give equal answers to all requests, the more frequent mistake is reported.
        """
        place = frequency_place(self._table.rows[row].name)
        return _RARE if place is None else place

    def _figures(self, columns: Sequence[int], others: Sequence[Call]) -> Cells:
        """Returns, for each row, which numbers in its results equal those of another answer.

        All cells in these columns must be known.
        """
        found = [np.zeros((len(self._table.rows), 0), bool)]
        for at in columns:
            equal = self._table.column(at).figures_equal_to(others[at], self._count(at))
            found.append(equal[self._table.cells[:, at]])
        return np.hstack(found)

    def _count(self, at: int) -> int:
        """Returns the number of figures to compare in a request."""
        return max(1, len(self._right[at].figures))

    def _is_informative(self, at: int) -> bool:
        came, right = self._came[at], self._right[at]
        return not (came.raised or right.raised or came.operation in OF_GRADIENTS)


def known_pairs(table: Table, tests: Mapping[str, slice], entries: ChangedEntries) -> Pairs:
    """Returns pairs of mistakes and frequent changes, with a total of each pair's results.

    The results are those of the call that has the largest number of different answers. Mistakes
    that this call does not show, and pairs that it does not distinguish from their first mistake,
    are left out.
    """
    places = [
        (len(table.answers[at]), -count, at, test)
        for test, columns in tests.items()
        for count, at in enumerate(range(columns.start, columns.stop)[:_MOST_REQUESTS], 1)
        if (table.cells[:, at] != UNKNOWN).all() and table.answers[at][0].operation in _CALLS
    ]
    if not places:
        return Pairs()
    _, cost, at, test = max(places)
    ids, sums = [], []
    for row in _bases(table, at, test):
        own, known = table.rows[row], table.answers[at]
        tried = [
            (number, definitions)
            for number, (_, changed) in enumerate(entries.second(own))
            for definitions in changed()
        ]
        asked = entries.answered([definitions for _, definitions in tried], [test], -cost)
        for (number, _), (record,) in zip(tried, asked, strict=False):
            call, others = record.calls[-1], (table.right[at], table.cells[row, at])
            if not call.raised and not any(call.equals(known[other]) for other in others):
                ids.append((row, number))
                sums.append(total_of(call))
    with np.errstate(over="ignore"):  # a larger sum is infinite, and looked up as such
        return Pairs(at, np.array(ids, np.int16).reshape(-1, 2), np.array(sums, np.float32))


def _bases(table: Table, at: int, test: str) -> list[int]:
    """Returns the rows of entries and frequent families' members that are wrong in a request."""
    cells, answers = table.cells[:, at].tolist(), table.answers[at]
    shown = [
        row
        for row, cell in enumerate(cells)
        if cell != table.right[at] and not answers[cell].raised and (row, test) not in table.samples
    ]
    entries = [row for row in shown if table.rows[row].is_entry and row not in table.right_rows]
    members = {cells[row]: (table.rows[row].name, row) for row in reversed(shown)}
    return entries + most_frequent(members.values())[:_MOST_BASES]


def _may_be_one_of_two(row: Row) -> bool:
    return may_be_in_a_pair(row.rank) or frequency_place(row.name) is not None


def _bits(cells: Cells) -> list[int]:
    """Returns each row as an integer with one bit per cell."""
    return [sum(1 << at for at in np.flatnonzero(row).tolist()) for row in cells]
