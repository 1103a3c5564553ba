"""Checks that an answer is consistent with itself, for public checks, which have no solution.

A batch must give the same results as its samples one by one, the layout in memory must not matter,
and gradients must agree with the effect of small steps in the inputs and in a layer's weights. In
both modes, a layer must compute the same results as a new layer with the same weights, and it must
work on a different device.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch.utils._pytree import tree_map, tree_map_only

from ..arguments import cotangent_of
from ..compare import difference
from ..expect import Expect
from ..layers import ExpectLayer
from .declaration import Traits
from .inputs import LEADING, InputPair, Sizes, Tensor, arguments_of, turned
from .slopes import (
    STEP,
    change_along,
    check_dtype,
    check_slope,
    dot,
    moved,
    no_step,
    step_of,
)

_BATCH = (
    "the samples of a batch are independent: each gives the result that it gives alone, and a "
    "batch of a single sample keeps its batch dimension"
)
_ANOTHER_LENGTH = (
    "a call must leave nothing behind that affects the next one, whose input may have a different "
    "length"
)
_LAYOUT = (
    "a tensor may be transposed or a slice of another one: `.view` needs contiguous memory, "
    "`.reshape` does not"
)
_DEVICE = (
    "`module.to(device)` moves parameters and registered buffers, but not plain tensor attributes; "
    "a tensor that is made in `forward` must be on the device of the input"
)
#: a function that calls the answer with these arguments
_Ask = Callable[[Sequence[Any]], Any]


def check_by_itself(expect: Expect, traits: Traits, *, moves: bool = True) -> None:
    """Run all checks of a question that are possible without a solution.

    With `moves`, also check that a layer works on a different device, which not all questions
    promise.
    """
    if traits.build is None:
        _check_function(expect, traits)
    else:
        layer, args = _check_class(expect, traits)
        if moves:
            layer.moves(*args, likely=_DEVICE)


def _check_function(expect: Expect, traits: Traits) -> None:
    question = traits.question

    def ask(args: Sequence[Any]) -> Any:
        return expect.result(question, *args)

    _check_batches(expect, traits, ask, expect.that)
    args = _arguments(expect, traits, (2,))
    value = ask(args)
    _check_layout(ask, args, value, expect.that)
    check_dtype(value, expect.that)
    after = traits.after or _as_it_is
    expect.numbers(after(value))
    seeds = cotangent_of(expect.draw, after(value))
    pulled = expect.pulled(question, *args, cotangent=_through(traits, value, seeds))
    judged = range(len(args)) if traits.judged is None else traits.judged
    steps = [
        tree_map(partial(step_of, expect.draw) if n in judged else no_step, arg)
        for n, arg in enumerate(args)
    ]
    slopes = [dot(after(ask(moved(args, steps, sign * STEP))), seeds) for sign in (1, -1)]
    check_slope(slopes, change_along(pulled.inputs, steps), expect.that)


def _check_class(expect: Expect, traits: Traits) -> tuple[ExpectLayer, list[Any]]:
    """Check a class on the usual device; return the layer and a call's arguments."""
    assert traits.build is not None
    arguments = arguments_of(traits.build, expect.draw, traits.usual(), traits.dtype)
    layer = expect.layer(traits.question, *arguments).eval().move(dtype=torch.float64)

    def ask(args: Sequence[Any]) -> Any:
        return layer.result(*args)

    _check_batches(expect, traits, ask, layer.that)
    _check_lengths(expect, traits, arguments, layer)
    args = _arguments(expect, traits, (2,))
    value = ask(args)
    _check_layout(ask, args, value, layer.that)
    check_dtype(value, layer.that)
    layer.numbers(value)
    seeds = cotangent_of(expect.draw, value)
    pulled = layer.answer.gradients(args, seeds)
    weights = layer.answer.weights()
    steps = [tree_map(partial(step_of, expect.draw), arg) for arg in args]
    turns = {name: step_of(expect.draw, weight) for name, weight in weights.items()}
    slopes = []
    for sign in (STEP, -STEP):
        layer.load({name: weight + sign * turns[name] for name, weight in weights.items()})
        slopes.append(dot(ask(moved(args, steps, sign)), seeds))
    names = list(weights)
    along = change_along([pulled.weights.get(n) for n in names], [turns[n] for n in names])
    check_slope(slopes, along + change_along(pulled.inputs, steps), layer.that)
    return layer, args


