"""Defines tables of the results that known mistakes give for the probe; tables are made once.

A table has a row for each mistake and a column for each request. Most mistakes give one of only a
few different results for a request, so a cell contains just the number of a result. Catalog entries
are students' code: they run in a worker, and only when the table is made. Members of families are
changes to the solution: they run in the tests of the `screen` (those with the fewest requests), and
in the other tests only if all results in the screen are right. `search` computes the remaining
cells, within its budget.
"""

from __future__ import annotations

import io
import json
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .column import Column
from .record import AnswerRecord, Call, Request
from .rows import Row

#: the maximum number of requests in the screen, which contains at least one test
SCREEN = 60
#: how many times an entry with random results is called: a result with probability q is among n
#: samples with probability 1 - (1 - q)^n
SAMPLES = 6
#: the number of members of a family that are kept if the screen can't distinguish them; more would
#: only cost time
_ALIKE = 3
UNKNOWN = -1
Numbers = NDArray[np.float64]
Cells = NDArray[np.bool_]
#: the operation that returns a layer's parameters, which say something even if the layer can't be
#: called
_WEIGHTS = "weights"
#: figures are rounded to this fraction of their bounds, and shares to this fraction of their
#: values; more digits would only make the file larger
_OF_BOUND, _OF_SHARE = 1 / 16, 1e-5
#: the fraction of a sum that float32 may lose, and the number of values that represent forms
_OF_SUM, _FORMS = 1e-6, 1 << 20


@dataclass(frozen=True, slots=True)
class Samples:
    """Samples of an entry's results in a test, with different random numbers.

    `may_be_right` says, for each request, whether the result was right in any sample.
    """

    judged: tuple[AnswerRecord, ...]
    may_be_right: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of mistakes, each with a number that represents the pair's result for one request.

    For each pair, `ids` contains the column of the request, the row of the first mistake, and the
    number of the second mistake (see `ChangedEntries.second`).
    """

    ids: NDArray[np.int16] = field(default_factory=lambda: np.zeros((0, 3), np.int16))
    sums: NDArray[np.float32] = field(default_factory=lambda: np.zeros(0, np.float32))

    def like(self, at: int, call: Call) -> list[tuple[int, int]]:
        """Returns the known pairs whose result for a request may be the same as that of a call."""
        total, near = total_of(call), sum(call.bounds)
        with np.errstate(invalid="ignore"):
            alike = np.abs(self.sums - total) <= near + _OF_SUM * abs(total)
        return [
            (row, number) for _, row, number in self.ids[alike & (self.ids[:, 0] == at)].tolist()
        ]


def total_of(call: Call) -> float:
    """Returns the sum of a call's figures or, if it has none, a number that represents its form."""
    return sum(call.figures) if call.figures else zlib.crc32(call.form.encode()) % _FORMS


