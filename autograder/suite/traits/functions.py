"""The generated tests of functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from ..expect import Expect
from .declaration import CALLS, GRADIENTS, LAYOUT, SIZE, Traits
from .inputs import Sizes
from .layouts import LAYOUTS, Layout, contiguous, turned


def _arguments(
    expect: Expect,
    traits: Traits,
    sizes: Sizes,
    dtype: torch.dtype | None = None,
    layouts: Callable[[int], Layout] = lambda index: contiguous,
) -> list[Any]:
    return [
        argument.make(expect.draw, sizes, dtype or traits.dtype, layouts(index))
        for index, argument in enumerate(traits.inputs)
    ]


def _same(expect: Expect, traits: Traits, arguments: Sequence[Any], likely: str) -> None:
    expect.same(traits.question, *arguments, likely=likely, after=traits.after)


def any_layout(expect: Expect, traits: Traits, likely: str) -> None:
    """Every argument once in every layout."""
    sizes = traits.usual((2, 3))
    for turn in range(len(LAYOUTS)):
        arguments = _arguments(
            expect, traits, sizes, layouts=lambda i, turn=turn: LAYOUTS[(turn + i) % len(LAYOUTS)]
        )
        _same(expect, traits, arguments, likely)


def any_size(expect: Expect, traits: Traits, likely: str) -> None:
    """Every size once 1 and once large, with none to three leading dimensions."""
    usual = traits.usual()
    for sizes in traits.varied(traits.call_letters(), usual):
        _same(expect, traits, _arguments(expect, traits, sizes), likely)


def call_after_call(expect: Expect, traits: Traits, likely: str) -> None:
    """The same shapes again with other numbers, first in one argument; then other ones."""
    usual = traits.usual()
    first = _arguments(expect, traits, usual)
    second = _arguments(expect, traits, usual)
    for arguments in (first, [*first[:-1], second[-1]], second):
        _same(expect, traits, arguments, likely)
    for sizes in (traits.other(usual), usual):
        _same(expect, traits, _arguments(expect, traits, sizes, torch.float64), likely)


def gradients(expect: Expect, traits: Traits, likely: str) -> None:
    """To every argument that is differentiable, for plain and for transposed ones."""
    for lead, layout in (((), contiguous), ((2, 3), turned)):
        arguments = _arguments(
            expect, traits, traits.usual(lead), torch.float64, lambda index, to=layout: to
        )
        expect.gradients(traits.question, *arguments, likely=likely)


FUNCTION_TESTS: Mapping[str, Callable[[Expect, Traits, str], None]] = {
    LAYOUT: any_layout,
    SIZE: any_size,
    CALLS: call_after_call,
    GRADIENTS: gradients,
}
