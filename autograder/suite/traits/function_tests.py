"""Defines the generated tests for functions: layouts, sizes, repeated calls and gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import torch

from ..expect import Expect
from ..forbidden_calls import Forbidden
from ..implementation import PLAIN, GradientOptions, Step
from .declaration import CALLS, GRADIENTS, LAYOUT, SIZE, Traits, arguments
from .inputs import (
    LAYOUTS,
    LEADING,
    InputPair,
    Layout,
    OptionalInput,
    Sizes,
    Tensor,
    Values,
    arguments_of,
    as_drawn,
    both,
    expanded,
    falling,
    heads,
    inside,
    level,
    normal,
    of_turn,
    positive,
    rising,
    rows,
    shared,
    sliced,
    small,
    turned,
    whole,
    with_unused,
    with_zeros,
)
from .size_cells import FEW, LENGTHS, LONG, ONE_LARGE, CallSizes

_TWICE = (
    "all sizes are equal here, and one tensor is passed as several arguments: nothing may depend "
    "on different sizes, and writing into one argument writes into all"
)
#: the same for a function with only one argument of each shape
_SQUARE = "all sizes are equal here: nothing may depend on different sizes"
_EQUAL = "two tensors with equal numbers are still two tensors: each has its own gradient"
_NUMBERS = (
    "use large and small numbers as they are, and zero like any other number: do not "
    "clip, round or leave out any"
)
_HELD = (
    "a result belongs to the caller: a later call must not change it, and changing it in place "
    "must not affect a later call; the same tensor may be passed again with other numbers, as a "
    "weight is during training"
)
_NO_GRAD = (
    "under `torch.no_grad()` a function gives the same result as without it, and leaves its "
    "arguments unchanged"
)
_RESULTS = (
    "an argument may be the output of an earlier layer, and the incoming gradient may be large "
    "and have any memory layout: do not detach the argument or clip the gradient"
)
_BACKWARD = (
    "`backward()` leaves the gradient in `.grad`, however small it is: do not clip it or round "
    "it to zero"
)
_FROZEN = (
    "each argument may be the only one that requires a gradient (weights usually do, data usually "
    "does not): its gradient does not depend on whether the others require one"
)
#: the size to use if all sizes are equal, without gradients and with gradients, which take longer
_ALIKE, _FEW_ALIKE = 4, 3
#: with more arguments than this, several of them need no gradient in one call
_MANY = 3
#: a number that is added to one slice and subtracted from another; beside it, float32 keeps only
#: two digits of the others
_LARGE = 1e5
#: the number of keys if there are fewer than queries; a single key's weight has no gradient
_FEWER_KEYS = 2
_SINGLE = "gradients also flow in float32 and for large sizes: that is how models are trained"


def any_layout(expect: Expect, traits: Traits, likely: str) -> None:
    """Test every argument in every memory layout."""
    sizes = traits.usual((2, 3))
    for turn, numbers in enumerate((*map(of_turn, range(3)), level, small)):
        layouts = [both(numbers, layout) for layout in LAYOUTS[turn:] + LAYOUTS[:turn]]
        arguments = arguments_of(traits.inputs, expect.draw, sizes, traits.dtype, layouts)
        _same(expect, traits, arguments, likely)
    batch = traits.usual((2,))  # a program may treat three dimensions differently from others
    begun = arguments_of(traits.inputs, expect.draw, batch, traits.dtype, [inside])
    _same(expect, traits, begun, likely)
    alike = _all_alike(expect, traits, traits.dtype, whole)
    _same(expect, traits, alike, _TWICE if _repeats(alike) else _SQUARE)


def _all_alike(
    expect: Expect,
    traits: Traits,
    dtype: torch.dtype,
    numbers: Layout = as_drawn,
    size: int = _ALIKE,
    samples: tuple[int, ...] = (),
) -> list[Any]:
    """Make arguments whose sizes are all equal; arguments of the same shape are the same tensor."""
    sizes = traits.usual((*samples, size)).but(dict.fromkeys(traits.call_letters(), size))
    return shared(arguments(expect, traits, sizes, dtype, numbers))


def _repeats(args: Sequence[Any]) -> bool:
    """Return whether the same tensor is passed as several arguments."""
    pairs = combinations(args, 2)
    return any(one is other for one, other in pairs if isinstance(one, torch.Tensor))


def any_size(expect: Expect, traits: Traits, likely: str) -> None:
    """Test every size as 1 and as large, with 0 to 3 leading dimensions, in alternating dtypes."""
    asked = CallSizes(traits, expect.draw)
    usual = traits.usual()
    varied = asked.varied(traits.call_letters(), usual, ONE_LARGE)
    in_turn = [*varied, *asked.between(usual), *asked.after_blocks(usual)]
    for turn, sizes in enumerate(in_turn):
        dtype = (traits.dtype, torch.float64)[turn % 2]
        args = _made(expect, traits, sizes, dtype, of_turn(turn))
        # for any size, an answer may compute differently if no gradients are needed
        _same(expect, traits, args, likely, no_grad=turn % 3 == 1)
    for given in traits.each_way():
        for sizes, dtype in ((asked.middling(), traits.dtype), (asked.long(LONG), torch.float64)):
            _same(expect, traits, _last_turned(expect, given, sizes, dtype), likely)
        _same(expect, traits, _last_turned(expect, given, asked.many(), torch.float64), likely)
    # repeat large shapes, because an answer may wrongly keep results only for these
    for turn, sizes in enumerate((asked.wide(), asked.many(), *asked.samples())):
        args = _last_turned(expect, traits, sizes, torch.float64)
        _same(expect, traits, args, likely, no_grad=turn % 2 == 1)
    _same(
        expect,
        traits,
        _any_numbers(expect, traits, traits.usual(asked.leads.other_five())),
        _NUMBERS,
    )
    if traits.root is not None:
        sizes = asked.rooted(traits.root)
        made = arguments(expect, traits.each_way()[0], sizes, torch.float64)
        shown = traits.root.arguments(expect.draw, made, sizes.letters[traits.root.letter])
        _same(expect, traits, shown, traits.root.likely)


def check_rule(expect: Expect, traits: Traits, rule: Forbidden) -> None:
    """Check that no call with long inputs, many dimensions or many samples breaks a rule.

    An optional argument is left out in some of the calls. Except for the call with long inputs,
    each call is watched together with its backward pass.
    """
    asked, ways = CallSizes(traits, expect.draw), traits.each_way()
    deep = asked.with_gradients(traits.usual(asked.leads.five()))
    long = asked.long(leading=asked.leads.four())
    sizes = (long, deep, *asked.many_with_gradients())
    for turn, chosen in enumerate(sizes):
        args = arguments(expect, ways[turn % len(ways)], chosen, traits.dtype)
        expect.allowed(traits.question, *args, rule=rule, backward=turn > 0)


def _any_numbers(
    expect: Expect, traits: Traits, sizes: Sizes, layout: Layout = turned
) -> list[Any]:
    """Make float64 arguments with large and small numbers and zeros; sums lose none of them."""
    made = arguments(expect, traits, traits.with_exact_root(sizes), torch.float64)
    factors = iter(traits.factors)
    return [
        layout(_ZEROS.get(item.values, as_drawn)(arg) * next(factors, 1.0))
        if isinstance(item, Tensor)
        else arg
        for item, arg in zip(traits.inputs, made, strict=True)
    ]


#: functions that set numbers to zero, by their kind; rows of weights keep their first number
_ZEROS: Mapping[Values, Layout] = {normal: with_zeros, positive: with_zeros, rows: with_unused}


def call_after_call(expect: Expect, traits: Traits, likely: str) -> None:
    """Repeat calls with new numbers in one argument after another, then with other shapes."""
    usual = traits.usual()
    other = CallSizes(traits, expect.draw).other(usual)
    first = arguments(expect, traits, usual)
    second = [
        _rearranged(arg)
        if isinstance(item, Tensor)
        else item.make(expect.draw, usual, traits.dtype)
        for item, arg in zip(traits.inputs, first, strict=True)
    ]
    for kept in range(len(first), -1, -1):
        _same(expect, traits, [*first[:kept], *second[kept:]], likely)
    for given in traits.each_way():
        made = [
            Step(tuple(arguments(expect, given, sizes, torch.float64, numbers)))
            for sizes, numbers in ((usual, rising), (other, small), (usual, falling))
        ]
        # an answer may wrongly keep a result, an argument or its numbers from the last call
        steps = (made[1], made[0], made[0], made[2], made[0])
        # or keep a result only for a single sample, or look up a result by a product of sizes
        alone, *exchanged = [
            Step(tuple(arguments(expect, given, sizes, torch.float64)))
            for sizes in (given.alone(), *given.exchanged())
        ]
        for no_grad, more in ((False, (alone, alone, *exchanged)), (True, ())):
            expect.steps(
                traits.question,
                *(*steps, *more),
                likely=_HELD,
                after=traits.after,
                no_grad=no_grad,
            )
        deep = traits.usual(CallSizes(traits, expect.draw).leads.other_five())
        held = arguments(expect, given, other, layout=heads)
        for args in (held, _any_numbers(expect, given, deep, heads)):
            _same(expect, traits, args, _NO_GRAD, no_grad=True)


def _rearranged(tensor: torch.Tensor) -> torch.Tensor:
    """Return each row with all numbers but the first in reverse order; sums stay the same."""
    return torch.cat([tensor[..., :1], tensor[..., 1:].flip(-1)], dim=-1)


def _last_turned(expect: Expect, traits: Traits, sizes: Sizes, dtype: torch.dtype) -> list[Any]:
    """Make arguments as `_made` does, but make the last tensor non-contiguous."""
    made = _made(expect, traits, sizes, dtype)
    places = [n for n, arg in enumerate(made) if isinstance(arg, torch.Tensor)]
    for place in places[-1:]:
        made[place] = turned(made[place])
    return made


def _made(
    expect: Expect,
    traits: Traits,
    sizes: Sizes,
    dtype: torch.dtype,
    numbers: Layout = as_drawn,
) -> list[Any]:
    """Make arguments; in float64, terms of sums nearly cancel, so float32 would lose digits."""
    tensors = sum(isinstance(item, Tensor) for item in traits.inputs)
    cancels = dtype == torch.float64 and 1 < len(traits.factors) == tensors
    if not cancels:
        return arguments(expect, traits, sizes, dtype, numbers)
    exact = traits.with_exact_root(sizes)
    return _cancelling(traits, arguments(expect, traits, exact, dtype, numbers))


def _cancelling(traits: Traits, made: list[Any]) -> list[Any]:
    """Make the last tensor large, with two slices that nearly cancel, if its factor is above 1.

    The other arguments give both slices the same weight. In float32, each sum therefore loses
    digits, regardless of the drawn numbers and of the order in which a processor adds them.
    """
    tensors = [(n, item) for n, item in enumerate(traits.inputs) if isinstance(item, Tensor)]
    place, last = tensors.pop()
    factor = traits.factors[-1]
    if factor <= 1:
        return made
    made = [*made]
    made[place] = made[place] * factor
    for letter in _own_dimensions(last)[-2:]:
        weighted = [(n, item) for n, item in tensors if letter in _own_dimensions(item)]
        dimensions = {n: _dimension(item, letter) for n, item in (*weighted, (place, last))}
        if not weighted or made[place].shape[dimensions[place]] < 2:
            continue
        for n, _ in weighted:
            made[n] = made[n].clone()
            pair = made[n].narrow(dimensions[n], 0, 2)
            pair.copy_(pair.mean(dimensions[n], keepdim=True).expand_as(pair))
        pair = made[place].narrow(dimensions[place], 0, 2)
        pair += torch.tensor([_LARGE, -_LARGE]).view(-1, *[1] * (-1 - dimensions[place]))
        return made
    return made


def _own_dimensions(item: Tensor) -> list[str]:
    """Return an argument's dimensions after the leading dimensions, or [] if there is only one."""
    parts = [part for part in item.shape.split() if part != LEADING]
    return parts if len(parts) > 1 else []


