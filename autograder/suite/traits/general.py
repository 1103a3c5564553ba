"""Runs the generated test of a trait, for a function or a class."""

from __future__ import annotations

from ..expect import Expect
from .class_tests import LAYER_TESTS
from .declaration import CALLS, GENERATED, GRADIENTS, LAYOUT, SIZE, Traits
from .function_tests import FUNCTION_TESTS

#: the likely cause of a failure, unless the declaration has one
_LIKELY = {
    LAYOUT: "only the numbers count, not how they lie in memory: a tensor may be transposed, a "
    "slice or expanded; `.view` needs contiguous memory, `.reshape` does not",
    SIZE: "any size may be 1, and sequences may be long: no size is hard-coded, none is taken from "
    "another dimension, and a dimension of size 1 stays (`.squeeze()` takes it away)",
    CALLS: "every call is independent: nothing is left of an earlier one, no result, no mask "
    "and no size",
    GRADIENTS: "`.detach()`, `.item()`, `.data`, `torch.no_grad()` or `torch.tensor(...)` cuts the "
    "gradient of everything before it",
}


def check_trait(expect: Expect, traits: Traits, trait: str) -> None:
    """Run the generated test of a trait; raises `LookupError` if no trait has this name."""
    if trait not in GENERATED:
        raise LookupError(f"no generated test is called {trait!r}; there are {GENERATED}")
    tests = FUNCTION_TESTS if traits.build is None else LAYER_TESTS
    tests[trait](expect, traits, traits.likely.get(trait, _LIKELY[trait]))
