"""Finds two mistakes (members of families, or catalog entries) that together explain an answer.

Two entries fit if each explains the wrong results that the other entry gets right. Such entries
need not be executed together. Every other pair consists of a known mistake and a likely change,
and the table contains the pair's result in one call. If the answer has the same result in this
call, the pair is executed.

If one of two mistakes has no effect on a call, the pair's result is usually that of the other
mistake. Therefore, two mistakes are a likely pair if the answer equals one mistake wherever the
other mistake is right, in whole calls or in single numbers of a result. These pairs consist of two
changes to the solution, or of a change and the likeliest entry. The likeliest of these pairs are
executed, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, compress, islice
from operator import itemgetter

import numpy as np
import torch
from numpy.typing import NDArray

from .changed_entries import ChangedEntries, Definitions
from .column import Column
from .families import is_small, may_be_in_a_pair
from .families.words import RARE, frequency_place, likeliest_first
from .record import OF_GRADIENTS, AnswerRecord, Call
from .rows import Row
from .search import Search
from .table import SCREEN, UNKNOWN, Pairs, Table, total_of

#: the maximum number of likely pairs to try
_PAIRS = 60
#: the maximum number of calls to likely pairs, in addition to those to the pair that fits
MOST_CALLS = 400
#: the maximum number of calls to pairs with changed definitions, and the maximum number of such
#: pairs that are executed in all tests
_TRIED_CALLS, _EXECUTED = 30, 2
#: the maximum number of family members for which a table has pairs, how many of a test's first
#: requests may be used to distinguish pairs, and for how many requests a table has pairs
_MOST_BASES, _MOST_REQUESTS, _MOST_PLACES = 24, 5, 3

_CALLS = ("call", "forward")
#: the beginning of the form of a result that is a list
_LIST = "tuple(list("

Cells = NDArray[np.bool_]
#: returns the results of two combined members for a test's first requests, or for all of them
AskPair = Callable[[int, int, str, int | None], AnswerRecord | None]
#: two mistakes, and the definitions of an answer that has both
_Pair = tuple[Row, Row, Definitions]


def pair(search: Search, ask: AskPair, entries: ChangedEntries) -> list[Row]:
    """Returns a row for two mistakes that together explain all results, or an empty list."""
    return [] if search.is_nan else PairSearch(search, entries).first(ask)


class PairSearch:
    """Searches a table's rows for pairs that explain an answer."""

    def __init__(self, search: Search, entries: ChangedEntries) -> None:
        self._table, self._tests = search.table, search.tests
        self._came, self._right = search.came, search.right
        #: of rows with equal results for all requests, the more frequent mistake is reported
        self._rarities = [frequency_place(row.name) for row in self._table.rows]
        self._is_sample = search.may_be_a_sample
        self._like: dict[int, Cells] = {}
        self._changed_entries = entries
        shortest = sorted(self._tests, key=lambda t: self._tests[t].stop - self._tests[t].start)
        self._shortest = sorted(shortest, key=lambda test: test in search.right_tests)

    def first(self, ask: AskPair) -> list[Row]:
        """Returns a row for the first pair that explains the answer, or an empty list."""
        calls = zip(self._came, self._right, strict=True)
        if any(_LIST in own.form and _LIST not in right.form for own, right in calls):
            return []  # the step that joins parts may be missing; it has no second mistake
        likely, with_entries = self._likely(self._columns())
        return (
            self._apart()
            or self._executed(self._of_table())
            or self._equal(likely, ask)
            or self._executed(self._of_entry(with_entries))
        )

    def _apart(self) -> list[Row]:
        """Returns a row for two entries that explain different numbers in the results.

        Such entries need not be executed together. Wherever one entry is right, the answer must
        equal the other entry. Each entry must explain at least one wrong number; otherwise, an
        entry that is right everywhere would fit any answer. Where both entries are wrong, the
        answer must be wrong, too. The pair must explain more numbers than any other pair.
        """
        table, every = self._table, range(len(self._came))
        places = [at for at in every if self._came[at].operation not in OF_GRADIENTS]
        counts = [self._count(at) for at in places]
        right, alike = self._right_figures(places), self._like_figures(places)
        chance, partly = np.zeros_like(right), ~right
        by_chance: list[list[tuple[str, int]]] = [[] for _ in table.rows]
        for test, columns in self._tests.items():
            here = np.repeat([columns.start <= at < columns.stop for at in places], counts)
            partly[:, here] = partly[:, here].any(1, keepdims=True)
            for row in (row for row, of_test in table.samples if of_test == test):
                right[row, here], chance[row, here], alike[row, here] = False, True, True
                by_chance[row].append((test, _bits(here[None])[0]))
        rights, alikes, chances, partlys = map(_bits, (right, alike, chance, partly))
        of_answer = (Column([self._came[at]]) for at in places)
        equal = map(Column.figures_equal_to, of_answer, (self._right[at] for at in places), counts)
        (is_right,) = _bits(np.hstack([*equal]))
        rows = [at for at, row in enumerate(table.rows) if row.is_entry]

        def explained(one: int, other: int) -> int:
            first, second = (~(rights[row] | chances[row]) for row in (one, other))
            own, its = rights[other] & alikes[one] & first, rights[one] & alikes[other] & second
            missed = rights[one] & ~alikes[other] | rights[other] & ~alikes[one]
            missed &= ~(chances[one] & partlys[other] | chances[other] & partlys[one])
            missed |= chances[one] & chances[other] & ~(alikes[one] | alikes[other])
            fits = own and its and not missed | first & second & is_right
            return (own | its).bit_count() if fits else 0

        numbers = self._different({*rows} - table.right_rows, every)
        own = _common((alike & ~(right | chance))[numbers], right[numbers]) > 0
        may_fit = np.argwhere(np.triu(own & own.T, 1)).tolist()
        pairs = ((numbers[at], numbers[to]) for at, to in may_fit)
        likely = [(one, other) for one, other in pairs if explained(one, other)]
        for row in {row for pair in likely for row in pair}:  # the other rows need no comparison
            for test, bits in by_chance[row]:
                alikes[row] &= ~0 if self._is_sample(row, test) else ~bits
        found = sorted((explained(one, other), one, other) for one, other in likely)
        (less, *_), (most, one, other) = [(0, 0, 0), (0, 0, 0), *found][-2:]
        return [Row.of_both(table.rows[one], table.rows[other])] if most > less else []

    def _of_entry(self, pairs: Sequence[tuple[int, int]]) -> Iterator[_Pair]:
        """Yields pairs of the likeliest entry and a change that may be the second mistake."""
        for change, entry in pairs:
            if entry == pairs[0][1]:
                one, other = self._table.rows[entry], self._table.rows[change]
                found = self._changed_entries.changed(one, other)
                yield from ((one, other, definitions) for definitions in found)

    def _of_table(self) -> Iterator[_Pair]:
        """Yields the pairs in the table that may explain the answer's result in one call."""
        known, found = self._table.pairs, []
        for at in dict.fromkeys(known.ids[:, 0].tolist()):
            is_wrong = self._came[at].is_wrong(self._right[at])
            for row, number in known.like(at, self._came[at]) if is_wrong else ():
                base = self._table.rows[row]
                found.append((base, *self._changed_entries.second(base)[number]))
        # a rare mistake may be another way to describe a frequent one
        for base, other, definitions in sorted(
            found, key=lambda pair: frequency_place(pair[1].name) == RARE
        ):
            yield from ((base, other, own) for own in definitions())

    def _executed(self, pairs: Iterator[_Pair]) -> list[Row]:
        """Returns a row for the first pair that explains the answer, or an empty list.

        First executes the pairs in one test, up to the answer's first wrong call. Of the pairs that
        have the answer's results in these calls, the first `_EXECUTED` are then executed in all
        tests.
        """
        test, count = self._first_wrong()
        tried = [*islice(pairs, max(1, _TRIED_CALLS // count))]
        asked = self._changed_entries.answered([own for *_, own in tried], [test], count)
        fits = [of_test.equals(self._record(test, count)) for (of_test,) in asked]
        for one, other, definitions in [*compress(tried, fits)][:_EXECUTED]:
            for records in self._changed_entries.answered([definitions], self._shortest):
                if all(map(AnswerRecord.equals, records, map(self._record, self._shortest))):
                    return [Row.of_both(one, other)]
        return []

    def _record(self, test: str, count: int | None = None) -> AnswerRecord:
        """Returns the answer's record in a test, or in the test's first `count` requests."""
        return AnswerRecord(tuple(self._came[self._tests[test]][:count]))

    def _equal(self, pairs: Sequence[tuple[int, int]], ask: AskPair) -> list[Row]:
        parts = [self._first_wrong(), *((test, None) for test in self._shortest)]
        left = MOST_CALLS + len(self._came)
        for pair in pairs:
            one, other = (self._table.rows[row].member for row in pair)
            for test, count in parts:
                came = self._record(test, count)
                left -= len(came.calls)
                if left < 0:
                    return []
                both = ask(one, other, test, count)
                if not both or not both.equals(came):
                    break
            else:
                return [Row.of_both(*(self._table.rows[row] for row in pair))]
        return []

    def _first_wrong(self) -> tuple[str, int]:
        """Returns the test whose first wrong call comes earliest, and the call's position in it."""
        ends = []
        for test, columns in self._tests.items():
            calls = zip(self._came[columns], self._right[columns], strict=True)
            wrong = (end for end, (came, right) in enumerate(calls, 1) if came.is_wrong(right))
            ends.append((next(wrong, columns.stop), test))
        count, test = min(ends)
        return test, count

    def _columns(self) -> list[int]:
        """Returns the columns of failed tests for which all members' results are known.

        The columns of the shortest test come first.
        """
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
        """Returns pairs of two changes, and pairs of a change and an entry, the likeliest first.

        If several rows are equal, only the first of these rows is used in pairs.
        """
        places = [at for at in columns if self._is_informative(at)]
        rows, found = self._table.rows, []
        no_pair = {row for row, _ in self._table.samples} | self._table.right_rows
        likely = (may_be_in_a_pair(row.rank) for row in rows)
        chosen = {at for at, is_one in enumerate(likely) if is_one or self._rarities[at] < RARE}
        numbers = self._different(chosen - no_pair, columns)
        right = self._right_figures(places)[numbers]
        alike = self._like_figures(places)[numbers]
        own, missed = _common(alike & ~right, right), _common(~alike, right)
        both_missed = _common(right & ~alike, right & ~alike)
        explained = own + own.T - (missed + missed.T - both_missed)
        one_sided = (own == 0) | (own.T == 0)
        for at, to in np.argwhere(np.triu(explained > 0, 1)).tolist():
            one, other, explains = numbers[at], numbers[to], int(explained[at, to])
            rare = self._rarities[one] + self._rarities[other]
            small = is_small(rows[one].rank) + is_small(rows[other].rank)
            vague = (-explains.bit_length(), small)
            found.append(((bool(one_sided[at, to]), vague, -explains, rare), one, other))
        found.sort(key=itemgetter(0))
        pairs = [(one, other) for _, one, other in found if not rows[one].is_entry]
        entries = [pair for pair in pairs if rows[pair[1]].is_entry]
        return [p for p in pairs if not rows[p[1]].is_entry][:_PAIRS], entries[:_PAIRS]

    def _different(self, chosen: Iterable[int], columns: Sequence[int]) -> list[int]:
        """Returns one row from each group of equal rows: the first in the order of `_order`.

        Rows are equal if they have equal results for the requests in `columns`. If these results
        are all right, the rows must also have equal results for all other requests.
        """
        cells, right = self._table.cells, np.array(self._table.right)
        different: dict[object, int] = {}
        for row in sorted(chosen, key=self._order):
            own = cells[row, columns]
            known = cells[row] if (own == right[columns]).all() else own
            different.setdefault(known.tobytes(), row)
        return [*different.values()]

    def _order(self, row: int) -> tuple[bool, bool, int, int, bool]:
        own = self._table.rows[row]
        is_vague = is_small(own.rank) and (own.in_check or not own.detail)
        return own.is_entry, is_vague, self._rarities[row], own.rank, not own.detail

    def _right_figures(self, columns: Sequence[int]) -> Cells:
        """Returns, for each row, which numbers in its results are right."""
        return self._of_rows({at: self._table.right_figures(at, self._count(at)) for at in columns})

    def _like_figures(self, columns: Sequence[int]) -> Cells:
        """Returns, for each row, which numbers in its results equal those of the answer."""
        for at in (at for at in columns if at not in self._like):
            column = self._table.column(at)
            self._like[at] = column.figures_equal_to(self._came[at], self._count(at))
        return self._of_rows({at: self._like[at] for at in columns})

    def _of_rows(self, found: Mapping[int, Cells]) -> Cells:
        """Joins columns' results for each row. All cells in these columns must be known."""
        cells = self._table.cells
        empty = np.zeros((len(cells), 0), bool)
        return np.hstack([empty, *(equal[cells[:, at]] for at, equal in found.items())])

    def _count(self, at: int) -> int:
        """Returns how many of a result's figures to compare, or 1 to compare results as a whole."""
        count = len(self._right[at].figures)
        return max(1, count) if len(self._came[at].figures) == count else 1

    def _is_informative(self, at: int) -> bool:
        came, right = self._came[at], self._right[at]
        return not (came.raised or right.raised or came.operation in OF_GRADIENTS)


def known_pairs(table: Table, tests: Mapping[str, slice], changed_entries: ChangedEntries) -> Pairs:
    """Returns pairs of a mistake and a frequent change, each with the total of the pair's result.

    The result is from the call that distinguishes the most entries or, if the pair's first mistake
    gives the right result in this call, from a different call. A pair is left out if its result is
    an error, is right, or equals that of its first mistake.
    """
    places = [
        (_told_apart(table, at, test), len(table.answers[at]), -count, at, test)
        for test, columns in tests.items()
        for count, at in enumerate(range(columns.start, columns.stop)[:_MOST_REQUESTS], 1)
        if (table.cells[:, at] != UNKNOWN).all() and table.answers[at][0].operation in _CALLS
    ]
    ids, sums, bases = [], [], dict[int, tuple[int, str, int]]()
    for *_, cost, at, test in sorted(places, reverse=True)[:_MOST_PLACES]:
        shown = _bases(table, at, test)
        entries = [row for row in shown if table.rows[row].is_entry]
        bases = dict.fromkeys(entries if bases else shown, (at, test, cost)) | bases
    for row, (at, test, cost) in bases.items():
        known, others = table.answers[at], (table.right[at], table.cells[row, at])
        second = enumerate(changed_entries.second(table.rows[row]))
        tried = [(number, own) for number, (_, changed) in second for own in changed()]
        asked = changed_entries.answered([own for _, own in tried], [test], -cost)
        for (number, _), (record,) in zip(tried, asked, strict=False):
            call = record.calls[-1]
            if not call.raised and not any(call.equals(known[other]) for other in others):
                ids.append((at, row, number))
                sums.append(total_of(call))
    with np.errstate(over="ignore"):  # a larger sum becomes infinite, and is looked up as such
        return Pairs(np.array(ids, np.int16).reshape(-1, 3), np.array(sums, np.float32))


def _told_apart(table: Table, at: int, test: str) -> int:
    """Returns how many different results, not counting random ones, entries have for a request."""
    entries = (n for n, row in enumerate(table.rows) if row.is_entry)
    return len({table.cells[row, at] for row in entries if (row, test) not in table.samples})


def _bases(table: Table, at: int, test: str) -> list[int]:
    """Returns the entries, and the likeliest members, that are wrong for a request."""
    cells, answers = table.cells[:, at].tolist(), table.answers[at]
    shown = [
        row
        for row, cell in enumerate(cells)
        if cell != table.right[at] and not answers[cell].raised and (row, test) not in table.samples
    ]
    entries = [row for row in shown if table.rows[row].is_entry and row not in table.right_rows]
    members = {cells[row]: (table.rows[row].name, row) for row in reversed(shown)}
    return entries + likeliest_first(members.values())[:_MOST_BASES]


def _common(one: Cells, other: Cells) -> NDArray[np.int64]:
    """Returns for each row in `one` and each row in `other` how many cells are true in both."""
    # PyTorch is several times as fast here as NumPy, and uses one thread in the grader
    both = torch.from_numpy(one).float() @ torch.from_numpy(other).float().T
    return both.to(torch.int64).numpy()


def _bits(cells: Cells) -> list[int]:
    """Returns each row as an integer with one bit per cell."""
    return [int.from_bytes(row.tobytes()) for row in np.packbits(cells, axis=1)]