def _dimension(item: Tensor, part: str) -> int:
    """Return the index of a dimension, counted from the end."""
    parts = item.shape.split()
    return parts.index(part) - len(parts)


def gradients(expect: Expect, traits: Traits, likely: str) -> None:
    """Test gradients with respect to all differentiable arguments, and while some are frozen."""

    def check(arguments: Sequence[Any], cause: str = likely, way: GradientOptions = PLAIN) -> None:
        expect.gradients(
            traits.question,
            *arguments,
            likely=cause,
            to=traits.judged,
            options=way,
            after=traits.after,
        )

    asked = CallSizes(traits, expect.draw)
    usual = asked.with_gradients(traits.usual())
    check(arguments(expect, traits, usual, torch.float64))
    five = traits.usual(asked.leads.other_five())
    # keep a `d` with an exact root, because a right answer may take the root in float32
    kept = {x: n for x, n in five.letters.items() if x == "d"}
    if {"T", "S"} <= set(traits.call_letters()):
        kept["S"] = _FEWER_KEYS
    check(_any_numbers(expect, traits, asked.with_gradients(five).but(kept)))
    samples = (2,) * (len(asked.leads.four()) - 1)
    alike = _all_alike(expect, traits, torch.float64, both(whole, turned), _FEW_ALIKE, samples)
    check(alike, _TWICE if _repeats(alike) else _SQUARE)
    if _repeats(alike):
        check([arg.clone() if isinstance(arg, torch.Tensor) else arg for arg in alike], _EQUAL)
    middle = asked.middling(FEW)
    for given in traits.each_way():
        check(_small_and_zero(expect, given, middle), _SINGLE)
    for args, frozen in _frozen_in_turn(expect, traits, asked):
        check(args, _FROZEN, GradientOptions(tuple(frozen)))
    many, long = asked.many_with_gradients(), asked.long(leading=asked.leads.four())
    for past in asked.long_past():
        check(arguments(expect, traits.each_way()[0], past, torch.float64, rising))
    for given in traits.each_way():
        for sizes in many:
            check(arguments(expect, given, sizes, torch.float64, both(rising, expanded)))
        check(arguments(expect, given, long, torch.float64, both(falling, sliced)))
    # in the calls above with a size of 1, an argument is frozen, so compare all gradients here
    ones = asked.least_unseen((usual, middle, *many, long))
    if ones is not None:
        check(arguments(expect, traits, ones, torch.float64))
    batch = asked.with_gradients(traits.usual((2, 3)))
    for dtype, cause, way in _WAYS:
        check(arguments(expect, traits.each_way()[0], batch, dtype), cause, way)
    if traits.case is not None:
        check(traits.case.arguments(expect.draw), traits.case.likely)


