"""A mistake that explains only some of an answer's results is named if the answer contains it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from autograder.grading.naming.partly import PartialSearch
from autograder.grading.naming.probe import ProbeReplies
from autograder.grading.naming.record import AnswerRecord, Call, Event, answered, measured
from autograder.grading.naming.rows import NOTE, Row
from autograder.grading.naming.search import Search, SearchResult
from autograder.grading.naming.table import Samples, Table

X = torch.linspace(0.5, 2.0, 60).reshape(6, 10)
RAISED = "RuntimeError"
#: a result: a factor for X, a tensor, or the name of an error
Result = float | torch.Tensor | str


class _Given(ProbeReplies):
    def __init__(self, record: AnswerRecord) -> None:
        self._record = record

    def answered(self, test: str) -> AnswerRecord:
        return self._record

    def judged(self, test: str) -> AnswerRecord:
        return self._record


def _record(results: Sequence[Result], operation: str = "call") -> AnswerRecord:
    return answered(
        Event(operation, raised=result) if isinstance(result, str) else Event(operation, result * X)
        for result in results
    )


def _search(
    results: Sequence[Result],
    rows: dict[str, Sequence[Result]],
    operations: dict[int, str] | None = None,
    ranks: dict[str, int] | None = None,
) -> PartialSearch:
    """Compares an answer's results with those of several mistakes; the right results are X."""
    size, member = len(results), -1 if ranks is None else 0

    def calls(own: Sequence[Result]) -> tuple[Call, ...]:
        kinds = operations or {}
        return tuple(_record([one], kinds.get(at, "call")).calls[0] for at, one in enumerate(own))

    every = [calls([1] * size), *map(calls, rows.values())]
    cells = np.array([[n + 1] * size for n in range(len(rows))], np.int16)
    table = Table(
        tuple(
            Row(name, f"Is it {name}?", (ranks or {}).get(name, 0), words=name, member=member)
            for name in rows
        ),
        tuple(tuple(of_row[at] for of_row in every) for at in range(size)),
        cells,
        (0,) * size,
        {},
        {},
    )
    given = _Given(AnswerRecord(calls(results)))
    return PartialSearch(Search(table, {"test": slice(0, size)}, given, lambda *_: None))


def _names(found: SearchResult) -> list[str]:
    return [row.name for row in (*found.entries, *found.members)]


def test_a_mistake_in_three_calls_is_named_with_a_note() -> None:
    found = _search([2, 2, 2, 7, 7, 7, 7, 1], {"twice": [2] * 7 + [1], "other": [3] * 8}).found()
    assert (_names(found), found.note) == (["twice"], NOTE)


@pytest.mark.parametrize(
    ("results", "mistake"),
    [
        pytest.param([2, 2, 2, 1], [2, 2, 2, 2], id="right where the mistake is wrong"),
        pytest.param([2, 2, 7, 7], [2, 2, 2, 2], id="too few calls"),
        pytest.param([0, 0, 0, 0], [0, 0, 0, 2], id="zeros"),
        pytest.param([RAISED] * 4, [RAISED] * 4, id="errors"),
    ],
)
def test_a_mistake_without_enough_evidence_is_not_named(
    results: list[Result], mistake: list[Result]
) -> None:
    assert _names(_search(results, {"mistake": mistake}).found()) == []


@pytest.mark.parametrize("failing", [RAISED, X * torch.nan], ids=["an error", "nan"])
def test_where_a_mistake_fails_other_code_may_be_right(failing: Result) -> None:
    assert _names(_search([2, 2, 2, 1], {"twice": [2, 2, 2, failing]}).found()) == ["twice"]


@pytest.mark.parametrize("name", ["it makes nan", "twice"])
def test_only_words_about_nan_explain_nan(name: str) -> None:
    nan = [X * torch.nan] * 3
    assert _names(_search(nan, {name: nan}).found()) == [name] * ("nan" in name)


def test_a_single_wrong_call_is_enough() -> None:
    search = _search([1, 1, 2], {"twice": [1, 1, 2], "thrice": [1, 1, 3]})
    assert search.is_most
    assert (_names(search.found()), search.found().note) == (["twice"], "")


