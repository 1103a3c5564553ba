"""Defines the generated tests for classes: layouts, sizes, repeated calls and gradients."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any

import torch

from ...worker.execution import COPY, DATA, REPLACE, STATE
from ..compare import FLOAT32, is_apart
from ..expect import Expect
from ..implementation import GradientOptions, Step
from ..layers import ExpectLayer
from .declaration import CALLS, GRADIENTS, LAYOUT, SIZE, Root, Traits, arguments, built, refill
from .inputs import (
    LAYOUTS,
    Input,
    Sizes,
    Tensor,
    as_drawn,
    both,
    expanded,
    falling,
    heads,
    level,
    negative,
    of_turn,
    rising,
    small,
    turned,
    with_holes,
    with_zeros,
)
from .size_cells import ONE_LARGE, WITH_GRADIENTS, CallSizes

#: in one of the calls, inputs are larger and weights smaller by this factor
_LARGE = 16
#: leading dimensions for few samples
_FEW = (2,)
#: the number of samples, and also of tokens, if both should be equal
_ALIKE = 4
_MODES = (
    "without dropout a layer gives the same result in train and in eval mode, in every call, "
    "whatever its mode was before, and also under `torch.no_grad()`"
)
_WEIGHTS = (
    "the current weights count: training changes them, so anything that was computed from them in "
    "an earlier call, or when the layer was built, is out of date"
)
_OTHER_WEIGHTS = (
    "weights also change through `.data`, by `load_state_dict`, and when a new parameter "
    "replaces one: read them from the layers in each forward pass, and keep no weight or copy of "
    "a weight"
)
_NO_MORE_WEIGHTS = (
    "a layer creates all its parameters in its constructor: an optimizer that was created before "
    "the first call does not know parameters that are created later"
)
_STILL = (
    "some weights may be frozen (`requires_grad = False`): all others, and the inputs, still get "
    "their usual gradients"
)
_RESULTS = (
    "an input may be the output of an earlier layer, and the incoming gradient may have any size "
    "and any memory layout: do not detach the input or clip the gradient"
)
_BACKWARD = (
    "`backward()` leaves the gradients in `.grad`, however small they are: no hook changes them, "
    "and no weight changes before the optimizer's step"
)
_RESTORED = (
    "a new layer with the `state_dict()` of this one computes the same results: everything that a "
    "layer knows is in its parameters, buffers and arguments"
)
_DOUBLE = (
    "after `.double()`, a layer computes in float64, whatever it computed in float32 before: keep "
    "no numbers of an earlier dtype"
)
_DATA = (
    "weights learn even from inputs that require no gradient, such as data: do not let this "
    "depend on `x.requires_grad`"
)
_HELD = (
    "a result belongs to the caller: a later call must not change it, and changing it in place "
    "must not affect a later call; the same tensor may be passed again with other numbers, so "
    "do not cache results by the identity of a tensor"
)


def any_layout(expect: Expect, traits: Traits, likely: str) -> None:
    """Test inputs in every memory layout."""
    sizes = traits.usual((2, 3))
    layer = built(expect, traits, sizes)
    alike = traits.usual((_ALIKE,)).but(dict.fromkeys(traits.call_letters(), _ALIKE))
    for layout, numbers in zip(LAYOUTS, (*map(of_turn, range(3)), level, small), strict=True):
        now = alike if numbers is as_drawn else sizes
        args = arguments(expect, traits, now, layout=both(numbers, layout))
        layer.same(*args, likely=likely)


def any_size(expect: Expect, traits: Traits, likely: str) -> None:
    """Test every size in the constructor and in calls, once as 1 and once as a large number."""
    chosen = CallSizes(traits, expect.draw)
    plan = _builds_and_calls(traits, chosen)
    # build all layers before the first call, because building a layer must not change the others
    layers = [built(expect, traits, built_with) for built_with, _ in plan]
    sizes = chosen.middling()
    middle = built(expect, traits, sizes)
    for index, (layer, (_, calls)) in enumerate(zip(layers, plan, strict=True)):
        layer.train(index % 2 == 0)
        # ordinary numbers in the largest call: an error in one neuron shows only with many tokens
        for turn, now in enumerate(sorted(calls, key=_entries, reverse=True)):
            numbers = of_turn(turn * (1 + index % 2))
            layer.same(*arguments(expect, traits, now, layout=numbers), likely=likely)
    if traits.root is not None:
        _check_root(expect, traits, traits.root, chosen.rooted(traits.root))
    middle.eval()
    for given in traits.each_way():
        middle.same(*arguments(expect, given, sizes, layout=_turned_with_zeros), likely=likely)
    if traits.dtype == torch.float32:
        middle.move(dtype=torch.float64)
        middle.same(*arguments(expect, given, sizes, torch.float64), likely=_DOUBLE)


def _check_root(expect: Expect, traits: Traits, root: Root, sizes: Sizes) -> None:
    """Test a layer in which the size under a square root is near its largest value."""
    make = root.weights(expect.draw, sizes.letters[root.letter])
    declared = replace(traits, weights=lambda draw, name, shape: make(name, shape))
    layer = built(expect, declared, sizes)
    layer.move(dtype=torch.float64)
    given = traits.each_way()[-1]
    args = arguments(expect, given, sizes, torch.float64)
    tokens = [
        root.tokens(expect.draw, *arg.shape) if isinstance(item, Tensor) else arg
        for item, arg in zip(given.inputs, args, strict=True)
    ]
    layer.eval().same(*tokens, likely=root.likely)


def _entries(sizes: Sizes) -> int:
    """Return the product of a call's sizes, by which a layer's calls can be sorted."""
    return math.prod([*sizes.leading, *sizes.letters.values()])


def _builds_and_calls(traits: Traits, chosen: CallSizes) -> list[tuple[Sizes, list[Sizes]]]:
    """Return the sizes with which layers are built, each with the sizes of the layer's calls."""
    usual, letters, fixed = traits.usual(), traits.call_letters(), traits.built_letters()
    builds = [usual.but(extreme) for extreme in chosen.extremes(fixed)] if fixed else [usual]
    plan = []
    for index, built_with in enumerate(builds):
        calls = chosen.varied(letters, built_with)[index :: len(builds)]
        # with only one token, heads have no choice, so add a call with more
        plan.append((built_with, [*calls, chosen.extreme(built_with, {}, _FEW)]))
    # plain loops are fast enough for the longest call if all sizes over which they run are 1; other
    # sizes stay as usual, because a norm over a single entry does not depend on the entry
    small = usual.but({x: 1 for x in fixed if x in traits.looped()})
    longest = chosen.varied(letters, small, ONE_LARGE)[: len(letters) or 1]
    plan += [(sizes, [sizes]) for sizes in chosen.heads_after_blocks(small)]
    return [*plan, (small, [*longest, *chosen.between(small), *chosen.after_blocks(small)])]


