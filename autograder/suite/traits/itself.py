"""What an answer must agree on with itself: for public checks, which have no solution to ask.

A batch is its samples one by one, and a gradient is what small steps of the inputs, and of a
layer's weights, make of the value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from ..compare import difference
from ..cotangents import cotangent_of
from ..expect import Expect
from .declaration import Traits
from .inputs import LEADING, Sizes, Tensor, arguments_of

_STEP = 1e-6
_BATCH = (
    "the samples of a batch do not know each other: each comes out as it does alone, with all of "
    "its dimensions, also where there is only one of them"
)
_ANOTHER_LENGTH = (
    "a call must leave nothing behind that the next one, of another length, would meet"
)
_GRADIENT = (
    "in float64 the value follows the smallest step of its inputs, and the gradient says how far: "
    "`.detach()`, `.item()`, `torch.tensor(...)` cut it, `.float()` and new tensors without a "
    "dtype lose the step"
)
#: from arguments to a value
_Ask = Callable[[Sequence[Any]], Any]


def check_by_itself(expect: Expect, traits: Traits) -> None:
    """Runs what can be checked of a question without a solution."""
    if traits.build is None:
        _check_function(expect, traits)
    else:
        _check_class(expect, traits)


def _check_function(expect: Expect, traits: Traits) -> None:
    question = traits.question
    _check_batches(expect, traits, lambda args: expect.result(question, *args), expect.that)
    if traits.after is not None:
        return
    args = _arguments(expect, traits, (2,))
    value = expect.result(question, *args)
    cotangent = _cotangent(expect, value, expect.that)
    pulled = expect.pulled(question, *args, cotangent=cotangent)
    judged = range(len(args)) if traits.judged is None else traits.judged
    steps = [_step(expect, arg) if n in judged else None for n, arg in enumerate(args)]
    slopes = [
        _dot(expect.result(question, *_moved(args, steps, sign * _STEP)), cotangent)
        for sign in (1, -1)
    ]
    _check_slope(slopes, _follow(pulled.inputs, steps), expect.that)


def _check_class(expect: Expect, traits: Traits) -> None:
    assert traits.build is not None
    arguments = arguments_of(traits.build, expect.draw, traits.usual(), traits.dtype)
    layer = expect.layer(traits.question, *arguments).eval().move(dtype=torch.float64)
    _check_batches(expect, traits, lambda args: layer.result(*args), layer.that)
    longer = traits.other(traits.usual((2,)))
    layer.result(
        *arguments_of(traits.inputs, expect.draw, longer, torch.float64), likely=_ANOTHER_LENGTH
    )
    args = _arguments(expect, traits, (2,))
    cotangent = _cotangent(expect, layer.result(*args), layer.that)
    pulled = layer.answer.gradients(args, cotangent)
    weights = layer.answer.weights()
    steps = [_step(expect, arg) for arg in args]
    turns = {name: _step(expect, weight) for name, weight in weights.items()}
    slopes = []
    for sign in (_STEP, -_STEP):
        layer.load({name: weight + sign * turns[name] for name, weight in weights.items()})
        slopes.append(_dot(layer.result(*_moved(args, steps, sign)), cotangent))
    names = list(weights)
    along = _follow([pulled.weights.get(n) for n in names], [turns[n] for n in names])
    _check_slope(slopes, along + _follow(pulled.inputs, steps), layer.that)


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
            text = difference(after(alone), after(got))
            that(
                text is None,
                got=f"{text}",
                expected=f"what sample {index} was in the batch",
                likely=_BATCH,
            )


def _as_it_is(value: Any) -> Any:
    return value


def _pairs(traits: Traits, args: Sequence[Any]) -> list[tuple[Any, Any]]:
    return list(zip(traits.inputs, args, strict=True))


def _sample(item: Any, arg: Any, index: int) -> Any:
    shape = item.shape.split() if isinstance(item, Tensor) else []
    if shape[:1] == [LEADING]:
        return arg[index]
    return arg[index : index + 1] if shape[:1] == ["B"] else arg


def _part(value: Any, index: int, keep: bool) -> Any:
    if isinstance(value, tuple | list):
        return type(value)(_part(item, index, keep) for item in value)
    if not isinstance(value, torch.Tensor) or index >= len(value):
        return value
    return value[index : index + 1] if keep else value[index]


def _step(expect: Expect, arg: Any) -> Any:
    if isinstance(arg, torch.Tensor) and arg.is_floating_point():
        return expect.draw.normal(*arg.shape, dtype=arg.dtype)
    return None


def _moved(args: Sequence[Any], steps: Sequence[Any], size: float) -> list[Any]:
    return [
        arg if step is None else arg + size * step for arg, step in zip(args, steps, strict=True)
    ]


def _cotangent(expect: Expect, value: Any, that: Callable[..., None]) -> Any:
    kinds = [getattr(item, "dtype", type(item).__name__) for item in tree_leaves(value)]
    that(
        all(kind == torch.float64 for kind in kinds),
        got=f"{', '.join(map(str, kinds))} for float64 inputs",
        expected="torch.float64, the dtype of the inputs",
        likely=_GRADIENT,
    )
    return cotangent_of(expect.draw, value)


def _dot(value: Any, cotangent: Any) -> float:
    pairs = zip(tree_leaves(value), tree_leaves(cotangent), strict=True)
    return sum(float((one.detach() * other).sum()) for one, other in pairs)


def _follow(gradients: Sequence[Any], steps: Sequence[Any]) -> float:
    """How far the value goes along the steps, says the gradient; none is a gradient of zero."""
    return sum(
        float((gradient * step).sum())
        for gradient, step in zip(gradients, steps, strict=True)
        if gradient is not None and step is not None
    )


def _check_slope(slopes: Sequence[float], along: float, that: Callable[..., None]) -> None:
    slope = (slopes[0] - slopes[1]) / (2 * _STEP)
    that(
        abs(slope - along) <= 1e-4 * max(1.0, abs(slope)),
        got=f"a gradient of {along:.6g} along small steps of all inputs",
        expected=f"{slope:.6g}, as far as the value goes",
        likely=_GRADIENT,
    )
