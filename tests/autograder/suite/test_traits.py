"""A declaration generates tests of a question's general properties."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
import torch

from autograder.suite import Draw, Expect, LocalImplementation
from autograder.suite.traits import (
    Case,
    Rate,
    Row,
    Size,
    Sizes,
    Tensor,
    Traits,
    check_trait,
    declaration,
    declarations,
    traits_of,
)
from autograder.suite.traits import (
    function_tests as functions,
)
from autograder.suite.traits.inputs import LAYOUTS, expanded, falling, level, rising, small, whole
from autograder.suite.traits.slopes import check_dtype

SUMS = Traits("sums", [Tensor("... T d")])
SCALED = Traits("Scaled", [Tensor("B T d")], build=[Size("d"), Rate()])

SOLUTION = """
import torch
from torch import nn

def sums(x):
    return x.sum(-1)

class Scaled(nn.Module):
    def __init__(self, d, p):
        super().__init__()
        self.linear = nn.Linear(d, d)
        self.drop = nn.Dropout(p)
    def forward(self, x):
        return self.drop(self.linear(x))
"""
FUNCTIONS = {
    "any memory layout": "return x.view(-1, x.shape[-1]).sum(-1).view(x.shape[:-1])",
    "any size": "return x.sum(-1).squeeze()",
    "call after call": (
        "return vars(torch).setdefault('_kept', {}).setdefault((id(sums), x.shape), x.sum(-1))"
    ),
    "gradients": "return x.detach().sum(-1)",
}
#: an answer that keeps weights from an earlier call in eval mode if no gradients are requested
KEPT = (
    "if torch.is_grad_enabled() or self.training:\n"
    "            return self.drop(self.linear(x))\n"
    "        if 'kept' not in vars(self):\n"
    "            self.kept = [self.linear.weight.clone(), self.linear.bias.clone()]\n"
    "        return nn.functional.linear(x, *self.kept)"
)
CLASSES = {
    "any memory layout": "return self.drop(self.linear(x.view(-1, x.shape[-1])).view(x.shape))",
    "any size": "return self.drop(self.linear(x[:, :64]))",
    "call after call": (
        "self.kept = getattr(self, 'kept', None) or [self.linear.weight.detach().clone()]\n"
        "        return self.drop(x @ self.kept[0].T + self.linear.bias)"
    ),
    "gradients": (
        "with torch.set_grad_enabled(not self.training):\n"
        "            return self.drop(self.linear(x))"
    ),
}


def _implementation(source: str) -> LocalImplementation:
    namespace: dict[str, object] = {"__name__": "_traits"}
    exec(source, namespace)
    return LocalImplementation(namespace, source)


def _expect(source: str) -> Expect:
    return Expect(_implementation(source), _implementation(SOLUTION), Draw(0, "traits"))


def _asked(traits: Traits, trait: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sizes]:
    """Yields the sizes of the calls that a generated test makes."""
    asked: list[Sizes] = []

    def arguments_of(inputs: Any, draw: Draw, sizes: Sizes, *rest: Any) -> list[Any]:
        if inputs is traits.inputs:
            asked.append(sizes)
        return [item.make(draw, traits.usual(), torch.float32) for item in inputs]

    with monkeypatch.context() as patch:
        for module in (functions, declaration):
            patch.setattr(module, "arguments_of", arguments_of)
        check_trait(MagicMock(draw=Draw(0, "sizes")), traits, trait)
    return iter(asked)


#: declarations without `loops`, whose steps are counted for loops over every letter
PAIRS = Traits("pairs", [Tensor("... T d")])
HEADS = Traits("Heads", [Tensor("B T H*d")], build=[Size("H*d"), Size("H")])
HIDDEN = sorted(Path(__file__).parents[3].glob("tests/hidden/*/test_*.py"))


@pytest.mark.parametrize(
    "declared",
    [(PAIRS, HEADS), *map(declarations, HIDDEN)],
    ids=["none declared", *(path.stem for path in HIDDEN)],
)
def test_a_right_answer_in_plain_loops_ends_in_time(
    declared: tuple[Traits, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    for traits in declared:
        seconds = sum(
            each * traits.steps(sizes)
            for trait, each in (("any size", 10e-6), ("gradients", 70e-6))
            if trait not in traits.without and trait not in traits.own
            for sizes in _asked(traits, trait, monkeypatch)
        )
        assert seconds < 2.5, traits.question  # 25% more than the slowest question takes


def test_each_size_is_large_in_few_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    long = 6  # 127 and 128 tokens, one number between, and one above each of 64, 96 and 100
    for traits in (PAIRS, HEADS):
        asked = list(_asked(traits, "any size", monkeypatch))
        assert max(sizes.letters["T"] for sizes in asked) > 100
        assert max(sizes.letters["d"] for sizes in asked) > 64
        assert sum(sizes.letters["T"] > 60 for sizes in asked) <= long


@pytest.mark.parametrize("traits", [SUMS, SCALED], ids=["function", "class"])
@pytest.mark.parametrize("trait", FUNCTIONS)
def test_what_is_right_passes(traits: Traits, trait: str) -> None:
    check_trait(_expect(SOLUTION), traits, trait)


@pytest.mark.parametrize("trait", FUNCTIONS)
def test_a_function_without_the_trait_fails(trait: str) -> None:
    wrong = SOLUTION.replace("return x.sum(-1)", FUNCTIONS[trait])
    with pytest.raises(Exception, match=r"sums\(.*\):"):
        check_trait(_expect(wrong), SUMS, trait)


@pytest.mark.parametrize("trait", CLASSES)
def test_a_class_without_the_trait_fails(trait: str) -> None:
    wrong = SOLUTION.replace("return self.drop(self.linear(x))", CLASSES[trait])
    with pytest.raises(Exception, match=r"Scaled\("):
        check_trait(_expect(wrong), SCALED, trait)


def test_a_class_that_keeps_weights_without_gradients_fails() -> None:
    wrong = SOLUTION.replace("return self.drop(self.linear(x))", KEPT)
    with pytest.raises(Exception, match="out of date"):
        check_trait(_expect(wrong), SCALED, "call after call")


def test_dropout_in_place_that_breaks_learning_fails() -> None:
    spoilt = "y = self.linear(x).sigmoid()\n        return y.mul_(self.drop(torch.ones_like(y)))"
    solution = SOLUTION.replace("self.linear(x))", "self.linear(x).sigmoid())")
    wrong = SOLUTION.replace("return self.drop(self.linear(x))", spoilt)
    expect = Expect(_implementation(wrong), _implementation(solution), Draw(0, "traits"))
    with pytest.raises(Exception, match="inplace operation"):
        check_trait(expect, SCALED, "gradients")


@pytest.mark.parametrize("layout", [one for one in LAYOUTS if one is not expanded])
def test_a_layout_changes_no_number(layout) -> None:  # type: ignore[no-untyped-def]
    tensor = torch.arange(24.0).view(2, 3, 4)
    made = layout(tensor)
    assert made.equal(tensor)
    assert not made.is_contiguous() or made.storage_offset() > 0


#: conditions on calls, by trait; an answer that is wrong only in these calls must be noticed
SELDOM = {
    "any memory layout": ["(x > 0).all()", "(x < 0).all()", "(x == x[..., :1]).all()"],
    "any size": ["x.numel() > 1000 and x.dtype == torch.float64"],
    "gradients": [
        "x.requires_grad and x.dtype == torch.float32 and not x.is_contiguous()",
        "x.requires_grad and (x == x.round()).all()",
        "x.requires_grad and (x > 0).all() and x.shape[-1] > 1",
    ],
}


@pytest.mark.parametrize(
    ("trait", "condition"), [(trait, c) for trait, group in SELDOM.items() for c in group]
)
def test_an_answer_wrong_for_some_numbers_fails(trait: str, condition: str) -> None:
    seldom = f"return x.sum(-1) * 2 if {condition} else x.sum(-1)"
    wrong = "kept = {}\n" + SOLUTION.replace("return x.sum(-1)", seldom)
    with pytest.raises(Exception, match=r"sums\(.*\):"):
        check_trait(_expect(wrong), SUMS, trait)


#: bodies of functions that are wrong only if they are called in one way, by trait
WAYS = {
    "any memory layout": ["return x.as_strided(x.shape, x.stride(), 0).sum(-1)"],
    "call after call": [
        "return x.mul_(1).sum(-1) if torch.is_grad_enabled() else x.mul_(2).sum(-1) / 2",
        "return x.sum(-1) if torch.is_grad_enabled() else x.sum(-1) * 2",
        "x.requires_grad_()\n    return x.sum(-1).detach()",
        "return kept.setdefault(tuple(x.flatten().tolist()) + tuple(x.shape), x.sum(-1))",
        "return torch.inference_mode()(x.sum)(-1)",
        "return x.sum(-1) * (kept.setdefault(x.numel(), x.shape) == x.shape)",
    ],
    "gradients": [
        "return (x if x.is_leaf else x.detach()).sum(-1)",
        "y = x.sum(-1)\n    _ = y.requires_grad and y.register_hook(lambda g: g.clamp(-9, 9))\n"
        "    return y",
        "y = x.sum(-1)\n    _ = y.requires_grad and y.register_hook(\n"
        "        lambda g: g * (g.abs() > 1e-7))\n    return y",
        "_ = x.requires_grad and x.register_hook(lambda g: g)\n    return x.sum(-1)",
        "_ = x.requires_grad and not x.is_leaf and x.retain_grad()\n    return x.sum(-1)",
        "return Own.apply(x)",
        "return OtherOwn.apply(x)",
    ],
}
#: wrong backward passes of a sum: one needs contiguous gradients, one changes them
OWN = """
kept = {}

