"""The generated tests of classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from ..compare import FLOAT32, difference
from ..expect import Expect
from ..implementation import Step
from ..layers import ExpectLayer
from .asked import MOST_WITH_GRADIENTS, Asked
from .declaration import CALLS, GRADIENTS, LAYOUT, SIZE, Traits
from .inputs import Input, Sizes, Tensor, arguments_of
from .layouts import LAYOUTS, Layout, contiguous, expanded, turned, with_holes, with_zeros
from .numbers import as_drawn, both, falling, level, of_turn, rising, small

#: a rate of dropout with which a call in train mode can't be taken for one in eval mode
_RATE = 0.5
#: by how much inputs are larger, and weights smaller, once
_LARGE = 16
#: as many samples as tokens
_ALIKE = 4
_MODES = (
    "without dropout a layer computes the same in train mode and in eval mode, in every call, "
    "whatever mode it was in before"
)
_EVAL = "in eval mode nothing is dropped, also after a call in train mode"
_TRAIN = "dropout works in train mode, also after a call in eval mode"
_WEIGHTS = (
    "the weights of this very moment count: training changes them, and what was computed from "
    "them in an earlier call, or when the layer was built, is out of date"
)
_RESTORED = (
    "a new layer with the `state_dict()` of this one computes what this one does: all that a layer "
    "knows is in its parameters, buffers and arguments"
)
_DATA = (
    "weights learn from inputs that want no gradient themselves, as data does: whether there is "
    "one to them does not hang on `x.requires_grad`"
)
_HELD = (
    "a result belongs to the caller: a later call leaves it as it is, whatever the two calls "
    "share; and a tensor that comes again may hold other numbers: nothing is kept by the object"
)
_BACKWARD = (
    "with dropout the layer has to learn, too: an operation in place (`weights *= ...`, a name "
    "that ends in `_`) overwrites what the backward pass needs"
)


def _built(expect: Expect, traits: Traits, sizes: Sizes) -> ExpectLayer:
    assert traits.build is not None
    arguments = arguments_of(traits.build, expect.draw, sizes, traits.dtype)
    layer = expect.layer(traits.question, *arguments)
    _refill(expect, traits, layer)
    if traits.dtype != torch.float32:
        layer.move(dtype=traits.dtype)
    return layer


def _refill(expect: Expect, traits: Traits, layer: ExpectLayer) -> None:
    layer.fill(lambda name, shape: traits.weights(expect.draw, name, shape))


def _arguments(
    expect: Expect,
    traits: Traits,
    sizes: Sizes,
    dtype: torch.dtype | None = None,
    layout: Layout = contiguous,
) -> list[Any]:
    return arguments_of(traits.inputs, expect.draw, sizes, dtype or traits.dtype, [layout])


def any_layout(expect: Expect, traits: Traits, likely: str) -> None:
    """The inputs in every layout."""
    sizes = traits.usual((2, 3))
    layer = _built(expect, traits, sizes)
    alike = traits.usual((_ALIKE,)).but(dict.fromkeys(traits.call_letters(), _ALIKE))
    for layout, numbers in zip(LAYOUTS, (*map(of_turn, range(3)), level), strict=True):
        now = alike if numbers is as_drawn else sizes
        arguments = _arguments(expect, traits, now, layout=both(numbers, layout))
        layer.same(*arguments, likely=likely)


def any_size(expect: Expect, traits: Traits, likely: str) -> None:
    """Every size once 1 and once large: those that the class is built with, those of a call."""

    def asked(built_with: Sizes, calls: Sequence[Sizes], index: int) -> None:
        layer = _built(expect, traits, built_with).train(index % 2 == 0)
        for turn, sizes in enumerate(calls):
            numbers = of_turn(turn * (1 + index % 2))  # ordinary ones first
            layer.same(*_arguments(expect, traits, sizes, layout=numbers), likely=likely)

    usual, chosen = traits.usual(), Asked(traits, expect.draw)
    letters, built = traits.call_letters(), traits.built_letters()
    builds = [usual.but(extreme) for extreme in chosen.extremes(built)] if built else [usual]
    for index, built_with in enumerate(builds):
        calls = chosen.varied(letters, built_with)
        asked(built_with, calls[index % len(calls) :: len(builds)], index)
    # plain loops take the longest call where all else is one
    small = usual.but(dict.fromkeys(built, 1))
    longest = chosen.varied(letters, small, chosen.one_large)[: len(chosen.extremes(letters))]
    asked(small, longest, len(builds))
    sizes = chosen.middling()
    layer = _built(expect, traits, sizes).eval()
    for given in traits.each_way():
        layer.same(*_arguments(expect, given, sizes, layout=_turned_with_zeros), likely=likely)


def call_after_call(expect: Expect, traits: Traits, likely: str) -> None:
    """Calls in both modes in turn, other weights after a call, and a restored layer."""
    # where nothing else may change from call to call, leading dimensions do
    sizes = traits.usual(() if traits.call_letters() else (2, 1))
    layer = _built(expect, traits, sizes)
    restored = layer.restored(likely=_RESTORED)

    def inputs() -> list[Any]:
        return _arguments(expect, traits, sizes)

    first = inputs()
    second = inputs()
    layer.eval()
    for kept in range(len(first), -1, -1):
        layer.same(*first[:kept], *second[kept:], likely=likely)
    third = _arguments(expect, traits, sizes, layout=both(falling, small))
    longer = Asked(traits, expect.draw).other(sizes)
    others = _arguments(expect, traits, longer, layout=rising)
    calls = [Step(tuple(args)) for args in (others, second, third)]
    layer.steps(*calls, likely=_HELD)
    for given in traits.each_way()[1:]:
        again = [_arguments(expect, given, sizes, layout=numbers) for numbers in (small, falling)]
        layer.steps(*(Step(tuple(args)) for args in again), likely=_HELD)
    for mode in (True, False):
        layer.train(mode).same(*inputs(), likely=_MODES)
        layer.same(*inputs(), likely=_MODES)
    _refill(expect, traits, layer)
    layer.same(*first, likely=_WEIGHTS)
    layer.train().same(*first, likely=_WEIGHTS)
    alike = sizes.but(dict.fromkeys(traits.call_letters(), _ALIKE))
    layer.gradients(*_arguments(expect, traits, alike), likely=_MODES)
    restored.eval().same(*first, likely=_RESTORED)
    restored.train().same(*first, likely=_RESTORED)
    restored.gradients(*first, likely=_RESTORED, frozen=range(len(first)))
    if traits.has_rate:
        _with_dropout(expect, traits)


def _with_dropout(expect: Expect, traits: Traits) -> None:
    sizes = traits.usual(rate=_RATE)
    layer = _built(expect, traits, sizes)
    first = _arguments(expect, traits, sizes)
    layer.train().result(*first, likely=_EVAL)
    right = layer.eval().same(*first, likely=_EVAL)
    middle = Asked(traits, expect.draw).middling()
    long = sizes.but({x: middle.letters[x] for x in traits.call_letters()})
    for now, numbers in ((long, rising), (sizes.but({"B": 1}), falling)):
        args = _arguments(expect, traits, now, layout=numbers)
        _drops(layer, args, layer.eval().same(*args, likely=_EVAL))
    _drops(layer, first, right)


def _drops(layer: ExpectLayer, args: list[Any], right: Any) -> None:
    got = layer.train().result(*args, likely=_TRAIN)
    layer.that(
        difference(got, right) is not None,
        got="the output of eval mode, though the layer is in train mode again",
        expected=f"another one: with a rate of {_RATE} what is kept is doubled",
        likely=_TRAIN,
    )


def gradients(expect: Expect, traits: Traits, likely: str) -> None:
    """To inputs and weights, in both modes and dtypes; with dropout, that there are any."""
    _middling_gradients(expect, traits, likely)
    asked = Asked(traits, expect.draw)
    sizes = traits.usual(asked.leads.five())
    layer = _built(expect, traits, sizes).move(dtype=torch.float64).train()
    inputs = _arguments(expect, traits, sizes, torch.float64, turned)
    layer.gradients(*inputs, likely=likely)
    places = range(len(inputs))
    letters = traits.call_letters()
    extremes = asked.extremes(letters) if letters else [{}]
    given = traits.each_way()[0]
    for turn, kept in enumerate((-1, *places)):  # training itself first: data wants none
        frozen = [place for place in places if place != kept]
        extreme = asked.extreme(
            sizes, extremes[turn % len(extremes)], asked.leads.few(turn), MOST_WITH_GRADIENTS
        )
        layer.train(turn % 2 == 0)
        args = _arguments(expect, given, extreme, torch.float64, of_turn(turn + 1))
        layer.gradients(*args, likely=_DATA, frozen=frozen)
    if traits.has_rate:
        rated = traits.usual((2,), _RATE)
        dropping = _built(expect, traits, rated).move(dtype=torch.float64)
        dropping.eval().gradients(*inputs, likely=_EVAL)
        dropping.train().trains(*inputs, likely=_BACKWARD)
    layer.fill(lambda name, shape: traits.weights(expect.draw, name, shape) / _LARGE)
    large = [_enlarged(item, arg) for item, arg in zip(traits.inputs, inputs, strict=True)]
    layer.eval().gradients(*large, likely=likely)


def _middling_gradients(expect: Expect, traits: Traits, likely: str) -> None:
    asked = Asked(traits, expect.draw)
    sizes = asked.middling(MOST_WITH_GRADIENTS)
    # float64 first: a table that is a buffer loses digits in float32, for good
    layer = _built(expect, traits, sizes).move(dtype=torch.float64).eval()
    one = sizes.but({x: 1 for x in ("B",) if x in sizes.letters}, (1,))
    long, many = asked.all_large(one), asked.many_of(sizes)
    for given in traits.each_way():
        args = _arguments(expect, given, long, torch.float64, turned)
        layer.gradients(*args, likely=likely)
    layer.move(dtype=traits.dtype).train()
    # no row of zeros, whose norm float32 rounds
    holed = _arguments(expect, traits, sizes, layout=both(with_holes, turned))
    layer.gradients(*holed, likely=likely)
    layer.eval()
    for given in traits.each_way():
        layer.gradients(*_arguments(expect, given, many, layout=expanded), likely=likely)
    few = sizes.but({x: min(2, sizes.letters[x]) for x in traits.call_letters()}, (1,))
    # gradients that rounding decides on, as of a ReLU near 0, are not judged
    for dtype in (torch.float32, torch.float64):
        layer.move(dtype=dtype).train()
        args = _arguments(expect, traits, few, dtype)
        layer.trains(*args, likely=likely, tolerance=FLOAT32)


def _turned_with_zeros(tensor: torch.Tensor) -> torch.Tensor:
    return turned(with_zeros(tensor))


def _enlarged(item: Input, arg: Any) -> Any:
    """Large numbers and zeros, not contiguous: small weights make them moderate."""
    return turned(with_zeros(arg) * _LARGE) if isinstance(item, Tensor) else arg


LAYER_TESTS: Mapping[str, Callable[[Expect, Traits, str], None]] = {
    LAYOUT: any_layout,
    SIZE: any_size,
    CALLS: call_after_call,
    GRADIENTS: gradients,
}
