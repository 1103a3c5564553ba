"""Finds rows of a table that explain all of an answer.

For each request, the answer's result is compared once with each of the different results in the
table. Results that the table lacks are computed within a budget of calls, which is the same on
every machine. If no mistake is identified within this budget, none is named.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .families import is_plain
from .probe import ProbeReplies
from .record import AnswerRecord, Call
from .rows import Row
from .table import UNKNOWN, Table

#: the maximum number of calls to members for one answer
MOST_CALLS = 1500
#: the maximum number of tests that are repeated to find out if an answer's results are random
_TESTS_REPEATED = 3
Cells = NDArray[np.bool_]
#: returns a member's record in a test, or None if the member can't be executed
AskMember = Callable[[int, str], AnswerRecord | None]


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The rows that explain an answer's calls, and a `note` that is added to their hint."""

    entries: Sequence[Row] = ()
    members: Sequence[Row] = ()
    note: str = ""


class Search:
    """Searches a question's table for mistakes that explain an answer.

    `tests` contains the columns that belong to each test.
    """

    def __init__(
        self,
        table: Table,
        tests: Mapping[str, slice],
        answers: ProbeReplies,
        ask_member: AskMember,
    ) -> None:
        self.table = table
        self.tests = tests
        self.answers = answers
        self._ask_member = ask_member
        self._calls_left = MOST_CALLS
        self.came = [call for test in tests for call in answers.answered(test).calls]
        self.right = [known[n] for known, n in zip(table.answers, table.right, strict=True)]
        is_right = [*map(Call.equals, self.came, self.right)]
        wrong = [(c, r) for c, r in zip(self.came, self.right, strict=True) if c.is_wrong(r)]
        #: whether every wrong value is nan, which many different mistakes cause
        self.is_nan = bool(wrong) and all(came.is_only_nan(right) for came, right in wrong)
        self.right_tests = {test for test, columns in tests.items() if all(is_right[columns])}
        self.wrong_first = sorted(tests, key=lambda test: test in self.right_tests)
        self._entries = np.array([row.is_entry for row in table.rows], bool)
        #: the entries, and the changes to known steps
        self.plain = np.array([row.is_entry or is_plain(row.rank) for row in table.rows], bool)
        self.known = table.cells != UNKNOWN
        #: whether each row has the answer's result in each call, or may have it if it is unknown
        self.equal = np.zeros(table.cells.shape, bool)
        for at, came in enumerate(self.came):
            equal = np.append(table.column(at).equal_to(came), True)
            self.equal[:, at] = equal[table.cells[:, at]]
        self._learnt: dict[tuple[int, str], Sequence[Call]] = {}

    # methods that compare cells, rows and tests

    def _learn(self, row: int, test: str) -> bool:
        """Computes a row's results in a test if they are unknown; returns False if this fails."""
        columns = self.tests[test]
        if self.known[row, columns].all():
            return True
        self._calls_left -= columns.stop - columns.start
        if self._calls_left < 0:
            return False
        own = self._ask_member(self.table.rows[row].member, test)
        if own is None:
            return False
        self._learnt[row, test] = own.calls
        self.equal[row, columns] = [*map(Call.equals, own.calls, self.came[columns])]
        self.known[row, columns] = True
        return True

    def _triples(self, row: int, test: str) -> Iterator[tuple[Call, Call, Call]]:
        """Yields a row's known results in a test, each with the answer's and the solution's."""
        columns = self.tests[test]
        own = self._learnt.get((row, test))
        if own is None:
            cells = self.table.cells[row, columns]
            own = [known[n] for known, n in zip(self.table.answers[columns], cells, strict=True)]
        yield from zip(own, self.came[columns], self.right[columns], strict=True)

    def _all(self, row: int, holds: Callable[[int, str], bool]) -> bool:
        """Returns whether a condition holds for a row in all tests; checks failed tests first."""
        return all(self._learn(row, test) and holds(row, test) for test in self.wrong_first)

    @property
    def is_right(self) -> bool:
        """Returns whether all replies are right; if so, tests fail for a different reason."""
        return len(self.right_tests) == len(self.tests)

    # methods that find rows that explain all of an answer

    def entries(self) -> list[Row]:
        """Returns entries with the answer's results or, if none, those that may fit by chance."""
        rows = np.flatnonzero(self._entries).tolist()
        by_chance = sorted({row for row, _ in self.table.samples})
        found = [row for row in rows if self.equal[row].all()] or [
            row for row in by_chance if self._all(row, self._fits)
        ]
        return [self.table.rows[n] for n in found if not self.is_right or self._fails_alike(n)]

    def members(self) -> list[Row]:
        """Returns the members of lowest rank that have the same results as the answer.

        A member must have a wrong value in common with the answer, or change a check. Returns one
        member of each family, if possible one with a detail, because the family's other members
        have equal results.
        """
        found: list[Row] = []
        rows = np.flatnonzero(~self._entries).tolist()
        for row in sorted(rows, key=lambda row: self.table.rows[row].rank):
            own = self.table.rows[row]
            if found and own.rank > found[0].rank:
                break
            if (
                self.tells(own)
                and self.equal[row].all()
                and self._all(row, self._is)
                and self._is_carried(row)
            ):
                found.append(own)
        first = {row.name: row for row in sorted(reversed(found), key=lambda row: bool(row.detail))}
        return [*first.values()]

    def tells(self, row: Row) -> bool:
        """Returns whether a row may be reported.

        If all wrong values are nan, the row's description must mention nan.
        """
        return not self.is_nan or "nan" in row.words

    def _is_carried(self, row: int) -> bool:
        """Returns whether a row changes a check, or has a wrong value in common with the answer."""
        return self.table.rows[row].in_check or any(
            not own.raised and own.equals(came) and not own.equals(right)
            for test in self.tests
            for own, came, right in self._triples(row, test)
        )

    def _is(self, row: int, test: str) -> bool:
        return all(own.equals(came) for own, came, _ in self._triples(row, test))

    def _fits(self, row: int, test: str) -> bool:
        """Returns whether a row's results in a test equal the answer's, or may do so by chance."""
        return self._is(row, test) or self.may_be_a_sample(row, test)

    def may_be_a_sample(self, row: int, test: str, run: bool = True) -> bool:
        """Returns whether an entry that depends on chance may have given the answer's results.

        If `run` is false, the test's message is not compared, for which the test has to run.
        """
        samples = self.table.samples.get((row, test))
        if samples is None or not self._changes_like(row):
            return False
        columns = self.tests[test]
        calls = zip(self.came[columns], self.right[columns], samples.may_be_right, strict=True)
        if any(came.equals(right) and not may_be for came, right, may_be in calls):
            return False  # the answer is right in a call in which the entry never is
        if not self.answers.measured(test).is_among(samples.judged):
            return False
        return not run or self.answers.judged(test).is_among(samples.judged)

    def _changes_like(self, row: int) -> bool:
        """Returns whether random numbers change the answer's results where they change a row's.

        Small results may be equal by chance, so tests with large results are repeated, failed tests
        first.
        """
        tests = self.random_tests[row]
        order = sorted(tests, key=lambda t: (t in self.right_tests, -self.answers.size(t)))
        return any(map(self.answers.is_changed, order[:_TESTS_REPEATED]))

    @cached_property
    def random_tests(self) -> Mapping[int, Sequence[str]]:
        """The tests in which a row's results depend on chance, keyed by row."""
        found: defaultdict[int, list[str]] = defaultdict(list)
        for row, test in self.table.samples:
            found[row].append(test)
        return found

    def _fails_alike(self, row: int) -> bool:
        """Returns whether an entry and an answer with only right replies get equal messages."""
        return all(
            self.table.words.get((row, test)) == self.answers.judged(test).words
            for test in self.tests
        )
