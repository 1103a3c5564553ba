"""Finds rows of a table that explain all of an answer.

For each request, the answer's result is compared once with each of the different results in the
table. Results that the table lacks are computed within a budget of calls, which is the same on
every machine. If no mistake is identified within this budget, none is named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from .families import is_plain
from .probe import ProbeReplies
from .record import AnswerRecord, Call
from .rows import Row
from .table import UNKNOWN, Table

#: the maximum number of calls to members for one answer
MOST_CALLS = 1500
#: the second of two mistakes if no row lacks the same errors; the pair gets the name of the first
UNRAISED = Row("", "", rank=1000, words="a required error is not raised")

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

    def _own(self, row: int, test: str) -> Sequence[Call]:
        """Returns a row's results in a test; the results must already be known."""
        if (row, test) in self._learnt:
            return self._learnt[row, test]
        columns = self.tests[test]
        cells = self.table.cells[row, columns]
        return [known[n] for known, n in zip(self.table.answers[columns], cells, strict=True)]

    def _triples(self, row: int, test: str) -> Iterator[tuple[Call, Call, Call]]:
        columns = self.tests[test]
        yield from zip(self._own(row, test), self.came[columns], self.right[columns], strict=True)

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
        if self.is_right:
            found = [row for row in found if self._fails_alike(row)]
        return [self.table.rows[row] for row in found]

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
        if samples is None:
            return False
        columns = self.tests[test]
        calls = zip(self.came[columns], self.right[columns], samples.may_be_right, strict=True)
        if any(came.equals(right) and not may_be for came, right, may_be in calls):
            return False  # the answer is right in a call in which the entry never is
        if not self.answers.measured(test).is_among(samples.judged):
            return False
        return not run or self.answers.judged(test).is_among(samples.judged)

    def _fails_alike(self, row: int) -> bool:
        """Returns whether an entry and an answer with only right replies get equal messages."""
        return all(
            self.table.words.get((row, test)) == self.answers.judged(test).words
            for test in self.tests
        )

    def unraised(self) -> list[Row]:
        """Returns a row for a mistake in an answer that also lacks required errors, or [].

        The mistake must explain all wrong values. The mistake may depend on chance, because the two
        mistakes are not executed together. The second mistake is a row that is wrong only because
        it does not raise these errors either; among such rows, the one that most often returns the
        same values as the answer is used. If there is no such row, uses a general description.
        """
        missing = np.array([*map(Call.misses_error, self.came, self.right)], bool)
        wrong = np.array([*map(Call.is_wrong, self.came, self.right)], bool)
        if not (missing.any() and (wrong & ~missing).any()):
            return []
        rows, alike = self.table.rows, (self.equal & missing).sum(1)
        equal = (self.equal | missing).all(1) & self.plain
        exact = sorted(np.flatnonzero(equal).tolist(), key=lambda row: rows[row].rank)
        by_chance = sorted({row for row, _ in self.table.samples})
        fits = [*islice((row for row in exact if self._all(row, self._is_beside_errors)), 1)]
        fits = fits or [row for row in by_chance if self._all(row, self._is_beside_errors)]
        known = np.flatnonzero(self.known.all(1) & (alike > 0)).tolist()
        lacks = [row for row in known if self._all(row, self._only_lacks_errors)]
        other = rows[max(lacks, key=lambda r: (alike[r], -rows[r].rank))] if lacks else UNRAISED
        return [Row.of_both(rows[row], other) for row in fits] if len(fits) == 1 else []

    def _is_beside_errors(self, row: int, test: str) -> bool:
        """Returns whether a row explains a test, except for required errors that are missing."""
        return self.may_be_a_sample(row, test) or all(
            own.equals(came) or (own.raised and came.misses_error(right))
            for own, came, right in self._triples(row, test)
        )

    def _only_lacks_errors(self, row: int, test: str) -> bool:
        """Returns whether a row is right, apart from missing the same errors as the answer does."""
        return all(
            (came.raised, came.form) == (own.raised, own.form)
            if came.misses_error(right)
            else own.equals(right)
            for own, came, right in self._triples(row, test)
        )
