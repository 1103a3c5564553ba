"""If no known mistake explains an answer, the message says for which calls the answer is right."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch

from autograder.grading.naming.record import Event, Request, answered
from autograder.grading.naming.where import CallDeclaration, CallFacts, cases_of, where_right
from autograder.suite.traits import InputPair, Size, Tensor, Traits

_ATTENTION = Traits("attend", [Tensor("... T d"), Tensor("... S d"), Tensor("... S d_v")])
_LAYER = Traits(
    "Layer",
    [Tensor("B T H*d"), InputPair(Tensor("B P H*d"), Tensor("B P H*d"))],
    build=[Size("H*d"), Size("H")],
)


def _attend(queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    return queries @ keys.mT @ values


class _Layer:
    def __init__(self, size: int, heads: int, bias: bool = False) -> None:
        self.sizes = size, heads, bias

    def forward(self, x: torch.Tensor, past: Any = None) -> torch.Tensor:
        return x


def _cases(
    traits: Traits, calls: Sequence[Sequence[Any]], is_right: Callable[..., bool]
) -> list[CallFacts]:
    """Returns facts about calls to a function; a call is right only if `is_right` returns true."""
    requests: list[Request] = [("call", "attend", args) for args in calls]
    right = answered([Event("call", torch.ones(1)) for _ in calls]).calls
    own = answered([Event("call", torch.ones(1) * (2 - is_right(*args))) for args in calls]).calls
    return list(cases_of(CallDeclaration(traits, _attend).facts(requests), own, right))


def _words(cases: Sequence[CallFacts]) -> str:
    return where_right(cases)[0]


def _of_sizes(*sizes: tuple[int, int, int]) -> list[list[torch.Tensor]]:
    """Returns calls with these numbers of queries, keys, and entries per value."""
    return [[torch.ones(2, t, 11), torch.ones(2, s, 11), torch.ones(2, s, v)] for t, s, v in sizes]


_SIZES = _of_sizes(
    (3, 5, 2),
    (5, 3, 2),
    (4, 4, 7),
    (2, 2, 3),
    (6, 3, 4),
    (2, 6, 2),
    (4, 7, 3),
    (9, 9, 5),
    (3, 8, 2),
)


def test_a_property_of_all_right_calls_is_reported() -> None:
    square = _cases(_ATTENTION, _SIZES, lambda q, k, v: q.shape[1] == k.shape[1])
    assert _words(square) == "it is right where S and T are equal only"
    short = _cases(_ATTENTION, _SIZES, lambda q, k, v: k.shape[1] <= q.shape[1])
    assert _words(short) == "it is right where S is at most T only"


def test_a_property_of_some_right_calls_is_not_reported() -> None:
    calls = _of_sizes((4, 4, 2), (3, 3, 2), (3, 5, 2), (2, 5, 4), (2, 6, 3), (5, 5, 5))
    assert _words(_cases(_ATTENTION, calls, lambda q, k, v: v.shape[2] == 2)) == ""
    assert _words(_cases(_ATTENTION, calls, lambda *args: False)) == ""
    assert _words(_cases(_ATTENTION, calls, lambda *args: True)) == ""


def test_if_two_properties_fit_none_is_reported() -> None:
    calls = _of_sizes((4, 5, 2), (4, 6, 2), (4, 9, 2), (2, 5, 3), (3, 5, 5), (5, 7, 4), (6, 8, 3))
    assert _words(_cases(_ATTENTION, calls, lambda q, k, v: q.shape[1] == 4)) == ""
    even = [(2 * n, 5, 2) for n in range(1, 5)] + [(2 * n + 1, 5, 3) for n in range(1, 5)]
    # T is even whenever d_v is 2, so both conditions explain the calls
    assert _words(_cases(_ATTENTION, _of_sizes(*even), lambda q, k, v: v.shape[2] == 2)) == ""


def test_a_size_of_one_may_make_any_answer_right() -> None:
    calls = _of_sizes(
        (4, 4, 2), (6, 6, 3), (9, 9, 5), (5, 8, 1), (2, 7, 3), (8, 7, 3), (14, 7, 3), (7, 14, 3)
    )
    found = _cases(_ATTENTION, calls, lambda q, k, v: 1 in v.shape or q.shape[1] == k.shape[1])
    words, sentence, lead = where_right(found)
    assert words == "it is right where S and T are equal only"
    assert (
        sentence == "in the tests, it is right where S and T are equal, and otherwise only in "
        "calls that hide the mistake, with a size of 1 or two equal sizes"
    )
    assert lead.startswith("Make them different")


def test_indistinguishable_sizes_are_not_named() -> None:
    calls = _of_sizes(
        (1, 4, 1), (1, 5, 1), (1, 6, 1), (3, 4, 2), (1, 7, 3), (4, 5, 6), (2, 8, 5), (5, 7, 2)
    )
    found = _cases(_ATTENTION, calls, lambda q, k, v: q.shape[1] == v.shape[2] == 1)
    assert _words(found) == ""


def test_a_coinciding_leading_size_may_make_any_answer_right() -> None:
    shapes = [(3,), (5,), (4,), (3, 3), (2, 5), (4, 6), (3, 7), (6, 2, 4), (2, 2, 3), (2, 3, 2)]
    requests: list[Request] = [("call", "f", [torch.ones(shape)]) for shape in shapes]
    right = answered([Event("call", torch.ones(1)) for _ in requests]).calls
    calls = CallDeclaration(Traits("f", [Tensor("... T")]), lambda scores: scores)
    for dims, condition in ((1, "without a batch"), (2, "with exactly one leading dimension")):
        fits = [len(shape) == dims or shape[-1] in shape[:-1] for shape in shapes]
        came = answered([Event("call", torch.ones(1) * (2 - fit)) for fit in fits]).calls
        cases = list(cases_of(calls.facts(requests), came, right))
        assert _words(cases) == f"it is right {condition} only"


def test_a_missing_error_is_not_described_by_cases() -> None:
    found = _cases(_ATTENTION, _SIZES, lambda q, k, v: q.shape[1] == k.shape[1])
    assert _words([*found, replace(found[0], is_right=False, is_accepted=True)]) == ""


def test_memory_order_may_explain_errors() -> None:
    tensors = [torch.ones(2, 3 + n, 4) for n in range(4)]
    turned = [torch.ones(2, 4, 3 + n).mT for n in range(4)]
    requests: list[Request] = [("call", "f", [tensor]) for tensor in (*tensors, *turned)]
    right = answered([Event("call", torch.ones(1)) for _ in requests]).calls
    failing = [Event("call", torch.ones(1)) for _ in tensors]
    failing += [Event("call", raised="RuntimeError") for _ in turned]
    calls = CallDeclaration(Traits("f", [Tensor("B T d")]), _attend)
    cases = list(cases_of(calls.facts(requests), answered(failing).calls, right))
    assert _words(cases) == "it works for tensors that are contiguous only"


def test_sizes_of_a_layer_come_from_construction_and_calls() -> None:
    past = (torch.ones(2, 6, 8), torch.ones(2, 6, 8))
    requests: list[Request] = [
        ("build", 0, "Layer", [8, 2]),
        ("restore", 0, 1),
        ("forward", 1, [torch.ones(2, 5, 8), past]),
    ]
    calls = answered([Event(request[0]) for request in requests]).calls
    (case,) = cases_of(CallDeclaration(_LAYER, _Layer).facts(requests), calls, calls)
    assert case.sizes == {"H": 2, "d": 4, "B": 2, "T": 5, "P": 6}
    assert case.is_right and case.is_telling
    assert case.facts["where `past` is given"] and not case.facts["where `past` is left out"]
    assert case.facts["with `bias=False`"] and not case.facts["with `bias=True`"]


def test_an_expected_error_explains_nothing() -> None:
    raised = answered([Event("call", raised="ValueError")]).calls
    requests: list[Request] = [("call", "attend", _SIZES[0])]
    assert not list(cases_of(CallDeclaration(_ATTENTION, _attend).facts(requests), raised, raised))


def test_another_default_is_right_where_the_number_is_given() -> None:
    def angles(positions: torch.Tensor, base: float = 10000.0) -> torch.Tensor:
        return positions / base

    positions = [torch.ones(n) for n in range(2, 12)]
    requests: list[Request] = [("call", "angles", (p, 100.0)) for p in positions[:5]]
    requests += [("call", "angles", (p,)) for p in positions[5:]]
    right = answered([Event("call", torch.ones(1)) for _ in requests]).calls
    own = answered([Event("call", torch.ones(1) * n) for n in [1] * 5 + [2] * 5]).calls
    calls = CallDeclaration(Traits("angles", [Tensor("T")]), angles)
    cases = [*cases_of(calls.facts(requests), own, right)]
    assert _words(cases) == "it is right where `base` is given only"