def call_after_call(expect: Expect, traits: Traits, likely: str) -> None:
    """Test calls in alternating modes, calls after the weights change, and a restored layer."""
    # use leading dimensions if nothing else may change from call to call
    sizes = traits.usual(() if traits.call_letters() else (2, 1))
    layer = built(expect, traits, sizes)
    # build these layers before the calls without dropout, because each layer must keep its own rate
    rates = (RATE, float(expect.draw.uniform(low=_LEAST_RATE, high=_SLIGHT_RATE)))
    dropping = [built(expect, traits, traits.usual(rate=p)) for p in rates if traits.has_rate]
    restored = layer.restored(likely=_RESTORED)

    def inputs() -> list[Any]:
        return arguments(expect, traits, sizes)

    first = inputs()
    second = inputs()
    weights = layer.weight_names()
    layer.eval()
    for kept in range(len(first), -1, -1):
        layer.same(*first[:kept], *second[kept:], likely=likely)
    third = arguments(expect, traits, sizes, layout=both(falling, small))
    longer = CallSizes(traits, expect.draw).other(sizes)
    others = arguments(expect, traits, longer, layout=rising)
    calls = [Step(tuple(args)) for args in (others, second, second, third, second)]
    layer.steps(*calls, likely=_HELD)
    for given in traits.each_way()[1:]:
        again = [arguments(expect, given, sizes, layout=numbers) for numbers in (small, falling)]
        small_step, falling_step = (Step(tuple(args)) for args in again)
        layer.steps(small_step, small_step, falling_step, likely=_HELD)
    for mode in (False, True):
        layer.train(mode).same(*inputs(), likely=_MODES)
    deep = sizes.but({}, CallSizes(traits, expect.draw).leads.other_five())
    args = arguments(expect, traits.each_way()[0], deep, layout=heads)
    layer.same(*args, likely=_MODES, no_grad=True)
    # a layer must notice new weights even if `train(...)` is not called
    for way in (COPY, DATA, STATE, REPLACE):
        refill(expect, traits, layer, way)
        likely = _WEIGHTS if way == COPY else _OTHER_WEIGHTS
        layer.same(*first, likely=likely)
        if way != STATE:  # STATE changes weights in place, as COPY does
            layer.train(way == DATA).same(*first, likely=likely)
    alike = sizes.but(dict.fromkeys(traits.call_letters(), _ALIKE))
    # a layer may also be trained in eval mode, and with inputs that are data
    args = arguments(expect, traits, alike)
    layer.eval().gradients(
        *args, likely=_DATA, options=GradientOptions(frozen=tuple(range(len(args))))
    )
    # these are the new layer's first calls, which must not create a parameter
    restored.eval().steps(Step(tuple(first)), likely=_RESTORED)
    restored.train().steps(Step(tuple(first)), likely=_RESTORED)
    restored.gradients(
        *first, likely=_RESTORED, options=GradientOptions(frozen=tuple(range(len(first))))
    )
    layer.has_weights(weights, likely=_NO_MORE_WEIGHTS)
    if dropping:
        check_dropping(expect, traits, *dropping)


