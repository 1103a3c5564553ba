"""The generated tests of functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from ..expect import Expect
from .declaration import CALLS, GRADIENTS, LAYOUT, SIZE, Traits
from .inputs import Sizes, arguments_of
from .layouts import LAYOUTS, contiguous, turned


def any_layout(expect: Expect, traits: Traits, likely: str) -> None:
    """Every argument once in every layout."""
    sizes = traits.usual((2, 3))
    for turn in range(len(LAYOUTS)):
        layouts = LAYOUTS[turn:] + LAYOUTS[:turn]
        arguments = arguments_of(traits.inputs, expect.draw, sizes, traits.dtype, layouts)
        _same(expect, traits, arguments, likely)


def any_size(expect: Expect, traits: Traits, likely: str) -> None:
    """Every size once 1 and once large, with none to three leading dimensions."""
    for sizes in traits.varied(traits.call_letters(), traits.usual()):
        _same(expect, traits, _plain(expect, traits, sizes), likely)


def call_after_call(expect: Expect, traits: Traits, likely: str) -> None:
    """The same shapes again with other numbers, first in one argument; then other shapes."""
    usual = traits.usual()
    first, second = _plain(expect, traits, usual), _plain(expect, traits, usual)
    for arguments in (first, [*first[:-1], second[-1]], second):
        _same(expect, traits, arguments, likely)
    for sizes in (traits.other(usual), usual):
        _same(expect, traits, _plain(expect, traits, sizes, torch.float64), likely)


def gradients(expect: Expect, traits: Traits, likely: str) -> None:
    """To every argument that is differentiable, for plain and for transposed ones."""
    for leading, layout in (((), contiguous), ((2, 3), turned)):
        sizes = traits.usual(leading)
        arguments = arguments_of(traits.inputs, expect.draw, sizes, torch.float64, [layout])
        expect.gradients(traits.question, *arguments, likely=likely)


def _plain(
    expect: Expect, traits: Traits, sizes: Sizes, dtype: torch.dtype | None = None
) -> list[Any]:
    return arguments_of(traits.inputs, expect.draw, sizes, dtype or traits.dtype)


def _same(expect: Expect, traits: Traits, arguments: Sequence[Any], likely: str) -> None:
    expect.same(traits.question, *arguments, likely=likely, after=traits.after)


FUNCTION_TESTS: Mapping[str, Callable[[Expect, Traits, str], None]] = {
    LAYOUT: any_layout,
    SIZE: any_size,
    CALLS: call_after_call,
    GRADIENTS: gradients,
}
