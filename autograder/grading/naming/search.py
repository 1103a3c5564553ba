"""Finds rows of a table that explain an answer: one row, two rows, or one that fits most calls.

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
from .record import OF_GRADIENTS, THROUGH_NAN, AnswerRecord, Call, RecordedAnswers
from .rows import NOTE, Row
from .table import UNKNOWN, Table

#: the maximum number of calls to members for one answer
MOST_CALLS = 1500
#: exact values are computed only for this many rows, those with the best estimates
_LIKELY = 4
#: the second of two mistakes if no row lacks the same errors; the pair gets the name of the first
UNRAISED = Row("", "", rank=1000, words="a required error is not raised")

#: how many wrong values a mistake must explain for each value that it contradicts; and, to be the
#: only mistake, how many for each value that it contradicts or leaves open
_MORE, _NEARLY_ALL = 2, 5
#: the weight of a call in which the answer is right and the mistake is not; it is large, because an
#: answer with the mistake would be wrong there
_RIGHT = 1000

Cells = NDArray[np.bool_]
#: returns a member's record in a test, or None if the member can't be executed
AskMember = Callable[[int, str], AnswerRecord | None]


@dataclass(frozen=True, slots=True)
class ExplainedCalls:
    """Counts of the calls that a mistake explains, leaves open, and contradicts.

    `slopes` counts those open calls that the mistake may nevertheless have caused: calls whose
    gradients fail or differ only in their numbers, and calls that return numbers where the mistake
    gives nan.
    """

    wrong: int = 0
    left: int = 0
    against: int = 0
    slopes: int = 0

    def __add__(self, other: ExplainedCalls) -> ExplainedCalls:
        wrong, left = self.wrong + other.wrong, self.left + other.left
        against, slopes = self.against + other.against, self.slopes + other.slopes
        return ExplainedCalls(wrong, left, against, slopes)

    @property
    def numbers(self) -> tuple[int, int, int]:
        """All counts except `slopes`."""
        return self.wrong, self.left, self.against

    @property
    def is_most(self) -> bool:
        """Returns whether the mistake explains most calls.

        The mistake must explain more calls than it leaves open, and at least twice as many as it
        contradicts.
        """
        return self.wrong > self.left and self.wrong >= _MORE * self.against

    @property
    def is_all(self) -> bool:
        """Returns whether this seems to be the only mistake: a second one would show in many calls.

        Gradients don't count, because rounding can change them, for example those of a ReLU near
        zero.
        """
        return _NEARLY_ALL * (self.against + self.left - self.slopes) <= self.wrong

    @property
    def margin(self) -> int:
        """The number of explained calls minus the number of contradicted calls."""
        return self.wrong - self.against


_NONE, _EXPLAINS = ExplainedCalls(), ExplainedCalls(wrong=1)
_OPEN, _SLOPE = ExplainedCalls(left=1), ExplainedCalls(left=1, slopes=1)
_AGAINST, _AGAINST_RIGHT = ExplainedCalls(against=1), ExplainedCalls(against=_RIGHT)


class Outcome:
    """A call to an answer, compared with the same call to the solution."""

    def __init__(self, came: Call, right: Call) -> None:
        self.came = came
        self.right = right
        self.is_right = came.equals(right)
        self.is_wrong = came.is_wrong(right)
        self.of_gradients = came.operation in OF_GRADIENTS
        #: whether rows need not explain the call, because it may fail for a different reason
        self.is_open = came.is_failing(right) or bool(right.raised) or self.of_gradients


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
        answers: RecordedAnswers,
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
        #: how many calls are not right in each test
        self._missed = {test: is_right[columns].count(False) for test, columns in tests.items()}
        wrong = [(c, r) for c, r in zip(self.came, self.right, strict=True) if c.is_wrong(r)]
        #: whether every wrong value is nan, which many different mistakes cause
        self.is_nan = bool(wrong) and all(came.is_only_nan(right) for came, right in wrong)
        self.right_tests = {test for test in tests if not self._missed[test]}
        self.wrong_first = sorted(tests, key=lambda test: test in self.right_tests)
        self._entries = np.array([row.is_entry for row in table.rows], bool)
        self._plain = np.array([not r.is_entry and is_plain(r.rank) for r in table.rows], bool)
        self._known = table.cells != UNKNOWN
        self._equal = self._cells(lambda at: table.column(at).equal_to(self.came[at]))
        self._learnt: dict[tuple[int, str], Sequence[Call]] = {}

    # methods that compare cells, rows and tests

    def _cells(self, holds: Callable[[int], Cells]) -> Cells:
        """Returns the cells for which a condition holds, or may hold because they are unknown."""
        found = np.zeros(self.table.cells.shape, bool)
        for at in range(len(self.table.answers)):
            found[:, at] = np.append(holds(at), True)[self.table.cells[:, at]]
        return found

    def _learn(self, row: int, test: str) -> bool:
        """Computes a row's results in a test if they are unknown; returns False if this fails."""
        columns = self.tests[test]
        if self._known[row, columns].all():
            return True
        self._calls_left -= columns.stop - columns.start
        if self._calls_left < 0:
            return False
        own = self._ask_member(self.table.rows[row].member, test)
        if own is None:
            return False
        self._learnt[row, test] = own.calls
        self._equal[row, columns] = [*map(Call.equals, own.calls, self.came[columns])]
        self._known[row, columns] = True
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
        found = [row for row in rows if self._equal[row].all()] or [
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
                self._tells(own)
                and self._equal[row].all()
                and self._all(row, self._is)
                and self._is_carried(row)
            ):
                found.append(own)
        first = {row.name: row for row in sorted(reversed(found), key=lambda row: bool(row.detail))}
        return [*first.values()]

    def _tells(self, row: Row) -> bool:
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

    def may_be_a_sample(self, row: int, test: str) -> bool:
        """Returns whether an entry that depends on chance may have given the answer's results."""
        samples = self.table.samples.get((row, test))
        if samples is None:
            return False
        columns = self.tests[test]
        calls = zip(self.came[columns], self.right[columns], samples.may_be_right, strict=True)
        if any(came.equals(right) and not may_be for came, right, may_be in calls):
            return False  # the answer is right in a call in which the entry never is
        return self.answers.judged(test).is_among(samples.judged)

    def _fails_alike(self, row: int) -> bool:
        """Returns whether an entry and an answer with only right replies get equal messages."""
        return all(
            self.table.words.get((row, test)) == self.answers.judged(test).words
            for test in self.tests
        )

    # methods that find rows that explain most of an answer

    def most(self) -> SearchResult:
        """Returns the rows that explain most of the wrong calls."""
        hopes = self._hopes()
        likely = sorted((r for r in hopes if hopes[r].is_most), key=lambda r: -hopes[r].margin)
        exact = {row: self._explained(row) for row in likely[:_LIKELY]}
        best = max((e.margin for e in exact.values() if e.is_most), default=0)
        most = [row for row, e in exact.items() if e.is_most and e.margin == best]
        rows = [self.table.rows[row] for row in most if self._tells(self.table.rows[row])]
        note = "" if all(exact[row].is_all for row in most) else NOTE
        entries = [row for row in rows if row.is_entry]
        return SearchResult(entries, [row for row in rows if not row.is_entry], note)

    def _hopes(self) -> dict[int, ExplainedCalls]:
        """Returns, for each row, optimistic counts of the calls that the row may explain."""
        found = np.zeros((*self.table.cells.shape, 3), np.int64)
        wrong = np.zeros(len(self.came), np.int64)
        for at, known in enumerate(self.table.answers):
            outcome = Outcome(self.came[at], self.right[at])
            wrong[at] = outcome.is_wrong
            values = [explained(own, outcome).numbers for own in known]
            found[:, at] = np.array([*values, (wrong[at], 0, 0)])[self.table.cells[:, at]]
        by_test = {test: found[:, columns].sum(1) for test, columns in self.tests.items()}
        for row, test in self.table.samples:  # samples are compared later
            if by_test[test][row, 2]:
                by_test[test][row] = (wrong[self.tests[test]].sum(), 0, 0)
        sums = np.sum([*by_test.values()], 0)
        # leave out a member if none of its known results explains a wrong value
        may_explain = (self._known * wrong).sum(1) == 0
        may_explain |= np.where(self._known, found[:, :, 0], 0).any(1)
        # a change that applies to any step must not contradict any call
        may_explain &= self._plain | (sums[:, 2] == 0)
        chosen = np.flatnonzero(self._entries | may_explain).tolist()
        return {row: ExplainedCalls(*sums[row].tolist()) for row in chosen}

    def _explained(self, row: int) -> ExplainedCalls:
        """Returns how many calls a row explains, or zeros if this can't be computed.

        A stochastic entry must also explain most of the calls that don't depend on chance; failing
        with the same message is not enough. The comparison stops when the remaining calls can't
        make up for those that the row contradicts.
        """
        whole, by_chance, left = ExplainedCalls(), ExplainedCalls(), sum(self._missed.values())

        def cost(test: str) -> tuple[bool, bool]:
            is_known = bool(self._known[row, self.tests[test]].all())
            return not is_known, (row, test) in self.table.samples

        for test in sorted(self.wrong_first, key=cost):
            if _MORE * whole.against > whole.wrong + left or not self._learn(row, test):
                return ExplainedCalls()
            if (row, test) in self.table.samples and whole.against and not whole.is_most:
                return ExplainedCalls()
            found = ExplainedCalls()
            left -= self._missed[test]
            for own, came, right in self._triples(row, test):
                found += explained(own, Outcome(came, right))
            if found.against and self.may_be_a_sample(row, test):
                columns = self.tests[test]
                wrong = map(Call.is_wrong, self.came[columns], self.right[columns])
                by_chance += ExplainedCalls(sum(wrong))
            else:
                whole += found
        return whole + by_chance if whole.is_most or not by_chance.wrong else ExplainedCalls()

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
        rows, alike = self.table.rows, (self._equal & missing).sum(1)
        equal = (self._equal | missing).all(1) & (self._entries | self._plain)
        exact = sorted(np.flatnonzero(equal).tolist(), key=lambda row: rows[row].rank)
        by_chance = sorted({row for row, _ in self.table.samples})
        fits = [*islice((row for row in exact if self._all(row, self._is_beside_errors)), 1)]
        fits = fits or [row for row in by_chance if self._all(row, self._is_beside_errors)]
        known = np.flatnonzero(self._known.all(1) & (alike > 0)).tolist()
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


