"""Finds mistakes that explain some of an answer's wrong results, for answers with several mistakes.

A mistake explains a call if the answer returns the mistake's wrong result. A mistake is
contradicted by a correct result that the mistake would make wrong. If a mistake explains several
calls and is not contradicted, the answer contains this mistake, or one with the same effect.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .families.words import frequency_place
from .record import OF_GRADIENTS
from .rows import NOTE, Row
from .search import Search, SearchResult

#: the minimum number of calls, and of tests with random results, that a mistake must explain
_ENOUGH, _ENOUGH_BY_CHANCE = 3, 2
#: how many calls must be explained for each other wrong call if a mistake seems to be the only one
_NEARLY_ALL = 5
#: a mistake must explain at least one in this many of the wrong calls
_LEAST = 10

Cells = NDArray[np.bool_]


class PartialSearch:
    """Searches a table for rows that explain some of an answer's wrong results."""

    def __init__(self, search: Search) -> None:
        self._search, self._rows = search, search.table.rows
        calls = [*zip(search.came, search.right, strict=True)]
        wrong = np.array([not came.equals(right) for came, right in calls], bool)
        slopes = np.array([came.operation in OF_GRADIENTS for came, _ in calls], bool)
        raised = np.array([bool(came.raised) for came, _ in calls], bool)
        # zeros say little, because many mistakes hide everything
        telling = ~raised & np.array([any(came.figures) for came, _ in calls], bool)
        alike, others = self._alike(wrong), wrong & ~slopes
        told = np.array([search.tells(row) for row in self._rows], bool)
        possible = told & ~self._contradicted(~wrong & ~slopes)
        # a change that applies to any step must explain every value
        possible &= search.plain | ~(others & ~raised & ~alike).any(1)
        self._explained = alike & telling & ~self._drawn() & possible[:, None]
        self._explained[_LEAST * self._explained.sum(1) < others.sum()] = False
        #: how many calls each row explains, and how many other calls are wrong
        self._counts, self._others = self._explained.sum(1), (others & ~alike).sum(1)
        #: whether a row explains most of the wrong calls
        self.is_most = bool((self._counts > self._others).any())
        found = self._of_random_results(others & ~raised)
        self._by_chance = [row for row in found if possible[row]]

    def found(self) -> SearchResult:
        """Returns the rows that explain the most calls, and are not contradicted.

        If another row explains some of the remaining calls, returns one row for both.
        """
        if self._by_chance:
            return self._result(self._by_chance, NOTE)
        most = self._counts.max(initial=0)  # a question may have no known mistakes
        if most < _ENOUGH and not self.is_most:
            return SearchResult()
        best = np.flatnonzero(self._counts == most).tolist()
        first = min(best, key=self._order)
        if _NEARLY_ALL * self._others[first] <= self._counts[first]:
            return self._result(best, "")
        second = self._beside(first)
        if not second:
            return self._result(best, NOTE)
        one, other = (self._rows[row] for row in (first, min(second, key=self._order)))
        return SearchResult((), [Row.of_both(one, other)])

    def _result(self, numbers: list[int], note: str) -> SearchResult:
        rows = [self._rows[number] for number in numbers]
        entries = [row for row in rows if row.is_entry]
        return SearchResult(entries, [row for row in rows if not row.is_entry], note)

    def _order(self, number: int) -> tuple[bool, int, int]:
        row = self._rows[number]
        return not row.is_entry, frequency_place(row.name), row.rank

    def _beside(self, first: int) -> list[int]:
        """Returns the rows that explain the most calls among those that a row leaves open."""
        counts = (self._explained & ~self._explained[first]).sum(1)
        counts[(self._explained[first] & ~self._explained).sum(1) < _ENOUGH] = 0
        most = counts.max()
        return np.flatnonzero(counts == most).tolist() if most >= _ENOUGH else []

    def _alike(self, wrong: NDArray[np.bool_]) -> Cells:
        """Returns, for each row and each wrong call, whether the answer has the row's result."""
        search, table = self._search, self._search.table
        found: Cells = search.equal & search.known & wrong
        for at in np.flatnonzero(wrong).tolist():
            came, right = search.came[at], search.right[at]
            for number in table.column(at).alike(came):
                own = table.answers[at][number]
                if came.has_equal_numbers(own) and not own.has_equal_numbers(right):
                    found[table.cells[:, at] == number, at] = True
        return found

    def _contradicted(self, right_calls: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Returns, for each row, whether it makes a result wrong that is right."""
        search, table = self._search, self._search.table
        wrong = np.zeros(table.cells.shape, bool)
        for at in np.flatnonzero(right_calls).tolist():
            unlike = table.is_unlike_right(at)
            wrong[:, at] = np.append(unlike, False)[table.cells[:, at]]
        for (row, test), samples in table.samples.items():
            wrong[row, search.tests[test]] &= ~np.array(samples.may_be_right, bool)
        return np.array(wrong.any(1), bool)

    def _drawn(self) -> NDArray[np.bool_]:
        """Returns which calls belong to tests in which most entries are random.

        In such a test, a result can equal a mistake's result by chance.
        """
        search, found = self._search, np.zeros(len(self._search.came), bool)
        tests = Counter(test for _, test in search.table.samples)
        for test, count in tests.items():
            found[search.tests[test]] = 2 * count > sum(row.is_entry for row in self._rows)
        return found

    def _of_random_results(self, values: NDArray[np.bool_]) -> list[int]:
        """Returns the row whose random results explain nearly all tests, more than other rows do.

        `values` says which calls return a wrong value. In a test in which the row is not random,
        there must be none.
        """
        search, fitting = self._search, Counter[int]()
        for row, tests in search.random_tests.items():
            drawn = sum(values[search.tests[test]].sum() for test in tests)
            failing = [test for test in tests if test not in search.right_tests]
            failing.sort(key=lambda test: search.tests[test].stop - search.tests[test].start)
            if drawn == values.sum() and self._fit(row, failing, run=False):
                fitting[row] = self._fit(row, failing)
        (most, count), (_, less) = [*fitting.most_common(2), (-1, 0), (-1, 0)][:2]
        return [most] if count >= max(_ENOUGH_BY_CHANCE, less + 1) else []

    def _fit(self, row: int, failing: Sequence[str], run: bool = True) -> int:
        """Returns how many tests a row's random results explain, or 0 if it isn't nearly all."""
        missed, most_missed = 0, len(failing) // _NEARLY_ALL
        for test in failing:  # stop at the first test too many, because it takes long to run a test
            missed += not self._search.may_be_a_sample(row, test, run)
            if missed > most_missed:
                return 0
        return len(failing) - missed
