"""Builds a class from its declaration, and makes the arguments of its calls."""

from __future__ import annotations

from typing import Any

import torch

from ...worker.execution import COPY
from ..expect import Expect
from ..layers import ExpectLayer
from .declaration import Traits
from .inputs import Sizes, arguments_of
from .layouts import Layout, contiguous


def built(expect: Expect, traits: Traits, sizes: Sizes) -> ExpectLayer:
    """Build the class with these sizes and with weights drawn as the declaration says."""
    assert traits.build is not None
    made = arguments_of(traits.build, expect.draw, sizes, traits.dtype)
    layer = expect.layer(traits.question, *made)
    refill(expect, traits, layer)
    if traits.dtype != torch.float32:
        layer.move(dtype=traits.dtype)
    return layer


def refill(expect: Expect, traits: Traits, layer: ExpectLayer, way: str = COPY) -> None:
    """Give both layers new weights; `way` says how the answer's weights are set."""
    layer.fill(lambda name, shape: traits.weights(expect.draw, name, shape), way)


def arguments(
    expect: Expect,
    traits: Traits,
    sizes: Sizes,
    dtype: torch.dtype | None = None,
    layout: Layout = contiguous,
) -> list[Any]:
    """Make the arguments of a call, all in one layout."""
    return arguments_of(traits.inputs, expect.draw, sizes, dtype or traits.dtype, [layout])