def gradients(expect: Expect, traits: Traits, likely: str) -> None:
    """Test gradients with respect to inputs and weights, in both modes and dtypes."""
    _middling_gradients(expect, traits, likely)
    asked = CallSizes(traits, expect.draw)
    sizes = traits.usual(asked.leads.five())
    layer = built(expect, traits, sizes).move(dtype=torch.float64).train()
    inputs = arguments(expect, traits, sizes, torch.float64, turned)
    layer.gradients(*inputs, likely=likely)
    places = range(len(inputs))
    letters = traits.call_letters()
    extremes = asked.extremes(letters) if letters else [{}]
    given = traits.each_way()[0]
    for turn, kept in enumerate((-1, *places)):  # all frozen first, as data is in training
        extreme = asked.extreme(
            sizes, extremes[turn % len(extremes)], asked.leads.few(turn), WITH_GRADIENTS
        )
        # instead of all but the first input, freeze none: with one token, its gradient may be zero
        frozen = tuple(place for place in places if place != kept and kept != 0)
        layer.train(turn % 2 == 0)
        args = arguments(expect, given, extreme, torch.float64, of_turn(turn + 1))
        layer.gradients(*args, likely=_DATA, options=GradientOptions(frozen))
    _gradients_in_other_ways(expect, traits, layer)
    if traits.has_rate:
        rated = built(expect, traits, traits.usual((2,), RATE)).move(dtype=torch.float64)
        rated.eval().gradients(*inputs, likely=EVAL)
    _gradients_of_one_head(expect, traits, sizes, likely)


def _gradients_in_other_ways(expect: Expect, traits: Traits, layer: ExpectLayer) -> None:
    """Test gradients with frozen weights, with computed inputs, and with `backward()`."""
    sizes = traits.usual((2, 3))
    together = _frozen_together(layer.reference.weights())
    mixed = [together[place] for place in expect.draw.permutation(len(together))]
    half = (len(mixed) + 1) // 2
    ways = (
        (_STILL, GradientOptions(still=tuple(chain(*mixed)))),
        (_STILL, GradientOptions(still=tuple(chain(*mixed[:half])))),
        (_STILL, GradientOptions(still=tuple(chain(*mixed[half:])))),
        (_RESULTS, GradientOptions(results=True, backward=True, size=1e5, turned=True)),
        (_BACKWARD, GradientOptions(backward=True, size=1e-9)),
    )
    given = traits.each_way()[0]
    for turn, (likely, options) in enumerate(ways):
        args = arguments(expect, given, sizes, torch.float64)
        layer.train(turn % 2 == 1).gradients(*args, likely=likely, options=options)


def _frozen_together(names: Iterable[str]) -> list[list[str]]:
    """Return groups of weights to freeze together: a single weight, or all weights in a submodule.

    Training often freezes a whole submodule, and gradients must still pass through it.
    """
    groups: dict[str, list[str]] = {}
    for name in names:
        submodule = name.rsplit(".", 2)[0] if name.count(".") > 1 else name
        groups.setdefault(submodule, []).append(name)
    return list(groups.values())


def _gradients_of_one_head(expect: Expect, traits: Traits, sizes: Sizes, likely: str) -> None:
    """Test gradients for large inputs and small weights, with a single head (per group, if any).

    If there are several inputs, only the first needs a gradient; the others are data, such as past
    tokens.
    """
    alone = sizes.but({x: 1 for x in ("H", "R") if x in traits.built_letters()})
    small = replace(
        traits, weights=lambda draw, name, shape: traits.weights(draw, name, shape) / _LARGE
    )
    layer = built(expect, small, alone).move(dtype=torch.float64)
    given = traits.each_way()[0]
    inputs = arguments(expect, given, alone, torch.float64, turned)
    large = [_enlarged(item, arg) for item, arg in zip(given.inputs, inputs, strict=True)]
    layer.eval().gradients(
        *large, likely=likely, options=GradientOptions(tuple(range(1, len(large))))
    )


