"""Describes how a result is related to the expected one, in a sentence that is certainly true.

Each relation is tested on the numbers themselves, so that a message may begin with it. If no
relation holds, there is no sentence. A relation that may hold by chance is not reported: for
example, swapped rows and columns if an argument is symmetric, or weights for future tokens if an
argument has zeros in the same places.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch


def of_kind(got: Any) -> str:
    """Describe a value that should be a tensor but is not."""
    if got is None:
        return "None is returned: is a `return` missing, or is there nothing after it?"
    if isinstance(got, tuple) and len(got) == 2 and "return_types" in type(got).__module__:
        return "two tensors are returned, values and indices, as `max` gives them"
    if isinstance(got, tuple) and len(got) == 1:
        return "a tuple is returned: is there a comma after the result?"
    if isinstance(got, list):
        return "a list is returned, but one tensor is expected"
    if isinstance(got, tuple) and any(isinstance(item, torch.Tensor) for item in got):
        return f"{len(got)} values are returned, but one tensor is expected"
    return f"a value of type `{type(got).__name__}` is returned, but a tensor is expected"


#: the tolerance between two ways to compute the same number
_NEAR = 1e-3
_NEARLY_RIGHT = 3e-3
#: the causes of nan
_NAN = "0/0, 0 times infinity, infinity minus infinity, or a softmax of nothing but -inf"
#: how many numbers a tensor may have for relations to be tested
_MOST_NUMBERS = 1 << 18


def relation(got: Any, expected: Any, args: Sequence[Any] = ()) -> str:
    """Describe how a call's wrong value is related to the correct value, or return "".

    `args` are the call's arguments.
    """
    if not isinstance(expected, torch.Tensor):
        return _of_sequence(got, expected)
    if not isinstance(got, torch.Tensor):
        return of_kind(got)
    if not _is_plain(got) or not _is_plain(expected):
        return ""
    got, expected = got.detach(), expected.detach()
    if got.shape != expected.shape:
        return _of_shape(got, expected)
    if got.dtype != expected.dtype:
        return "the values are right, but their dtype is not" if _near(got, expected) else ""
    if expected.numel() == 0:
        return ""
    if not expected.dtype.is_floating_point:
        return _of_integers(got, expected)
    given = [arg.detach() for arg in args if isinstance(arg, torch.Tensor) and _is_plain(arg)]
    return next((text for text in _of_values(got, expected, given) if text), "")


def _is_plain(tensor: torch.Tensor) -> bool:
    """Return whether a tensor has numbers that can be compared, and not too many of them."""
    dense = tensor.layout == torch.strided and not tensor.is_quantized and not tensor.is_complex()
    return dense and tensor.device.type == "cpu" and tensor.numel() <= _MOST_NUMBERS


def _of_sequence(got: Any, expected: Any) -> str:
    """Describe which item in a tuple is wrong, or that the items are in the wrong order."""
    if not isinstance(expected, tuple | list) or not isinstance(got, tuple | list):
        return of_kind(got) if got is None else ""
    if len(got) != len(expected):
        return ""
    right = [_near(one, other) for one, other in zip(got, expected, strict=True)]
    if not any(right) and len(got) > 1 and all(any(_near(g, e) for g in got) for e in expected):
        return "the right tensors, in a different order"
    for index, fine in enumerate(right):
        if fine or not isinstance(expected[index], torch.Tensor):
            continue
        others = [n for n, item in enumerate(expected) if n != index and _near(got[index], item)]
        if others:
            return f"item {index} contains the value of item {others[0]}"
        text = relation(got[index], expected[index])
        return f"item {index}: {text}" if text else ""
    return ""


def _of_shape(got: torch.Tensor, expected: torch.Tensor) -> str:
    def without_ones(tensor: torch.Tensor) -> list[int]:
        return [size for size in tensor.shape if size != 1]

    is_turned = expected.dim() > 1 and got.shape == expected.mT.shape
    if is_turned and _near(got, expected.mT):
        return "rows and columns are swapped; otherwise the values are right"
    if got.numel() == expected.numel() and _near(got.flatten(), expected.flatten()):
        if without_ones(got) == without_ones(expected) and got.dim() != expected.dim():
            return "the values are right, but a dimension of size one was added or lost"
        return "the right numbers in the right order, in a different shape"
    if is_turned:
        return "the last two sizes are swapped"
    if got.dim() > expected.dim():
        return f"the result has {got.dim()} dimensions, {got.dim() - expected.dim()} too many"
    if got.dim() < expected.dim():
        return f"the result has {got.dim()} dimensions, {expected.dim() - got.dim()} too few"
    if text := _missing(got, expected):
        return text
    if got.dim() == 1:
        return f"the result has {len(got)} entries, but {len(expected)} are expected"
    sizes = zip(got.shape, expected.shape, strict=True)
    wrong = [index for index, (one, other) in enumerate(sizes) if one != other]
    if len(wrong) == 1:
        return f"the size of dimension {wrong[0]} is wrong; the others are right"
    return ""


def _missing(got: torch.Tensor, expected: torch.Tensor) -> str:
    """Describe a result that lacks the first or the last items along a dimension."""
    for dim, size in enumerate(got.shape):
        lost = expected.shape[dim] - size
        for start, which in ((lost, "first"), (0, "last")):
            if lost > 0 and size and _near(got, expected.narrow(dim, start, size)):
                items = "item is" if lost == 1 else f"{lost} items are"
                return f"the {which} {items} missing along dimension {dim}; the others are right"
    return ""


def _of_integers(got: torch.Tensor, expected: torch.Tensor) -> str:
    if expected.dtype == torch.bool and torch.equal(got, ~expected):
        return "True and False are swapped everywhere"
    if expected.dim() > 1 and got.shape == expected.mT.shape and torch.equal(got, expected.mT):
        return "rows and columns are swapped"
    if expected.dtype == torch.bool:
        return ""
    steps = (got - expected).flatten()
    if not bool((steps == steps[0]).all()):
        return ""
    return f"every value differs from the right one by {int(steps[0]):+d}"


def _of_values(
    got: torch.Tensor, expected: torch.Tensor, given: Sequence[torch.Tensor]
) -> Iterator[str]:
    yield _not_finite(got, expected)
    if not bool(got.isfinite().all()) or not bool(expected.isfinite().all()):
        return
    got, expected = got.double(), expected.double()
    yield _tiny(got, expected)
    if _near(got, expected):  # only small numbers differ, so other relations may hold by rounding
        yield _of_weights(got, expected, given)
        return
    yield _factor(got, expected)
    yield _rearranged(got, expected, given)
    yield _of_negative(got, expected)
    yield _of_some(got, expected)
    yield _elsewhere(got, expected)
    yield _of_weights(got, expected, given)
    yield _function(got, expected)


def nan_in(*tensors: torch.Tensor) -> str:
    """Say how many values are nan, and what can cause nan; return "" if no value is nan."""
    found = [tensor.detach().isnan().flatten() for tensor in tensors if _is_plain(tensor)]
    if not found or not bool((nan := torch.cat(found)).any()):
        return ""
    count = "every value is" if bool(nan.all()) else f"{int(nan.sum())} of {nan.numel()} values are"
    return f"{count} nan: look for {_NAN}"


def _not_finite(got: torch.Tensor, expected: torch.Tensor) -> str:
    if text := nan_in(got.masked_fill(expected.isnan(), 0.0)):
        return text
    if bool((got.isinf() & expected.isfinite()).any()):
        return "some values are infinite: look for large exponents, x/0, log 0, a mask's infinity"
    return ""


def _tiny(got: torch.Tensor, expected: torch.Tensor) -> str:
    size = float(expected.abs().max())
    off = (got - expected).abs()
    if size == 0 or not bool((off <= _NEARLY_RIGHT * expected.abs() + 1e-6 * size).all()):
        return ""
    return (
        "all values are within 0.3% of the right ones: look for a small constant, rounding or "
        "low precision"
    )


def _factor(got: torch.Tensor, expected: torch.Tensor) -> str:
    if bool((got == 0).all()):
        return "every value is 0"
    norm = float((expected**2).sum())
    factor = float((got * expected).sum()) / norm if norm else 0.0
    is_another = abs(factor) > 1e-6 and abs(factor - 1) > _NEAR
    if expected.numel() > 1 and is_another and _near(got, expected * factor):
        if abs(factor + 1) < _NEAR:
            return "every value has the opposite sign"
        return f"every value is the right one times {factor:.4g}"
    step = float((got - expected).mean())
    if expected.numel() > 2 and abs(step) > _NEAR and _near(got, expected + step):
        return f"every value is the right one plus {step:.4g}"
    if _elsewhere(got, expected):
        return ""  # `_elsewhere` has a better description of such misplaced rows
    if expected.dim() > 1 and expected.shape[-1] > 1 and _factors_of_rows(got, expected):
        return "every row is right up to a factor, which differs from row to row"
    return ""


def _factors_of_rows(got: torch.Tensor, expected: torch.Tensor) -> bool:
    """Return whether each row is a multiple of the expected row.

    Return False unless at least two rows contain several numbers other than zero.
    """
    if int(((expected.abs() > 1e-6).sum(-1) > 1).sum()) < 2:
        return False
    norms = (expected**2).sum(-1, keepdim=True)
    factors = (got * expected).sum(-1, keepdim=True) / norms.clamp(min=1e-30)
    return bool((factors.abs() > 1e-6).all()) and _near(got, expected * factors)


def _of_negative(got: torch.Tensor, expected: torch.Tensor) -> str:
    """Describe values that are wrong only where the correct values are negative."""
    if not bool((expected < -_NEAR * expected.abs().max()).any()):
        return ""
    if _near(got, expected.relu()):
        return "every negative value has become 0; the others are right"
    if _near(got, expected.abs()):
        return "every negative value has become positive; the absolute values are right"
    return ""


def _rearranged(got: torch.Tensor, expected: torch.Tensor, given: Sequence[torch.Tensor]) -> str:
    square = _is_square(expected) and expected.shape[-1] > 1
    if square and _near(got, expected.mT) and not any(map(_is_symmetric, given)):
        return "rows and columns are swapped"
    return ""


def _is_square(tensor: torch.Tensor) -> bool:
    return tensor.dim() > 1 and tensor.shape[-1] == tensor.shape[-2]


def _is_symmetric(tensor: torch.Tensor) -> bool:
    return _is_square(tensor) and torch.equal(tensor, tensor.mT)


def _elsewhere(got: torch.Tensor, expected: torch.Tensor) -> str:
    mine, right = (tensor.flatten().sort().values for tensor in (got, expected))
    if expected.numel() < 3 or not _near(mine, right) or bool((mine[right == 0] != 0).any()):
        return ""  # small numbers instead of zeros are not moved zeros
    return "the right numbers, in the wrong places"


def _of_some(got: torch.Tensor, expected: torch.Tensor) -> str:
    if expected.dim() < 2:
        return ""
    if expected.dim() > 2 and len(expected) > 1:
        if _is_first_only(got, expected, 0):
            return "only the first entry of dimension 0 is right"
        if all(_near(item, got[0]) for item in got) and not _near(expected[0], expected[1]):
            return "all entries along dimension 0 are the same"
    if expected.dim() == 4 and expected.shape[1] > 1 and _is_first_only(got, expected, 1):
        return "only the first entry of dimension 1 is right"
    if expected.shape[-2] > 2 and _is_first_only(got, expected, -2):
        return "only the first token is right"
    return ""


def _is_first_only(got: torch.Tensor, expected: torch.Tensor, dim: int) -> bool:
    """Return whether only the first slice along a dimension is right."""
    first, *others = zip(got.unbind(dim), expected.unbind(dim), strict=True)
    return _near(*first) and not any(_near(*other) for other in others)


def _of_weights(got: torch.Tensor, expected: torch.Tensor, given: Sequence[torch.Tensor]) -> str:
    """Describe an error in attention weights: rows with a wrong sum, or weight on the future."""
    sums = expected.sum(-1)
    if expected.shape[-1] < 2 or not bool((expected >= 0).all()):
        return ""
    if not _near(sums, torch.ones_like(sums)):
        return ""
    if _is_causal(expected, given) and bool((got.triu(1).abs() > 1e-6).any()):
        return "the future has weight: there are values above the diagonal that are not 0"
    rows = got.sum(-1)
    if _near(rows, torch.ones_like(rows)):
        return ""
    if got.dim() > 1 and _near(got.sum(-2), torch.ones_like(got.sum(-2))):
        return "the columns sum to 1, but the rows should"
    if _near(rows, torch.full_like(rows, float(rows.mean()))):
        return f"each row sums to {float(rows.mean()):.4g} instead of 1"
    if abs(float(got.sum()) - 1) < _NEAR:
        return "all values together sum to 1, but each row should"
    low, high = float(rows.min()), float(rows.max())
    return f"the sums of the rows range from {low:.4g} to {high:.4g}; each should be 1"


def _is_causal(expected: torch.Tensor, given: Sequence[torch.Tensor]) -> bool:
    """Return whether later tokens have no weight, and no argument already has this pattern."""
    if not _is_square(expected) or expected.shape[-1] < 3 or bool(expected.triu(1).any()):
        return False
    late = torch.ones_like(expected, dtype=torch.bool).triu(1)
    alike = [arg for arg in given if arg.shape == expected.shape]
    return not any(bool((arg[late] == arg[late][0]).all()) for arg in alike)


def _softmax(right: torch.Tensor) -> torch.Tensor:
    return right.softmax(-1)


_FUNCTIONS: tuple[tuple[str, Callable[[torch.Tensor], torch.Tensor]], ...] = (
    ("a softmax", _softmax),
    ("the logarithm", torch.log),
    ("the exponential", torch.exp),
)


def _function(got: torch.Tensor, expected: torch.Tensor) -> str:
    if expected.dim() == 0:
        return ""
    for words, function in _FUNCTIONS:
        if function is _softmax and expected.shape[-1] < 2:
            continue  # the softmax of a single number is 1, whatever the number is
        right = function(expected)
        if bool(right.isfinite().all()) and _near(got, right):
            return f"{words} of the right result is returned"
    return ""


def _near(one: Any, other: Any) -> bool:
    """Return whether two tensors have the same shape and numbers, up to rounding."""
    if not isinstance(one, torch.Tensor) or not isinstance(other, torch.Tensor):
        return False
    if one.shape != other.shape or not _is_plain(one) or not _is_plain(other):
        return False
    one, other = one.detach().double(), other.detach().double()
    finite = other[other.isfinite()]
    size = float(finite.abs().max()) if finite.numel() else 1.0
    bound = _NEAR * 0.1 * (size if math.isfinite(size) and size else 1.0)
    return bool(torch.isclose(one, other, atol=bound, rtol=_NEAR * 0.1, equal_nan=True).all())
