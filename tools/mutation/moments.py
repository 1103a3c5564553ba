"""Defines defects that occur only in calls for which a condition is true."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from .call import Call, Condition, Defect, each, wrong

_MIDDLE = range(12, 61)


def _sizes(call: Call) -> list[int]:
    return [size for tensor in call.tensors for size in tensor.shape]


def _numbers(call: Call) -> list[torch.Tensor]:
    return [t.detach() for t in call.tensors if t.is_floating_point() and t.numel()]


def _two_large(call: Call) -> bool:
    """Returns whether every tensor has a size above 16, and the call has several such sizes."""
    return all(max((1, *t.shape)) > 16 for t in call.tensors) and len(set(_far(call))) > 1


def _far(call: Call) -> list[tuple[int, int]]:
    """Returns a tensor's number, and a dimension counted from the end, for each size above 16."""
    return [
        (place, dim)
        for place, tensor in enumerate(call.tensors)
        for dim, size in enumerate(tensor.shape[::-1])
        if size > 16
    ]


def _wants_gradient(call: Call) -> bool:
    return any(tensor.requires_grad for tensor in call.tensors)


def _some_frozen(call: Call) -> bool:
    """Returns whether gradients are requested, but not with respect to the first argument."""
    floating = [t for t in call.tensors if t.is_floating_point()]
    frozen = bool(floating) and not floating[0].requires_grad
    others = any(tensor.requires_grad for tensor in floating)
    return frozen and (others or call.layer is not None and torch.is_grad_enabled())


def _last_frozen(call: Call) -> bool:
    floating = [t for t in call.tensors if t.is_floating_point()]
    return bool(floating) and floating[0].requires_grad and not floating[-1].requires_grad


def _once(condition: Condition) -> Condition:
    """Returns a condition that is true if the given condition was true in an earlier call."""

    def since(call: Call) -> bool:
        seen = call.kept.get(since, False)
        call.kept[since] = seen or condition(call)
        return bool(seen)

    return since


def _follows(one: Condition, other: Condition) -> Condition:
    """Returns a condition that is true if `other` is true and `one` was true in an earlier call."""
    seen = _once(one)
    return lambda call: seen(call) and other(call)


def _nth(number: int) -> Condition:
    def late(call: Call) -> bool:
        call.kept[late] = call.kept.get(late, 0) + 1
        return bool(call.kept[late] > number)

    return late


def _grown(call: Call) -> bool:
    """Returns whether a size of the first argument was smaller in an earlier call."""
    return _compared(call, _grown, min)


def _shrunk(call: Call) -> bool:
    """Returns whether a size of the first argument was larger in an earlier call."""
    return _compared(call, _shrunk, max)


def _compared(call: Call, name: Condition, bound: Callable[[int, int], int]) -> bool:
    now = tuple(call.tensors[0].shape)
    before = call.kept.get(name, now)
    if len(before) != len(now):
        return False
    call.kept[name] = tuple(map(bound, before, now))
    return bool(call.kept[name] != now)


def _same_tensor(call: Call) -> bool:
    return len({id(tensor) for tensor in call.tensors}) < len(call.tensors)


#: conditions on a call, each with the facts about a question on which it depends; see `facts`
CONDITIONS: Mapping[str, tuple[str, Condition]] = {
    "where two sizes are large": ("tensors", _two_large),
    "above 1000 numbers": ("tensors", lambda c: any(t.numel() > 1000 for t in c.tensors)),
    "for sizes from 12 to 60": ("tensors", lambda c: any(s in _MIDDLE for s in _sizes(c))),
    "from the fifth sample on": (
        "floating batch",
        lambda c: any(t.dim() > 1 and t.shape[0] > 4 for t in c.tensors[:1]),
    ),
    "in float32": ("floating", lambda c: not c.double),
    "in float64": ("floating", lambda c: c.double),
    "in float64 of four dimensions": (
        "leading",
        lambda c: c.double and any(t.dim() > 3 for t in c.tensors),
    ),
    "in float64 where not contiguous": (
        "floating",
        lambda c: c.double and not all(t.is_contiguous() for t in c.tensors),
    ),
    "in float32 where a gradient is wanted": (
        "floating",
        lambda c: not c.double and _wants_gradient(c),
    ),
    "where a gradient is wanted": ("floating", _wants_gradient),
    "where a gradient is wanted, not to the first": ("several", _some_frozen),
    "where no gradient is wanted to inputs": ("layer", _some_frozen),
    "where a gradient is wanted, not to the last": ("several", _last_frozen),
    "for numbers above 8": ("floating", lambda c: any(bool((n > 8).any()) for n in _numbers(c))),
    "for numbers below -8": ("floating", lambda c: any(bool((n < -8).any()) for n in _numbers(c))),
    "for a zero": ("floating", lambda c: any(bool((n == 0).any()) for n in _numbers(c))),
    "after a gradient": ("floating", _once(_wants_gradient)),
    "in float32 after float64": ("floating", _follows(lambda c: c.double, lambda c: not c.double)),
    "in float64 after float32": ("floating", _follows(lambda c: not c.double, lambda c: c.double)),
    "after a smaller call": ("tensors", _grown),
    "after a larger call": ("tensors", _shrunk),
    "after six calls": ("", _nth(6)),
    "for one tensor in two places": ("alike", _same_tensor),
    "in train mode after eval mode": (
        "layer",
        _follows(lambda c: not c.training, lambda c: c.training),
    ),
    "in eval mode after train mode": (
        "layer",
        _follows(lambda c: c.training, lambda c: not c.training),
    ),
    "in a restored layer": ("layer", lambda c: "restored" in c.kept),
    "in a restored layer in train mode": (
        "layer",
        lambda c: "restored" in c.kept and c.training,
    ),
}


def _wrong_where(condition: Condition) -> Defect:
    return lambda call: wrong(call.right()) if condition(call) else call.right()


def _cut_where(condition: Condition) -> Defect:
    def defect(call: Call) -> Any:
        value = call.right()
        return each(value, torch.Tensor.detach) if condition(call) else value

    return defect


#: defects with the facts on which they depend, as in `defects.DEFECTS`
MOMENTS: Mapping[str, tuple[str, Defect]] = {
    **{f"wrong {name}": (needs, _wrong_where(when)) for name, (needs, when) in CONDITIONS.items()},
    **{
        f"detached {name}": (f"floating differentiable {needs}", _cut_where(when))
        for name, (needs, when) in CONDITIONS.items()
    },
}