def _middling_gradients(expect: Expect, traits: Traits, likely: str) -> None:
    asked = CallSizes(traits, expect.draw)
    sizes = traits.with_exact_root(asked.middling(WITH_GRADIENTS))
    # use float64 first, because moving to float32 permanently removes digits from a buffer
    layer = built(expect, traits, sizes).move(dtype=torch.float64).eval()
    one = sizes.but({x: 1 for x in ("B",) if x in sizes.letters}, (1,))
    long, many = asked.all_large(one), asked.many_of(sizes)
    ways = traits.each_way()
    for turn, given in enumerate(ways):
        args = arguments(expect, given, long, torch.float64, turned)
        layer.train(turn < len(ways) - 1).gradients(*args, likely=likely)
    layer.move(dtype=traits.dtype).train()
    # use no row of zeros, because float32 would round its norm
    holed = arguments(expect, traits, sizes, layout=both(with_holes, turned))
    layer.gradients(*holed, likely=likely)
    layer.eval()
    for given in traits.each_way():
        layer.gradients(*arguments(expect, given, many, layout=expanded), likely=likely)
    few = sizes.but({x: min(2, sizes.letters[x]) for x in traits.call_letters()}, (1,))
    # compare loosely, because gradients may depend on rounding, for example for a ReLU near 0
    for dtype in (torch.float32, torch.float64):
        layer.move(dtype=dtype).train()
        args = arguments(expect, traits, few, dtype)
        layer.trains(*args, likely=likely, tolerance=FLOAT32)


def _turned_with_zeros(tensor: torch.Tensor) -> torch.Tensor:
    return turned(with_zeros(tensor))


def _enlarged(item: Input, arg: Any) -> Any:
    """Make a tensor large and non-contiguous, with some zeros, for use with small weights."""
    return turned(with_zeros(arg) * _LARGE) if isinstance(item, Tensor) else arg


LAYER_TESTS: Mapping[str, Callable[[Expect, Traits, str], None]] = {
    LAYOUT: any_layout,
    SIZE: any_size,
    CALLS: call_after_call,
    GRADIENTS: gradients,
}


#: a dropout rate with which a call in train mode can't be mistaken for one in eval mode
RATE = 0.5
#: a range of dropout rates so small that a small call often drops nothing, but still scales the
#: entries
_LEAST_RATE, _SLIGHT_RATE = 0.001, 0.01
_SLIGHT = (
    "the dropout rate may be as small as 0.001: every rate above 0 drops some entries in train "
    "mode, and divides the others by 1 - p"
)
EVAL = "in eval mode nothing is dropped, even after a call in train mode"
_TRAIN = (
    "dropout works in train mode, even after a call in eval mode and under `torch.no_grad()`: "
    "`self.training` alone decides"
)


def check_dropping(expect: Expect, traits: Traits, layer: ExpectLayer, slight: ExpectLayer) -> None:
    """Check that two layers drop entries only in train mode; `slight` has a small dropout rate.

    The first layer is called with several sizes.
    """
    sizes = traits.usual(rate=RATE)
    first = arguments(expect, traits, sizes)
    layer.train().result(*first, likely=EVAL)
    right = _in_eval_mode(layer, first)
    middle = CallSizes(traits, expect.draw).middling()
    long = sizes.but({x: middle.letters[x] for x in traits.call_letters()} | {"B": 1})
    # the attention weight of a single token is dropped like any other
    for now, numbers in ((long, rising), (sizes.but({"B": 1, "T": 1}), negative)):
        args = arguments(expect, traits, now, layout=numbers)
        check_drops(layer, args, _in_eval_mode(layer, args), no_grad=numbers is negative)
    check_drops(layer, first, right)
    check_drops(layer, first, right, no_grad=True)
    check_drops(slight, first, _in_eval_mode(slight, first), likely=_SLIGHT)


def _in_eval_mode(layer: ExpectLayer, args: list[Any]) -> Any:
    """Check the value in eval mode, and return the correct value."""
    layer.eval().same(*args, likely=EVAL)
    return layer.reference.forward(args).value


def check_drops(
    layer: ExpectLayer,
    args: list[Any],
    right: Any,
    no_grad: bool = False,
    likely: str = _TRAIN,
) -> None:
    """Check that a call in train mode does not return `right`, the correct value in eval mode."""
    got = layer.train().result(*args, likely=likely, no_grad=no_grad)
    layer.that(
        is_apart(got, right),
        got="the output of eval mode, although the layer is back in train mode",
        expected="a different output: some entries are dropped, and the others are larger",
        likely=likely,
    )