@dataclass(frozen=True, slots=True)
class Table:
    """A question's rows, and the results in each row.

    `answers` contains the distinct results for each request. `cells` contains, for each row and
    request, the number of the row's result; `right` contains the numbers of the solution's results.
    The keys of `samples` and `words` are pairs of a row and a test. `words` contains tests'
    messages, but only for entries whose results are all correct. `samples` contains messages, too;
    `checks` is a digest of the code on which messages depend.
    """

    rows: tuple[Row, ...]
    answers: tuple[tuple[Call, ...], ...]
    cells: NDArray[np.int16]
    right: tuple[int, ...]
    samples: Mapping[tuple[int, str], Samples]
    words: Mapping[tuple[int, str], str]
    pairs: Pairs = field(default_factory=Pairs)
    checks: str = ""
    _columns: dict[int, Column] = field(default_factory=dict, compare=False, repr=False)
    _right: dict[object, Cells] = field(default_factory=dict, compare=False, repr=False)

    def column(self, at: int) -> Column:
        """Returns the distinct results for a request, in arrays."""
        if at not in self._columns:
            self._columns[at] = Column(self.answers[at])
        return self._columns[at]

    def is_unlike_right(self, at: int) -> Cells:
        """Returns, for each result of a request, whether it is a number that is wrong."""
        if at not in self._right:
            self._right[at] = self.column(at).numbers_unlike(self.answers[at][self.right[at]])
        return self._right[at]

    def right_figures(self, at: int, count: int) -> Cells:
        """Returns, for each result of a request, which of its first `count` figures are right."""
        if (at, count) not in self._right:
            right = self.answers[at][self.right[at]]
            self._right[at, count] = self.column(at).figures_equal_to(right, count)
        return self._right[at, count]

    @property
    def right_rows(self) -> frozenset[int]:
        """The entries whose results are all right, such as answers that only break a rule."""
        return frozenset(row for row, _ in self.words)

    def entries_like(self, number: int) -> list[Row]:
        """Returns the entries with a row's results and, if all are right, with its messages."""
        equal = np.array([row.is_entry for row in self.rows], bool)
        for at, own in enumerate(self.cells[number]):
            equal &= self.column(at).equal_to(self.answers[at][own])[self.cells[:, at]]
        said: defaultdict[int, dict[str, str]] = defaultdict(dict)
        for (row, test), words in self.words.items():
            said[row][test] = words
        return [self.rows[n] for n in np.flatnonzero(equal).tolist() if said[n] == said[number]]

    def with_words(self, entries: Mapping[str, Row]) -> Table:
        """Returns the table, but with each entry's row taken from `entries`."""
        rows = (entries[row.name] if row.is_entry else row for row in self.rows)
        return replace(self, rows=tuple(rows))

    def to_bytes(self) -> bytes:
        """Returns the table as the content of a file, without the entries' descriptions."""
        calls = [call for answers in self.answers for call in answers]
        drawn = [call for found in self.samples.values() for a in found.judged for call in a.calls]
        figures = np.array([figure for call in calls for figure in call.figures], np.float64)
        bounds = np.array([bound for call in calls for bound in call.bounds], np.float64)
        bounds = np.exp2(np.ceil(np.log2(bounds)))
        shares = np.array([share for call in drawn for share in call.shares], np.float64)
        plain = {
            "rows": [row.to_json() for row in self.rows],
            "answers": [[_form(call) for call in answers] for answers in self.answers],
            "shape": self.cells.shape,
            "right": self.right,
            "samples": [
                [row, test, found.may_be_right, [[a.words, _forms(a)] for a in found.judged]]
                for (row, test), found in self.samples.items()
            ],
            "checks": self.checks,
            "said": [[row, test, words] for (row, test), words in self.words.items()],
        }
        file = io.BytesIO()
        np.savez_compressed(
            file,
            plain=np.frombuffer(json.dumps(plain).encode(), np.uint8),
            cells=self.cells.T,
            pairs=self.pairs.ids.T,
            sums=self.pairs.sums,
            figures=_by_place(_rounded(figures, bounds * _OF_BOUND)),
            bounds=_by_place(bounds),
            shares=_by_place(_rounded(shares, np.abs(shares) * _OF_SHARE)),
        )
        return file.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> Table:
        """Converts the output of `to_bytes` back to a table.

        Raises ValueError, KeyError, TypeError, EOFError, BadZipFile or zlib.error for any other
        bytes.
        """
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            plain = json.loads(arrays["plain"].tobytes())
            figures, bounds, shares = (_values(arrays[n]) for n in ("figures", "bounds", "shares"))
            cells = arrays["cells"].astype(np.int16).T
            its_pairs = Pairs(arrays["pairs"].T, arrays["sums"])
        if list(cells.shape) != plain["shape"] or len(figures) != len(bounds):
            raise ValueError("not a table")
        numbers, its_shares = (iter(figures), iter(bounds)), iter(shares)
        return cls(
            tuple(map(Row.from_json, plain["rows"])),
            tuple(tuple(_call(form, *numbers) for form in answers) for answers in plain["answers"]),
            cells,
            tuple(plain["right"]),
            {
                (row, test): Samples(
                    tuple(_sample(words, forms, its_shares) for words, forms in judged),
                    tuple(may_be_right),
                )
                for row, test, may_be_right, judged in plain["samples"]
            },
            {(row, test): words for row, test, words in plain["said"]},
            its_pairs,
            plain["checks"],
        )

    def fits(self, right: Sequence[Call], checks: str) -> bool:
        """Returns whether the table's right results equal `right`, and messages are up to date."""
        own = [known[number] for known, number in zip(self.answers, self.right, strict=True)]
        is_right = len(own) == len(right) and all(map(Call.equals, own, right))
        return is_right and (self.checks == checks or not (self.samples or self.words))


#: returns a row's results in some tests, or None if it can't be executed
Ask = Callable[[Sequence[str]], Mapping[str, AnswerRecord] | None]


