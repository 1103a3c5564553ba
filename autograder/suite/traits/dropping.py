"""Tests that a layer with dropout drops in train mode and not in eval mode, in turn."""

from __future__ import annotations

from typing import Any

from ..compare import difference
from ..expect import Expect
from ..layers import ExpectLayer
from .built import arguments
from .cells import Cells
from .declaration import Traits
from .numbers import falling, rising

#: a rate of dropout at which a call in train mode can't be mistaken for one in eval mode
RATE = 0.5
EVAL = "in eval mode nothing is dropped, even after a call in train mode"
_TRAIN = (
    "dropout works in train mode, even after a call in eval mode and under `torch.no_grad()`: "
    "`self.training` alone decides"
)


def check_dropping(expect: Expect, traits: Traits, layer: ExpectLayer) -> None:
    """Check that a layer of this rate drops in train mode only, in calls of any size."""
    sizes = traits.usual(rate=RATE)
    first = arguments(expect, traits, sizes)
    layer.train().result(*first, likely=EVAL)
    right = layer.eval().same(*first, likely=EVAL)
    middle = Cells(traits, expect.draw).middling()
    long = sizes.but({x: middle.letters[x] for x in traits.call_letters()} | {"B": 1})
    # the weight of a single token is dropped like any other
    for now, numbers in ((long, rising), (sizes.but({"B": 1, "T": 1}), falling)):
        args = arguments(expect, traits, now, layout=numbers)
        _drops(layer, args, layer.eval().same(*args, likely=EVAL))
    _drops(layer, first, right)
    _drops(layer, first, right, no_grad=True)


def _drops(layer: ExpectLayer, args: list[Any], right: Any, no_grad: bool = False) -> None:
    got = layer.train().result(*args, likely=_TRAIN, no_grad=no_grad)
    layer.that(
        difference(got, right) is not None,
        got="the output of eval mode, though the layer is in train mode again",
        expected=f"another one: with a rate of {RATE} what is kept is doubled",
        likely=_TRAIN,
    )
