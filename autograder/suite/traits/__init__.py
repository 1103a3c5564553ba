"""Generates tests of general properties from a question's declaration."""

from .class_tests import check_drops
from .declaration import NO_TENSORS, TRAITS, Case, Traits
from .function_tests import check_rule
from .inputs import (
    CustomInput,
    Ids,
    Input,
    InputPair,
    OptionalInput,
    Rate,
    Size,
    Sizes,
    Tensor,
    normal,
    positive,
    rows,
)
from .self_checks import check_by_itself
from .trait_table import Row, check_trait, declarations, traits_of

__all__ = [
    "NO_TENSORS",
    "TRAITS",
    "Case",
    "Ids",
    "Input",
    "CustomInput",
    "OptionalInput",
    "InputPair",
    "Rate",
    "Row",
    "Size",
    "Sizes",
    "Tensor",
    "Traits",
    "check_by_itself",
    "check_drops",
    "check_rule",
    "check_trait",
    "declarations",
    "normal",
    "positive",
    "rows",
    "traits_of",
]