#: the other ways in which gradients are computed
_WAYS = (
    (torch.float32, _RESULTS, GradientOptions(results=True, backward=True, size=1e5, turned=True)),
    (torch.float64, _BACKWARD, GradientOptions(backward=True, size=1e-9)),
)


def _frozen_in_turn(
    expect: Expect, traits: Traits, asked: CallSizes
) -> Iterator[tuple[list[Any], list[int]]]:
    """Yield arguments, and the positions of those that need no gradient.

    In each turn, a different size has its smallest value (usually 1), and a different argument
    needs no gradient. If there are many arguments, there is one more turn, in which the first half
    of them need no gradient. If there is only one argument, there are no turns.
    """
    kinds = Tensor | InputPair | OptionalInput
    places = [place for place, item in enumerate(traits.inputs) if isinstance(item, kinds)]
    # leave the lengths alone: with one token, the gradient for the queries is zero
    letters = [x for x in traits.call_letters() if x not in LENGTHS]
    for turn, place in enumerate(places if len(places) > 1 else ()):
        numbers = both((rising, small, as_drawn)[turn % 3], turned)
        least = {x: traits.smallest.get(x, 1) for x in letters[turn % max(1, len(letters)) :][:1]}
        sizes = asked.with_gradients(traits.usual(asked.leads.few(turn)).but(least))
        held = arguments(expect, traits.each_way()[0], sizes, torch.float64, numbers)
        yield held, [place]
    if len(places) > _MANY:
        yield held, places[: len(places) // 2]


def _small_and_zero(expect: Expect, traits: Traits, sizes: Sizes) -> list[Any]:
    """Make float32 arguments that contain zeros and are not contiguous."""
    made = arguments(expect, traits, sizes, torch.float32)
    return [
        turned(with_zeros(arg) if item.values is normal else arg)
        if isinstance(item, Tensor)
        else arg
        for item, arg in zip(traits.inputs, made, strict=True)
    ]


def _same(
    expect: Expect, traits: Traits, args: Sequence[Any], likely: str, no_grad: bool = False
) -> None:
    expect.same(traits.question, *args, likely=likely, after=traits.after, no_grad=no_grad)


FUNCTION_TESTS: Mapping[str, Callable[[Expect, Traits, str], None]] = {
    LAYOUT: any_layout,
    SIZE: any_size,
    CALLS: call_after_call,
    GRADIENTS: gradients,
}
