"""Names of operations, functions and diagonals in words."""

from __future__ import annotations

import ast
from collections.abc import Mapping

#: the result of each operation
OPERATIONS: Mapping[type[ast.operator], str] = {
    ast.Add: "a sum",
    ast.Sub: "a difference",
    ast.Mult: "a product of single numbers",
    ast.Div: "a quotient",
    ast.FloorDiv: "a quotient that is cut to a whole number",
    ast.Mod: "a remainder",
    ast.MatMult: "a matrix product",
}
#: the words for an operation of which one side is left out
PARTS_LEFT_OUT: Mapping[type[ast.operator], str] = {
    ast.Add: "one part of a sum is left out",
    ast.Sub: "nothing is subtracted where something should be",
    ast.Mult: "a factor is left out",
    ast.Div: "a division is left out",
    ast.BitAnd: "one of two conditions is left out",
    ast.BitOr: "one of two conditions is left out",
}
#: the words for calling the first function instead of the second
FUNCTIONS: Mapping[tuple[str, str], str] = {
    ("tril", "triu"): "a mask has numbers below its border where they belong above",
    ("triu", "tril"): "a mask has numbers above its border where they belong below",
    ("mean", "sum"): "a mean is taken instead of a sum",
    ("sum", "mean"): "a sum is taken instead of a mean",
    ("stack", "cat"): "parts are stacked along a new dimension instead of following each other",
    ("cat", "stack"): "parts follow each other instead of being stacked along a new dimension",
    ("cos", "sin"): "a cosine is taken instead of a sine",
    ("sin", "cos"): "a sine is taken instead of a cosine",
    ("std", "var"): "a standard deviation is taken instead of a variance",
    ("log_softmax", "softmax"): "the logarithm of softmax is taken",
}
#: functions that a result does not need
FUNCTIONS_OF_A_RESULT: Mapping[str, str] = {
    **{"exp": "the exponential", "log": "the logarithm", "sigmoid": "a sigmoid"},
    **{"cos": "the cosine", "sin": "the sine", "tanh": "the hyperbolic tangent"},
}
#: the words for a distance of a triangle's diagonal
FAR: Mapping[int, str] = {
    1: "one diagonal too far to the upper right",
    2: "two diagonals too far to the upper right",
    -1: "one diagonal too far to the lower left",
    -2: "two diagonals too far to the lower left",
}