def explained(own: Call, outcome: Outcome) -> ExplainedCalls:
    """Returns whether a row's call explains the answer's call, contradicts it, or leaves it open.

    A row need not explain a call that fails for a different reason, such as an unknown device or
    dtype. A row need not explain gradients either: if two numbers are equal, gradients depend on
    how the code finds the larger number. Where a row returns nan, other code with the same mistake
    may return numbers (for example, torch's attention if all keys are hidden) or the right result
    (a variance that divides by `max(D - 1, 1)`).
    """
    came, right = outcome.came, outcome.right
    if came.equals(own):  # zeros say little, because many mistakes hide everything
        is_telling = not came.figures or any(came.figures)
        return _EXPLAINS if outcome.is_wrong and is_telling else _NONE
    if came.has_equal_numbers(own) and not own.has_equal_numbers(right):
        return _EXPLAINS
    if own.raised and outcome.is_right:
        return _NONE
    is_nan = came.form == own.form and len(own.figures) > len(came.figures)
    if outcome.is_open or own.is_failing(right) or is_nan:
        is_slope = outcome.of_gradients and (came.form == own.form or came.raised or own.raised)
        return _SLOPE if is_slope or is_nan or THROUGH_NAN in own.form else _OPEN
    return _AGAINST_RIGHT if outcome.is_right else _AGAINST