def _check_lengths(
    expect: Expect, traits: Traits, arguments: Sequence[Any], layer: ExpectLayer
) -> None:
    """Compare a layer with a new layer that has the same weights, on longer and shorter inputs.

    Longer inputs are compared in train mode, and shorter ones in eval mode.
    """
    fresh = expect.layer(traits.question, *arguments).eval().move(dtype=torch.float64)
    fresh.load(layer.answer.weights())
    usual = traits.usual((2,))
    letters = traits.call_letters()
    for change, training in ((2, True), (-1, False)):
        sizes = usual.but({x: usual.letters[x] + change for x in letters if x != "B"})
        args = arguments_of(traits.inputs, expect.draw, sizes, torch.float64)
        new = fresh.result(*args, likely=_ANOTHER_LENGTH)
        used = layer.train(training).result(*args, likely=_ANOTHER_LENGTH)
        mode = "train mode" if training else "eval mode"
        called = EqualResults(f"in {mode} after other calls", "as a new layer", _ANOTHER_LENGTH)
        called.check(used, new, layer.that)


def _check_layout(ask: _Ask, args: Sequence[Any], value: Any, that: Callable[..., None]) -> None:
    other = ask(tree_map_only(torch.Tensor, turned, list(args)))
    EqualResults("with transposed memory", "with memory in order", _LAYOUT).check(
        other, value, that
    )


def _through(traits: Traits, value: Any, seeds: Any) -> Any:
    """Convert a cotangent for the result of `after` into one for the value itself."""
    if traits.after is None:
        return seeds
    value = value.detach().requires_grad_()
    return torch.autograd.grad((traits.after(value) * seeds).sum(), value)[0]


def _arguments(expect: Expect, traits: Traits, leading: tuple[int, ...], **sizes: int) -> list[Any]:
    chosen = traits.usual(leading).but(sizes)
    return arguments_of(traits.inputs, expect.draw, chosen, torch.float64)


def _check_batches(expect: Expect, traits: Traits, ask: _Ask, that: Callable[..., None]) -> None:
    batched = traits.has_leading or "B" in traits.usual().letters
    leads = ((3,), (1,), (2, 3)) if traits.has_leading else ((3,), (1,))
    for leading in leads if batched else ():
        count = leading[0]
        sizes: Sizes = traits.usual(leading).but({"B": count})
        args = arguments_of(traits.inputs, expect.draw, sizes, torch.float64)
        together = ask(args)
        for index in range(count):
            alone = ask([_sample(item, arg, index) for item, arg in _pairs(traits, args)])
            got = _part(together, index, keep=not traits.has_leading)
            after = traits.after or _as_it_is
            EqualResults(f"sample {index} alone", "in the batch", _BATCH).check(
                after(alone), after(got), that
            )


def _as_it_is(value: Any) -> Any:
    return value


def _pairs(traits: Traits, args: Sequence[Any]) -> list[tuple[Any, Any]]:
    return list(zip(traits.inputs, args, strict=True))


def _sample(item: Any, arg: Any, index: int) -> Any:
    if isinstance(item, InputPair):
        return tuple(
            _sample(*each, index) for each in zip((item.first, item.second), arg, strict=True)
        )
    shape = item.shape.split() if isinstance(item, Tensor) else []
    if shape[:1] == [LEADING]:
        return arg[index]
    return arg[index : index + 1] if shape[:1] == ["B"] else arg


def _part(value: Any, index: int, keep: bool) -> Any:
    if isinstance(value, tuple | list):
        return tuple(_part(item, index, keep) for item in value)  # may be of a class of its own
    if not isinstance(value, torch.Tensor) or index >= len(value):
        return value
    return value[index : index + 1] if keep else value[index]


_SIDE = re.compile(r"^(got|expected) +|\b(got|expected)\b(?= )", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class EqualResults:
    """The names of two results that should be equal, and the likely cause if they are not."""

    one: str
    other: str
    likely: str

    def check(self, one: Any, other: Any, that: Callable[..., None]) -> None:
        """Assert, using `that`, that both results are equal within the default tolerance.

        Two nan values in the same place count as equal, because another test reports nan.
        """
        text = difference(*_without_nan(one, other))
        that(
            text is None,
            got=f"different results, {self.one} and {self.other}:\n{self._named(text or '')}",
            expected=f"the same result, {self.one} and {self.other}",
            likely=self.likely,
        )

    def _named(self, text: str) -> str:
        width = max(len(self.one), len(self.other)) + 2

        def name(found: re.Match[str]) -> str:
            side = self.one if "got" in found[0] else self.other
            return side.ljust(width) if found[1] else side

        return _SIDE.sub(name, text)


def _without_nan(one: Any, other: Any) -> tuple[Any, Any]:
    """Replace nan with 0 in places where both values have it."""
    if isinstance(one, tuple | list) and isinstance(other, tuple | list) and len(one) == len(other):
        pairs = [_without_nan(*pair) for pair in zip(one, other, strict=True)]
        return tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs)
    if not isinstance(one, torch.Tensor) or not isinstance(other, torch.Tensor):
        return one, other
    if one.shape != other.shape or one.is_meta or other.is_meta:
        return one, other
    both = one.isnan() & other.isnan()
    return one.masked_fill(both, 0), other.masked_fill(both, 0)
