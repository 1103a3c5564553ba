"""A failure's message is true whatever the numbers are, explains errors, and repeats no cause."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from autograder.errors import AnswerMissing, AnswerRaised
from autograder.suite import Draw, Expect, LocalImplementation
from autograder.suite.compare import describe, difference
from autograder.suite.failures import WrongAnswer, check_numbers, explained, merge_equal_causes
from autograder.suite.raised import cause_of
from autograder.suite.relations import relation
from autograder.suite.traits.self_checks import EqualResults

_RIGHT = torch.tensor([[[0.5, 0.2, 0.3], [0.1, 0.6, 0.3]], [[0.3, 0.3, 0.4], [0.9, 0.0, 0.1]]])
_CAUSAL = torch.tensor([[1.0, 0.0, 0.0], [0.4, 0.6, 0.0], [0.2, 0.3, 0.5]])
_SIGNS = torch.tensor([2.0, -3.0, -5.0])
#: rows that are multiples of each other
_MULTIPLES = torch.tensor([[2.0, 3.0], [2.0, 3.0], [20.0, 30.0], [20.0, 30.0]])


@pytest.mark.parametrize(
    ("got", "expected", "words"),
    [
        (_RIGHT * 2, _RIGHT, "times 2"),
        (-_RIGHT, _RIGHT, "opposite sign"),
        (_RIGHT * 1.001, _RIGHT, "within 0.3%"),
        (torch.cat([_RIGHT[:1], _RIGHT[1:].flip(-1)]), _RIGHT, "only the first entry"),
        (_CAUSAL.mT, _CAUSAL, "rows and columns are swapped"),
        (_CAUSAL[2:].mT, _CAUSAL[2:], "rows and columns are swapped"),
        (_MULTIPLES[[0, 2, 1, 3]], _MULTIPLES, "in the wrong places"),
        (_MULTIPLES * torch.tensor([[1.0], [2], [3], [4]]), _MULTIPLES, "differs from row to row"),
        (_SIGNS.relu(), _SIGNS, "every negative value has become 0"),
        (_SIGNS.abs(), _SIGNS, "every negative value has become positive"),
        (_RIGHT[1:], _RIGHT, "the first item is missing along dimension 0"),
        (_SIGNS[:1], _SIGNS, "the last 2 items are missing along dimension 0"),
        (torch.ones(2, 1), torch.tensor([[13.0], [3.0]]), ""),
        (torch.tensor([0.99991, 4.5e-5]), torch.tensor([1.0, 0.0]), ""),
        (torch.full((3, 3), 1 / 3), _CAUSAL, "the future has weight"),
        (_RIGHT.unsqueeze(0), _RIGHT, "dimension of size one"),
        (_RIGHT.flatten(), _RIGHT, "in a different shape"),
        (_RIGHT / 0 * 0, _RIGHT, "nan"),
        (_RIGHT.double(), _RIGHT, "dtype"),
        (None, _RIGHT, "`return`"),
        (torch.ones(2, dtype=torch.bool), torch.zeros(2, dtype=torch.bool), "swapped everywhere"),
        ((_CAUSAL, _RIGHT), (_RIGHT, _CAUSAL), "in a different order"),
    ],
)
def test_a_relation_says_what_is_true(got: object, expected: object, words: str) -> None:
    assert words in (found := relation(got, expected))
    assert bool(words) == bool(found)


def test_nan_in_one_item_is_not_nan_everywhere() -> None:
    check_numbers("answer()", (_CAUSAL, [_RIGHT]))
    with pytest.raises(WrongAnswer, match="got       9 of 21 values are nan"):
        check_numbers("answer()", (_CAUSAL * torch.nan, _RIGHT))


def test_small_numbers_are_not_zeros_in_the_wrong_places() -> None:
    weights = torch.tensor([[-4.0, 7.0], [0.0, 1.0986]]).softmax(-1)
    masked = torch.tensor([[1.0, 0.0], [0.25, 0.75]])
    assert "in the wrong places" in relation(masked.flip(-1), masked)
    assert "in the wrong places" not in relation(weights, masked)


def test_nearly_equal_numbers_have_no_relation() -> None:
    expected = torch.tensor([[4.0, 1.705e-7], [1e-7, 5.0]])
    assert relation(expected + torch.tensor([[0.0, 2.4e-5], [0.0, 0.0]]), expected) == ""


def test_neither_of_two_unknown_results_is_called_expected() -> None:
    right = LocalImplementation({"answer": _right})
    expect = Expect(right, right, Draw(0, "test"))
    agreement = EqualResults("alone", "in the batch", likely="they know each other")
    one, other = torch.tensor([[0.25, 2.0]]), torch.tensor([[0.5, 2.0]])
    agreement.check(one, one.clone(), expect.that)
    with pytest.raises(AssertionError) as failure:
        agreement.check(one, other, expect.that)
    text = str(failure.value)
    assert "alone 0.2500, in the batch 0.5000" in text
    assert "alone         [0.2500, 2.0000]\nin the batch  [0.5000, 2.0000]" in text
    assert text.count("got ") == text.count("expected ") == 1


def test_unrelated_numbers_have_no_relation() -> None:
    torch.manual_seed(0)
    assert relation(torch.randn(2, 3, 4), torch.randn(2, 3, 4)) == ""


def test_numbers_are_printed_with_as_many_digits_as_differ() -> None:
    text = difference(torch.tensor([1.00001], dtype=torch.float64), torch.ones(1).double())
    assert text is not None and "1.00001" in text.splitlines()[1]


def _right(inputs: torch.Tensor, query: torch.Tensor) -> Any:
    return inputs @ query


def _misspelt(inputs: torch.Tensor, query: torch.Tensor) -> Any:
    return inputs @ qurey  # type: ignore[name-defined] # noqa: F821


def _other_arguments(inputs: torch.Tensor) -> Any:
    return inputs


_other_arguments.__qualname__ = "answer"


class _NoSuper(nn.Module):
    def __init__(self) -> None:
        self.linear = nn.Linear(2, 2)


def _tuple_of_max(inputs: torch.Tensor, query: torch.Tensor) -> Any:
    return inputs - inputs.max(0)  # type: ignore[operator]


def _refuses(inputs: torch.Tensor, query: torch.Tensor) -> Any:
    raise ValueError("too many")


def _unpacks(inputs: torch.Tensor, query: torch.Tensor) -> Any:
    batch, tokens, size = inputs.shape
    return batch, tokens, size


def _no_product(inputs: torch.Tensor, query: torch.Tensor) -> Any:
    return inputs @ inputs


def _matrices_in_bmm(inputs: torch.Tensor, query: torch.Tensor) -> Any:
    return torch.bmm(inputs, inputs.T)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (_matrices_in_bmm, "`bmm` takes tensors of three dimensions"),
        (_misspelt, "`qurey` has no value"),
        (_other_arguments, "must stay as it was given: answer(inputs, query)"),
        (_tuple_of_max, "return two tensors"),
        (_no_product, "do not fit a matrix product"),
        (_refuses, "rejects a valid call"),
        (_unpacks, "fewer values than names"),
    ],
)
def test_an_error_has_its_own_text(answer: object, words: str) -> None:
    right = LocalImplementation({"answer": _right})
    expect = Expect(LocalImplementation({"answer": answer}), right, Draw(0, "test"))
    with pytest.raises(AnswerRaised) as raised:
        expect.same("answer", torch.ones(3, 2), torch.ones(2), likely="a text about values")
    assert words in str(raised.value) and "about values" not in str(raised.value)


@pytest.mark.parametrize(
    ("error", "line", "cause"),
    [
        (
            'TypeError: softmax() missing 1 required positional arguments: "dim"',
            "softmax(x)",
            "dim",
        ),
        ('TypeError: logsumexp() missing 1 required positional arguments: "dim"', "f(x)", "dim"),
        ('TypeError: sum() missing 1 required positional arguments: "dim"', "x.sum(axes=-1)", ""),
        ("RuntimeError: The size of tensor a (3) must match", "q @ k.T", "`.T` reverses"),
        ("RuntimeError: must match the size", "x / x.exp().sum(-1)", "loses its"),
        ("RuntimeError: must match the size", "x.mean(dim=-1) - x", "loses its"),
        ("RuntimeError: must match the size", "(w * x).sum(dim=0)", ""),
        ("RuntimeError: must match the size", "torch.sum(w * x, dim=0)", ""),
        ("RuntimeError: mat1 and mat2 shapes cannot be multiplied", "q @ k.T", ""),
        ("RuntimeError: view size is not compatible", "x.transpose(0, 1).view(2)", "`view`"),
        ("ValueError: sizes do not fit", "q @ k.T", ""),
    ],
)
def test_only_a_cause_that_text_and_line_prove_is_named(error: str, line: str, cause: str) -> None:
    found = cause_of(error, line)
    assert (cause in found) if cause else not found
    assert cause_of(f"{error}\nin forward: {line}") == found


def test_a_missing_super_is_explained() -> None:
    right = LocalImplementation({"Layer": lambda: nn.Linear(2, 2)})
    expect = Expect(LocalImplementation({"Layer": _NoSuper}), right, Draw(0, "test"))
    with pytest.raises(AnswerRaised, match=r"must be `super\(\).__init__\(\)`"):
        expect.layer("Layer")


def test_wrong_sizes_of_weights_are_not_called_wrong_names() -> None:
    right = LocalImplementation({"Layer": lambda: nn.Linear(2, 3)})
    turned = LocalImplementation({"Layer": lambda: nn.Linear(3, 2)})
    with pytest.raises(AssertionError, match="compare the sizes with the docstring"):
        Expect(turned, right, Draw(0, "test")).layer("Layer")


def test_equal_causes_are_explained_once() -> None:
    same = ("call(1):\ngot       1\nremember: it", "cause")
    first, other, alone = merge_equal_causes([("a", *same), ("b", *same), ("c", "text", "")])
    assert "the same in 1 more test" in first and "remember" in first
    assert other.startswith("The same as in 'a'") and "remember" not in other
    assert alone == "text"


def test_a_missing_answer_is_explained_once() -> None:
    reason = "f is not defined: was it deleted or renamed?"
    with pytest.raises(AnswerMissing) as raised, explained("f(1)", "f"):
        raise AnswerMissing(reason)
    assert str(raised.value) == f"f(1):\ngot       {reason}\nexpected  a result, and no error"


def test_only_none_as_a_whole_result_suggests_a_missing_return() -> None:
    assert describe(None) == "None (is a `return` missing?)"
    assert describe((torch.zeros(2), None)) == "a tuple of 2: a float32 tensor of shape (2,), None"
