"""Provides tools for hidden and public suites: random inputs, comparisons, messages, fixtures.

A suite calls an `Implementation`, which may be a module in this process or a sandboxed worker.
"""

from .arguments import Draw
from .compare import Tolerance, difference
from .expect import Expect
from .forbidden_calls import Forbidden, rules_of
from .implementation import Gradients, Implementation, Layer, Outcome, Step, WatchedCall
from .layers import ExpectLayer
from .local import LocalImplementation, load_module
from .variants import Variant, alternative, combination, intended, misconception, variants_in

__all__ = [
    "Draw",
    "Expect",
    "ExpectLayer",
    "Forbidden",
    "Gradients",
    "Implementation",
    "Layer",
    "LocalImplementation",
    "Outcome",
    "Step",
    "Tolerance",
    "difference",
    "Variant",
    "WatchedCall",
    "alternative",
    "combination",
    "intended",
    "load_module",
    "misconception",
    "rules_of",
    "variants_in",
]
