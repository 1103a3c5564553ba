"""Suites detect results that an answer caches by the identity of an argument."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import pytest
import torch

from autograder.suite import Draw, Expect, LocalImplementation
from autograder.suite.failures import WrongAnswer
from autograder.suite.traits import Input, OptionalInput, Size, Tensor, Traits, check_trait
from autograder.worker import stepping

SOLUTION = """
import torch
from torch import nn

kept = {}

def shifted(x, y=None):
    return 2 * x if y is None else 2 * x + y

class Linear(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.linear = nn.Linear(d, d)
    def forward(self, x, y=None):
        return shifted(self.linear(x), y)
"""
INPUTS: list[Input] = [Tensor("B T d"), OptionalInput(Tensor("B T d"))]
SHIFTED = Traits("shifted", INPUTS)
LINEAR = Traits("Linear", INPUTS, build=[Size("d")])


class Both(NamedTuple):
    first: torch.Tensor
    second: torch.Tensor


def _expect(answer: str = SOLUTION) -> Expect:
    def implementation(source: str) -> LocalImplementation:
        namespace: dict[str, Any] = {}
        exec(source, namespace)
        return LocalImplementation(namespace, source)

    return Expect(implementation(answer), implementation(SOLUTION), Draw(0, "objects"))


@pytest.mark.parametrize("traits", [SHIFTED, LINEAR], ids=lambda traits: str(traits.question))
def test_what_is_right_passes(traits: Traits) -> None:
    for trait in ("any memory layout", "any size", "call after call", "gradients"):
        check_trait(_expect(), traits, trait)


@pytest.mark.parametrize("traits", [SHIFTED, LINEAR], ids=lambda traits: str(traits.question))
@pytest.mark.parametrize("argument", ["x", "y"])
def test_a_result_cached_by_object_fails(traits: Traits, argument: str) -> None:
    body = "return 2 * x if y is None else 2 * x + y"
    held = (
        f"    if {argument} is not None and not {argument}.requires_grad:\n"
        f"        {argument} = kept.setdefault(id({argument}), "
        f"({argument}, {argument}.clone()))[1]\n    {body}"
    )
    wrong = SOLUTION.replace(f"    {body}", held)
    if traits is LINEAR:
        wrong = wrong.replace("def forward(self, x, y=None):", "def forward(self, x, y=None):#")
        kept = f"kept.setdefault(id({argument}), ({argument}, {argument}.clone()))[1]"
        guard = f"{kept} if {argument} is not None else None"
        wrong = wrong.replace("y=None):#", f"y=None):\n        {argument} = {guard}")
    with pytest.raises(AssertionError, match="other numbers"):
        check_trait(_expect(wrong), traits, "call after call")


@pytest.mark.parametrize("condition", ["y is None", "y is not None"])
@pytest.mark.parametrize("traits", [SHIFTED, LINEAR], ids=lambda traits: str(traits.question))
def test_a_gradient_cut_only_with_or_without_an_argument_fails(
    traits: Traits, condition: str
) -> None:
    cut = f"    x = x.detach() if {condition} else x\n    return 2 * x if"
    wrong = SOLUTION.replace("    return 2 * x if", cut)
    with pytest.raises(AssertionError, match="gradient"):
        check_trait(_expect(wrong), traits, "gradients")


def test_a_result_cached_by_address_is_outdated() -> None:
    kept: dict[tuple[int, int], torch.Tensor] = {}

    def doubled(x: torch.Tensor) -> torch.Tensor:
        return kept.setdefault((x.data_ptr(), x._version), 2 * x)

    _, second = stepping.steps(doubled, [([torch.zeros(2)], None), ([torch.ones(2)], None)])
    assert second.tolist() != [2.0, 2.0]


def test_a_result_cached_by_dictionary_is_outdated() -> None:
    kept: dict[int, int] = {}

    def looked_up(numbers: dict[str, int]) -> int:
        return kept.setdefault(id(numbers), numbers["a"])

    calls = [([{"a": 1}], None), ([{"a": 2}], None)]
    assert stepping.steps(looked_up, calls) == [1, 1]
    assert stepping.steps(lambda numbers: numbers["a"], calls) == [1, 2]


def test_a_view_of_an_argument_is_reported_as_it_was() -> None:
    calls = [([torch.zeros(2)], None), ([torch.ones(2)], None)]
    first, second = stepping.steps(lambda x: x.view(2, 1), calls)
    assert first.tolist() == [[0.0], [0.0]] and second.tolist() == [[1.0], [1.0]]


def test_a_value_of_any_kind_of_tuple_is_described() -> None:
    first, _ = stepping.steps(lambda x: torch.max(x, 0), [([torch.ones(2)], None)] * 2)
    assert [item.tolist() for item in first] == [1.0, 0]
    (views,) = stepping.steps(lambda x: Both(x, x.view(2, 1)), [([torch.ones(2)], None)])
    assert [item.tolist() for item in views] == [[1.0, 1.0], [[1.0], [1.0]]]


def test_a_later_call_that_changes_a_result_is_noticed() -> None:
    result = torch.zeros(2)
    calls = [([torch.zeros(2)], None), ([torch.ones(2)], None)]
    first, _ = stepping.steps(result.copy_, calls)
    assert first.tolist() == [1.0, 1.0]


def test_a_later_call_that_undoes_the_callers_change_is_noticed() -> None:
    result, vocabulary = torch.zeros(2), dict[str, int]()
    calls = [([torch.ones(2)], None)] * 2
    first, second = stepping.steps(result.copy_, calls)
    assert first.tolist() != [1.0, 1.0] and second.tolist() == [1.0, 1.0]
    words: list[tuple[list[Any], None]] = [(["a"], None)] * 2
    first, second = stepping.steps(lambda word: vocabulary.update({word: 1}) or vocabulary, words)
    assert first != {"a": 1} and second == {"a": 1}


def test_changing_a_result_shows_what_an_answer_kept() -> None:
    kept = {1: torch.ones(2), 2: torch.zeros(2)}
    calls = [([1], None), ([2], None), ([1], None)]
    first, second, again = stepping.steps(kept.__getitem__, calls)
    assert first.tolist() == [1.0, 1.0] and second.tolist() == [0.0, 0.0]
    assert again.tolist() != [1.0, 1.0]


def test_a_tensor_given_twice_stays_one() -> None:
    one = torch.ones(2)
    calls = [([one, one], None), ([one + 1, one + 2], None)]
    _, second = stepping.steps(lambda x, y: x + y, calls)
    assert second.tolist() == [5.0, 5.0]


@pytest.mark.parametrize("kind", [Counter, OrderedDict, partial(defaultdict, int)])
def test_a_dictionary_of_another_class_is_right(kind: Callable[[dict[str, int]], Any]) -> None:
    calls = [(("a",), None), (("b",), None)]
    assert stepping.steps(lambda word: kind({word: 1}), calls) == [{"a": 1}, {"b": 1}]


def test_a_tuple_of_another_class_is_right() -> None:
    calls = [((torch.full((2,), number),), None) for number in (1.0, 2.0)]
    found = stepping.steps(lambda x: Both(x + 1, x + 2), calls)
    assert [[leaf.tolist() for leaf in pair] for pair in found] == [
        [[2.0, 2.0], [3.0, 3.0]],
        [[3.0, 3.0], [4.0, 4.0]],
    ]


def test_changing_an_argument_that_is_a_result_is_reported() -> None:
    in_place = SOLUTION.replace("2 * x + y", "2 * (x if x.is_leaf else x.mul_(1.5) / 1.5) + y")
    with pytest.raises(WrongAnswer, match="an argument was changed by the call"):
        check_trait(_expect(in_place), SHIFTED, "gradients")


def test_weights_that_are_kept_until_the_mode_changes_fail() -> None:
    kept = SOLUTION.replace(
        "return shifted(self.linear(x), y)",
        """if self.training or torch.is_grad_enabled():
            return shifted(self.linear(x), y)
        self.kept = getattr(self, "kept", None) or (self.linear.weight + 0, self.linear.bias + 0)
        return shifted(nn.functional.linear(x, *self.kept), y)
    def train(self, mode=True):
        self.kept = None
        return super().train(mode)""",
    )
    with pytest.raises(AssertionError, match="weights"):
        check_trait(_expect(kept), LINEAR, "call after call")


def test_a_large_gradient_that_is_clipped_in_grad_fails() -> None:
    clipped = SOLUTION.replace(
        "self.linear = nn.Linear(d, d)",
        """self.linear = nn.Linear(d, d)
        def clip(weight):
            weight.grad.clamp_(-10, 10)
        for weight in self.parameters():
            weight.register_post_accumulate_grad_hook(clip)""",
    )
    with pytest.raises(AssertionError, match="incoming gradient may have any size"):
        check_trait(_expect(clipped), LINEAR, "gradients")


@pytest.mark.parametrize(
    "cleared", ["self.zero_grad()", "self.zero_grad(set_to_none=False)"], ids=["none", "zeros"]
)
def test_a_call_that_clears_gradients_fails(cleared: str) -> None:
    wrong = SOLUTION.replace(
        "        return shifted(self", f"        {cleared}\n        return shifted(self"
    )
    with pytest.raises(AssertionError, match="must not call `zero_grad"):
        check_trait(_expect(wrong), LINEAR, "gradients")


def test_weights_that_cut_the_gradient_if_all_are_frozen_fail() -> None:
    wrong = SOLUTION.replace(
        "shifted(self.linear(x), y)",
        "shifted(self.linear(x if any(w.requires_grad for w in self.parameters()) else x.data), y)",
    )
    with pytest.raises(AssertionError, match="with linear.bias, linear.weight frozen"):
        check_trait(_expect(wrong), LINEAR, "gradients")


def test_numbers_kept_in_an_earlier_dtype_fail() -> None:
    wrong = SOLUTION.replace(
        "return shifted(self.linear(x), y)",
        """
        self.shift = getattr(self, "shift", None) or (torch.tensor(1e1 / 3, dtype=x.dtype),)
        return shifted(self.linear(x + (self.shift[0].double() - 1e1 / 3).to(x.dtype)), y)""",
    )
    with pytest.raises(AssertionError, match="whatever it computed in float32 before"):
        check_trait(_expect(wrong), LINEAR, "any size")
