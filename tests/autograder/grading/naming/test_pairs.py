"""Two catalog entries explain an answer if each explains results that the other does not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch

from autograder.grading.naming.changed_entries import ChangedEntries
from autograder.grading.naming.column import Column
from autograder.grading.naming.pairs import PairSearch
from autograder.grading.naming.record import AnswerRecord, Call, Event, answered
from autograder.grading.naming.rows import Row
from autograder.grading.naming.search import Search
from autograder.grading.naming.table import Samples, Table, TableMaker

TESTS = {"one": slice(0, 3), "other": slice(3, 5)}
#: the results of five calls: the solution's, and those of three entries
RIGHT = (1, 2, 3, 4, 5)
ENTRIES = {"late": (1, 2, 30, 40, 5), "early": (10, 2, 3, 41, 5), "last": (1, 2, 3, 4, 50)}


def _answers(results: Sequence[float]) -> dict[str, AnswerRecord]:
    events = [Event("call", torch.full((2,), float(result))) for result in results]
    return {test: answered(events[columns]) for test, columns in TESTS.items()}


def _found(came: Sequence[float], table: Table) -> list[str]:
    own = _answers(came)
    random = {"is_changed": lambda test: True, "size": lambda test: 1}
    answered = SimpleNamespace(answered=own.get, measured=own.get, judged=own.get, **random)
    answers = cast(Any, answered)
    search = Search(table, TESTS, answers, lambda number, test: None)
    entries = ChangedEntries("", {}, (), cast(Any, None), lambda text, batch: [])
    return [row.words for row in PairSearch(search, entries).first(lambda *pair: None)]


def _table(entries: Mapping[str, Sequence[float]]) -> Table:
    right = _answers(RIGHT)
    maker = TableMaker({test: [()] * len(right[test].calls) for test in TESTS}, right)
    for name, results in entries.items():
        maker.add_entry(Row(name, "", words=name), _answers(results), {}, {})
    return maker.table()


@pytest.mark.parametrize(
    ("came", "words"),
    [
        ((10, 2, 30, 42, 5), ["late; and early"]),  # both change the fourth call
        ((10, 2, 30, 4, 5), []),  # which is right here, although both mistakes change it
        ((10, 7, 30, 42, 5), []),  # a third mistake
        ((10, 2, 30, 42, 50), []),
        ((1, 2, 30, 40, 5), []),  # one mistake is enough
    ],
)
def test_two_entries_explain_what_the_other_leaves_right(
    came: Sequence[float], words: Sequence[str]
) -> None:
    assert _found(came, _table(ENTRIES)) == words


def test_pairs_that_explain_equally_much_get_no_name() -> None:
    alike = {"also early": (10, 2, 3, 43, 5)}
    assert _found((10, 2, 30, 42, 5), _table({**ENTRIES, **alike})) == []


def test_a_random_entry_need_not_explain_all_calls() -> None:
    table = _table(ENTRIES)
    samples = Samples((_answers(RIGHT)["other"],) * 2, (False, True))
    chance = Table(table.rows, table.answers, table.cells, table.right, {(0, "other"): samples}, {})
    assert _found((10, 2, 30, 99, 5), chance) == ["late; and early"]
    assert _found((10, 2, 30, 4, 5), chance) == ["late; and early"]


def test_a_tensor_is_compared_beside_one_of_another_shape() -> None:
    def call(first: float, *sizes: int) -> Call:
        value = (torch.full((2, 3), first), torch.ones(*sizes))
        return answered([Event("call", value)]).calls[0]

    column = Column([call(1, 4, 5), call(1, 4, 6), call(2, 4, 5)])
    count = len(call(1, 4, 5).figures)
    equal = column.figures_equal_to(call(1, 4, 5), count)
    assert equal.tolist() == [[True] * 12, [True] * 6 + [False] * 6, [False] * 6 + [True] * 6]


def test_a_table_with_messages_of_reworded_checks_does_not_fit() -> None:
    table = _table(ENTRIES)
    right = [call for answer in _answers(RIGHT).values() for call in answer.calls]
    assert table.fits(right, "reworded")
    for words, samples in (({(0, "one"): "said"}, {}), ({}, {(0, "one"): Samples((), ())})):
        said = Table(
            table.rows, table.answers, table.cells, table.right, samples, words, checks="now"
        )
        assert said.fits(right, "now")
        assert not said.fits(right, "reworded")