class Own(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.shape = x.shape
        return x.sum(-1)
    @staticmethod
    def backward(ctx, grad):
        return grad.view(-1, 1).expand(-1, ctx.shape[-1]).reshape(ctx.shape)

class OtherOwn(Own):
    @staticmethod
    def backward(ctx, grad):
        return grad.mul_(1.0).add_(0.0).clone().unsqueeze(-1).expand(ctx.shape) + grad.zero_().sum()
"""


@pytest.mark.parametrize(
    ("trait", "body"), [(t, body) for t, bodies in WAYS.items() for body in bodies]
)
def test_a_function_wrong_in_one_way_of_calling_fails(trait: str, body: str) -> None:
    wrong = SOLUTION.replace("return x.sum(-1)", body).replace("\ndef sums", OWN + "\ndef sums")
    with pytest.raises(Exception, match=r"sums\(.*"):
        check_trait(_expect(wrong), SUMS, trait)


#: bodies of `forward` that are wrong only if they are called in one way, by trait
LAYER_WAYS = {
    "any memory layout": [
        "return self.drop(self.linear(x.as_strided(x.shape, x.stride(), 0)))",
    ],
    "call after call": [
        "y = self.linear(x)\n        return self.drop(y) if torch.is_grad_enabled() else y",
        "w = self.linear.weight\n"
        "        if getattr(self, 'version', None) != w._version:\n"
        "            self.version, self.w = w._version, w.detach().clone()\n"
        "        return self.drop(x @ self.w.T + self.linear.bias)",
        "self.w = getattr(self, 'w', None) or (self.linear.weight,)\n"
        "        return self.drop(x @ self.w[0].T + self.linear.bias)",
        "if not hasattr(self, 'scale'):\n"
        "            self.scale = nn.Parameter(torch.ones(()))\n"
        "        return self.drop(self.linear(x)) * self.scale.detach()",
        "if not hasattr(self, 'scale'):\n"
        "            self.scale = nn.Parameter(torch.ones(()), requires_grad=False)\n"
        "        return self.drop(self.linear(x)) * self.scale",
    ],
    "gradients": [
        "with torch.set_grad_enabled(all(w.requires_grad for w in self.parameters())):\n"
        "            return self.drop(self.linear(x))",
        "return self.drop(self.linear(x if x.is_leaf else x.detach()))",
        "y = self.drop(self.linear(x))\n"
        "        _ = y.requires_grad and y.register_hook(lambda g: g.clamp(-9, 9))\n"
        "        return y",
    ],
}
CLIPS = """
        self.linear.weight.register_post_accumulate_grad_hook(lambda w: w.grad.mul_(0.5))
"""


@pytest.mark.parametrize(
    ("trait", "body"), [(t, body) for t, bodies in LAYER_WAYS.items() for body in bodies]
)
def test_a_class_wrong_in_one_way_of_calling_fails(trait: str, body: str) -> None:
    wrong = SOLUTION.replace("return self.drop(self.linear(x))", body)
    with pytest.raises(Exception, match=r"Scaled\("):
        check_trait(_expect(wrong), SCALED, trait)


def test_a_hook_that_changes_what_is_accumulated_fails() -> None:
    wrong = SOLUTION.replace("        self.drop = ", CLIPS + "        self.drop = ")
    with pytest.raises(Exception, match=r"after `backward\(\)`"):
        check_trait(_expect(wrong), SCALED, "gradients")


def test_numbers_that_no_rule_draws_have_gradients_too() -> None:
    case = Case(lambda draw: [torch.full((2, 3), 99.0, dtype=torch.float64)], "nothing is cut off")
    cut = "torch.where(x == 99, x.detach(), x).sum(-1)"
    expect = _expect(SOLUTION.replace("x.sum(-1)", cut))
    check_trait(expect, SUMS, "gradients")
    with pytest.raises(Exception, match="nothing is cut off"):
        check_trait(expect, Traits("sums", SUMS.inputs, case=case), "gradients")


VECTORS = Traits("Vectors", [Tensor("... d")], build=[Size("d")])
LAYER = """
import torch
from torch import nn

class Vectors(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.linear = nn.Linear(d, d)
    def forward(self, x):
        self.first = getattr(self, "first", x.shape)
        return self.linear(x) * (1 + ({}))
"""


@pytest.mark.parametrize("condition", ["x.shape[0] < self.first[0]", "x.shape[1] > self.first[1]"])
def test_leading_dimensions_change_if_nothing_else_does(
    condition: str,
) -> None:
    right, wrong = (_implementation(LAYER.format(when)) for when in ("False", condition))
    with pytest.raises(Exception, match=r"Vectors\("):
        check_trait(Expect(wrong, right, Draw(0, "traits")), VECTORS, "call after call")


@pytest.mark.parametrize("condition", ["(x > 0).all()", "(x < 0).all()", "len(x) == 1"])
def test_dropout_that_is_left_out_for_some_inputs_fails(condition: str) -> None:
    seldom = f"y = self.linear(x)\n        return y if {condition} else self.drop(y)"
    wrong = SOLUTION.replace("return self.drop(self.linear(x))", seldom)
    with pytest.raises(Exception, match="dropout works in train mode"):
        check_trait(_expect(wrong), SCALED, "call after call")


def test_a_small_rate_that_counts_as_none_fails() -> None:
    wrong = SOLUTION.replace("nn.Dropout(p)", "nn.Dropout(p if p > 0.01 else 0.0)")
    with pytest.raises(Exception, match="as small as 0.001"):
        check_trait(_expect(wrong), SCALED, "call after call")


def test_a_result_that_is_returned_twice_in_a_row_fails() -> None:
    kept = (
        "last = vars(torch).setdefault('_last', [x.clone(), x.sum(-1)])\n"
        "    if last[0].shape != x.shape or not torch.equal(last[0], x):\n"
        "        last[:] = [x.clone(), x.sum(-1)]\n"
        "    return last[1]"
    )
    with pytest.raises(Exception, match="a result belongs to the caller"):
        check_trait(_expect(SOLUTION.replace("return x.sum(-1)", kept)), SUMS, "call after call")


def test_gradients_of_equal_tensors_must_reach_each_of_them() -> None:
    right = "def product(x, y):\n    return x * y"
    wrong = "import torch\ndef product(x, y):\n    return x * x if torch.equal(x, y) else x * y"
    traits = Traits("product", [Tensor("... d"), Tensor("... d")])
    expect = Expect(_implementation(wrong), _implementation(right), Draw(0, "traits"))
    with pytest.raises(Exception, match="two tensors with equal numbers"):
        check_trait(expect, traits, "gradients")


def test_caching_by_shape_fails_when_a_large_shape_recurs() -> None:
    held = "return (kept.setdefault(x.shape, x) if x.numel() > 1000 else x).sum(-1)"
    expect = _expect("kept = {}\n" + SOLUTION.replace("return x.sum(-1)", held))
    with pytest.raises(Exception, match=r"sums\(.*\):"):
        check_trait(expect, SUMS, "any size")


def test_changed_numbers_remain_valid_for_their_purpose() -> None:
    ids, mask = torch.tensor([3, 1, 2]), torch.tensor([True, False])
    shares = torch.tensor([[0.3, 0.7], [0.9, 0.1], [0.4, 0.6]])
    for numbers in (rising, falling, level, small, whole):
        assert numbers(mask).equal(mask)
        assert numbers(ids).sort().values.equal(ids.sort().values)
        assert bool((numbers(shares) >= 0).all())
    signed = torch.tensor([[0.5, -2.0, 1.0], [1.0, -1.0, 0.2], [-3.0, 0.1, 0.4]])
    assert bool((rising(signed) > 0).all())
    assert bool((falling(signed) < 0).all())
    assert rising(signed)[0].equal(rising(signed)[1])


@pytest.mark.parametrize("size", [1, 4, 9])
def test_dot_products_of_level_rows_stay_moderate(size: int) -> None:
    drawn = torch.linspace(-9, 9, 40).unsqueeze(-1).repeat(1, size)
    found = level(drawn)
    assert float((found @ found.T).max()) <= 40
    assert bool((found.sign() == drawn.sign()).all())


def test_an_empty_cell_is_reported(tmp_path: Path) -> None:
    suite = tmp_path / "assignment" / "test_sums.py"
    suite.parent.mkdir()
    suite.write_text(
        "import pytest\n"
        "from autograder.suite.traits import Tensor, Traits\n"
        "SUMS = Traits('sums', [Tensor('T')], own={'float64': 'test_gone'})\n"
        "@pytest.mark.question('sums', points=1)\n"
        "@pytest.mark.parametrize('trait', ['any size', 'gradients'])\n"
        "def test_in_general(trait): ...\n"
    )
    (row,), problems = traits_of(suite)
    assert row.cells["any size"] == "generated"
    assert any("'any memory layout': parametrize a test" in problem for problem in problems)
    assert any(
        "'chance': name one in `own`, or say in `without`" in problem for problem in problems
    )
    assert any("test_gone" in problem for problem in problems)


def test_a_student_reads_which_traits_are_tested_without_reasons() -> None:
    row = Row("sums", frozenset({"gradients"}), {"float64": "test_it"}, {"errors": "none"}, {})
    assert row.for_students == "gradients, float64"


def test_a_kind_that_many_results_have_is_said_once() -> None:
    told: dict[str, Any] = {}
    check_dtype([1.0, 2.0, torch.zeros(2)], lambda _, **words: told.update(words))
    assert told["got"] == "float, torch.float32 for float64 inputs"