def test_two_mistakes_in_different_calls_are_both_named() -> None:
    results = [2, 2, 2, 3, 3, 3, 7]
    rows: dict[str, Sequence[Result]] = {"twice": [2] * 7, "thrice": [3] * 7, "other": [5] * 7}
    (both,) = _search(results, rows).found().members
    assert both.words == "twice; and thrice"


def test_nearly_all_calls_mean_a_single_mistake() -> None:
    results = [2] * 15 + [3] * 3
    found = _search(results, {"twice": [2] * 18, "thrice": [3] * 18}).found()
    assert (_names(found), found.note) == (["twice"], "")


def test_a_few_of_many_calls_are_not_enough() -> None:
    few: dict[str, Sequence[Result]] = {"twice": [2] * 40}
    assert _names(_search([2] * 3 + [3] * 37, few).found()) == []
    assert _names(_search([2] * 4 + [3] * 36, few).found()) == ["twice"]


def test_a_change_to_any_step_must_explain_every_value() -> None:
    def of(rank: int) -> list[str]:
        search = _search([2, 2, 2, 3], {"twice": [2] * 4}, ranks={"twice": rank})
        return _names(search.found())

    assert (of(0), of(43)) == (["twice"], [])


def test_gradients_contradict_nothing() -> None:
    of_gradients = dict.fromkeys((3, 4), "gradients")
    found = _search([2, 2, 2, 1, 7], {"twice": [2] * 5}, of_gradients).found()
    assert (_names(found), found.note) == (["twice"], "")


def test_another_dtype_hides_no_mistake_and_alone_is_none() -> None:
    double = X.double() / X
    twice, half = _search([double * 2] * 3, {"twice": [2] * 3}), [X.half() / X.half()] * 3
    assert _names(twice.found()) == ["twice"]
    assert _names(_search([double] * 3, {"half": half}).found()) == []


TESTS = {f"test {number}": slice(number, number + 1) for number in range(6)}


def _dropped(rate: float) -> AnswerRecord:
    return _random((torch.rand(40, 50) >= rate).float())


def _samples(rate: float) -> Samples:
    return Samples(tuple(_dropped(rate) for _ in range(20)), (False,))


@pytest.mark.parametrize(
    ("fitting", "is_random", "is_changed", "names"),
    [(5, 6, True, ["random"]), (4, 6, True, []), (5, 5, True, []), (5, 6, False, [])],
)
def test_random_results_must_fit_nearly_all_tests(
    fitting: int, is_random: int, is_changed: bool, names: list[str]
) -> None:
    torch.manual_seed(0)
    rates = [0.1] * fitting + [0.5] * (6 - fitting)
    records = {t: _dropped(r) for t, r in zip(TESTS, rates, strict=True)}
    given: Any = _GivenByTest(records, is_changed)
    random = [*TESTS][:is_random]
    table = Table(
        (Row("random", "Is it random?"), Row("other", "Is it?")),
        tuple((_record([1]).calls[0], *_dropped(0.5).calls) for _ in TESTS),
        np.ones((2, 6), np.int16),
        (0,) * 6,
        {(0, t): _samples(0.1) for t in random} | {(1, t): _samples(0.9) for t in random},
        {},
    )
    assert _names(PartialSearch(Search(table, TESTS, given, lambda *_: None)).found()) == names


class _GivenByTest:
    def __init__(self, records: dict[str, AnswerRecord], is_changed: bool = False) -> None:
        self._records = records
        self._is_changed = is_changed

    def answered(self, test: str) -> AnswerRecord:
        return replace(self._records[test], words="")

    measured = answered

    def judged(self, test: str) -> AnswerRecord:
        return self._records[test]

    def is_changed(self, test: str) -> bool:
        return self._is_changed

    def size(self, test: str) -> int:
        return 1


def _random(value: torch.Tensor) -> AnswerRecord:
    return replace(measured([Event("call", value)]), words="wrong")


def test_a_question_without_known_mistakes_has_no_partial_match() -> None:
    (right,) = _record([1]).calls
    given: Any = _GivenByTest({"test 0": _record([2])})
    table = Table((), ((right,),), np.zeros((0, 1), np.int16), (0,), {}, {})
    search = Search(table, {"test 0": slice(0, 1)}, given, lambda *_: None)
    assert PartialSearch(search).found() == SearchResult()