@dataclass(slots=True)
class TableMaker:
    """Collects rows and their results into a table; `requests` contains each test's requests."""

    requests: Mapping[str, Sequence[Request]]
    right: Mapping[str, AnswerRecord]
    _rows: list[Row] = field(default_factory=list)
    _cells: list[list[int]] = field(default_factory=list)
    _samples: dict[tuple[int, str], Samples] = field(default_factory=dict)
    _words: dict[tuple[int, str], str] = field(default_factory=dict)
    _numbers: list[dict[Call, int]] = field(default_factory=list)
    _alike: Counter[tuple[str, str, tuple[int, ...]]] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._numbers = [{} for requests in self.requests.values() for _ in requests]

    @property
    def screen(self) -> list[str]:
        """The tests with the fewest requests; every member is executed in these tests."""
        found: list[str] = []
        count = 0
        for test in sorted(self.requests, key=lambda test: len(self.requests[test])):
            count += len(self.requests[test])
            if count > SCREEN and found:
                break
            found.append(test)
        return found

    def add_entry(
        self,
        row: Row,
        answers: Mapping[str, AnswerRecord],
        samples: Mapping[str, Samples],
        words: Mapping[str, str],
    ) -> None:
        self._samples |= {(len(self._rows), test): found for test, found in samples.items()}
        self._words |= {(len(self._rows), test): text for test, text in words.items()}
        self._rows.append(row)
        self._cells.append(self._numbered(answers))

    def add_member(self, row: Row, ask: Ask) -> None:
        """Adds a member unless it returns no value, changes no result, or equals several others."""
        answers = ask(self.screen)
        if answers is None or not self._gives_a_value(answers):
            return
        if all(answers[test].equals(self.right[test]) for test in answers):
            rest = ask([test for test in self.requests if test not in answers]) or {}
            answers = {**answers, **rest}
            if all(answers[test].equals(self.right[test]) for test in answers):
                return
        cells = self._numbered(answers)
        key = row.name, row.detail, tuple(cells)
        self._alike[key] += 1
        if self._alike[key] <= (_ALIKE if UNKNOWN in cells else 1):
            self._rows.append(row)
            self._cells.append(cells)

    def table(self) -> Table:
        right = tuple(self._numbered(self.right))
        return Table(
            tuple(self._rows),
            tuple(tuple(known) for known in self._numbers),
            np.array(self._cells, np.int16).reshape(len(self._rows), len(self._numbers)),
            right,
            self._samples,
            self._words,
        )

    def _gives_a_value(self, answers: Mapping[str, AnswerRecord]) -> bool:
        return any(
            (own.figures or own.operation == _WEIGHTS) and not own.raised and not asked.raised
            for test, answered in answers.items()
            for own, asked in zip(answered.calls, self.right[test].calls, strict=True)
        )

    def _numbered(self, answers: Mapping[str, AnswerRecord]) -> list[int]:
        """Returns the number of each request's result, or UNKNOWN if the request was not made."""
        numbers: list[int] = []
        for test, requests in self.requests.items():
            calls = answers[test].calls if test in answers else [None] * len(requests)
            for call in calls:
                known = self._numbers[len(numbers)]
                numbers.append(known.setdefault(call, len(known)) if call else UNKNOWN)
        return numbers


def _form(call: Call) -> tuple[str, str, str, int]:
    return call.operation, call.raised, call.form, len(call.figures)


def _forms(answered: AnswerRecord) -> list[tuple[str, str, str, int]]:
    return [(call.operation, call.raised, call.form, len(call.shares)) for call in answered.calls]


def _call(form: Sequence[Any], figures: Iterator[float], bounds: Iterator[float]) -> Call:
    """Rebuilds a stored call from its form and from the next figures and bounds."""
    operation, raised, text, count = form
    own = tuple(islice(figures, count)), tuple(islice(bounds, count))
    return Call(str(operation), str(raised), str(text), *own)


def _sample(words: str, forms: Iterable[Sequence[Any]], shares: Iterator[float]) -> AnswerRecord:
    """Rebuilds a stored sample; samples are compared only by their forms and shares."""
    calls = [
        Call(str(o), str(raised), str(text), (), (), tuple(islice(shares, count)))
        for o, raised, text, count in forms
    ]
    return AnswerRecord(tuple(calls), str(words))


def _rounded(values: Numbers, units: Numbers) -> Numbers:
    """Rounds each value to a multiple of the largest power of two that is at most its unit."""
    with np.errstate(all="ignore"):  # infinite values, and values without a unit, are not changed
        powers = np.exp2(np.floor(np.log2(units)))
        rounded = np.round(values / powers) * powers
    return np.where(np.isfinite(rounded), rounded, values)


def _by_place(values: Numbers) -> NDArray[np.uint8]:
    """Groups the bytes of numbers by position (first bytes first), which makes files smaller."""
    return np.ascontiguousarray(values.astype("<f8").view(np.uint8).reshape(-1, 8).T)


def _values(places: NDArray[np.uint8]) -> list[float]:
    values: list[float] = np.ascontiguousarray(places.T).view("<f8").ravel().tolist()
    return values
