"""Describes which step, tensor or size a change affects.

A description states only that the answer behaves as if the change had been made, so it is true of
all code with this behavior, however it is written.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence

from . import step_tables as ids
from .definition_names import DefinitionNames, is_or_are
from .words import DETAILS, STEPS, words_of

#: a node and its replacement; None removes a statement
Part = tuple[ast.AST, ast.AST | None]

_OF_WRAPPED = {key for _, key in STEPS["wrapped"] + STEPS["of_arguments"]} - {ids.CUT}
_OPERATIONS, _FUNCTIONS = DETAILS["operations"], DETAILS["functions"]
_PARTS_LEFT_OUT, _FAR = DETAILS["parts_left_out"], DETAILS["far"]


def words_in_details() -> list[str]:
    """Returns the families' descriptions that are parts of details, which tables contain."""
    return [words_of(key) for key in sorted({*_OF_WRAPPED, ids.CHECK})]


def detail_of(names: DefinitionNames, key: str, parts: Sequence[Part]) -> str:
    """Returns a sentence that is more specific than the family's description, or "" if none."""
    if key in (ids.BIAS_LEFT_OUT, ids.BIAS_TOO_MANY):
        return _of_bias(key, [names.made.get(node, "") for node, _ in parts])
    if key in _OF_WRAPPED:
        found = {_wrapped(names, words_of(key), *part) for part in parts}
    elif key in _DETAILS:
        found = {_DETAILS[key](names, node, other) for node, other in parts}
    else:
        return ""
    return found.pop() if len(found) == 1 else ""


def _takes_the_place(names: DefinitionNames, old: ast.AST, new: ast.AST | None) -> str:
    one, other = names.meaning(new), names.meaning(old)
    if not one or not other or one == other:
        is_check = names.is_in_a_check(old)
        return "a check tests a different value than required" if is_check else ""
    if names.layer(old):
        return f"{one} does what {other} should do"
    around = names.around.get(old)
    if isinstance(around, ast.Attribute) and around.attr == "shape":
        return f"the size of {one} is used where that of {other} should be"
    return f"{one} {is_or_are(one)} used where {other} should be"


def _unchecked(names: DefinitionNames, node: ast.AST, other: ast.AST | None) -> str:
    """Returns a sentence about the argument that is not checked."""
    if not isinstance(node, ast.If):
        return ""
    checked = names.arguments_in(node.test)
    return words_of(ids.CHECK).replace("a check", f"a check of {checked}", 1) if checked else ""


def _number(names: DefinitionNames, node: ast.AST, other: ast.AST | None) -> str:
    """Returns a sentence about a keyword argument that is True instead of False, or vice versa."""
    keyword = names.around.get(node)
    value = other.value if isinstance(other, ast.Constant) else None
    if not isinstance(keyword, ast.keyword) or not isinstance(value, bool):
        return ""
    on, off = ("on", "off") if value else ("off", "on")
    return f"`{keyword.arg}` is {on} and should be {off}"


def _left_out(names: DefinitionNames, node: ast.AST, other: ast.AST | None) -> str:
    if isinstance(node, ast.Call):
        what = names.called(node)
        return f"{what} is left out" if what else ""
    if isinstance(node, ast.BinOp):
        is_left = other is node.left
        if isinstance(node.op, ast.Add):
            one = names.meaning(node.right if is_left else node.left)
            return f"{one} {is_or_are(one)} left out of a sum" if one else _PARTS_LEFT_OUT["Add"]
        if names.is_a_bound(node):
            return ""  # of a mask or a slice: what it does there is not known
        if is_left or isinstance(node.op, ast.Mult | ast.BitAnd | ast.BitOr):
            return _PARTS_LEFT_OUT.get(type(node.op).__name__, "")
        return "only the second of two numbers is used"
    if isinstance(node, ast.If) and other is None:
        asked = names.arguments_in(node.test)
        return f"a step that depends on {asked} is left out" if asked else ""
    return ""


def _argument(names: DefinitionNames, node: ast.AST, other: ast.AST | None) -> str:
    """Returns a sentence about the argument that is left out of a call."""
    if not isinstance(node, ast.Call) or not isinstance(other, ast.Call):
        return ""
    missing = [keyword for keyword in node.keywords if keyword not in other.keywords]
    what = f"`{ast.unparse(missing[0])}`" if missing else names.meaning(node.args[-1])
    return f"{what} {is_or_are(what)} left out of a call" if what else ""


def _swapped(names: DefinitionNames, node: ast.AST, other: ast.AST | None) -> str:
    if isinstance(node, ast.BinOp) and type(node.op).__name__ in _OPERATIONS:
        return f"the two sides of {_OPERATIONS[type(node.op).__name__]} are swapped"
    items: list[Sequence[ast.expr]] = [
        found.args if isinstance(found, ast.Call) else found.elts
        for found in (node, other)
        if isinstance(found, ast.Call | ast.Tuple)
    ]
    if len(items) < 2:
        return ""
    moved = [names.meaning(a) for a, b in zip(*items, strict=True) if a is not b]
    return f"{moved[0]} and {moved[1]} are swapped" if len(moved) == 2 and all(moved) else ""


def _returned(names: DefinitionNames, node: ast.AST, other: ast.AST | None) -> str:
    """Returns a sentence about a wrong value that is returned, or that is added to the result."""
    if not isinstance(node, ast.Return) or not isinstance(other, ast.Return):
        return ""
    value = other.value
    if isinstance(node.value, ast.Tuple) and isinstance(value, ast.Tuple):
        value = value.elts[0]
    if isinstance(value, ast.BinOp):
        what = names.meaning(value.right)
        return f"{what} {is_or_are(what)} added to the result" if what else ""
    last = node.value
    given = [ast.dump(arg) for arg in last.args] if isinstance(last, ast.Call) else []
    if isinstance(last, ast.Call) and value and given == [ast.dump(value)]:
        return f"{names.layer(last.func)} is left out" if names.layer(last.func) else ""
    what = names.meaning(value)
    return f"{what} {is_or_are(what)} returned, not the result of the last step" if what else ""


def _root(names: DefinitionNames, node: ast.AST, other: ast.AST | None) -> str:
    """Returns a sentence about the size whose square root is used as a divisor."""
    power = other.right if isinstance(other, ast.BinOp) else None
    size = power.left if isinstance(power, ast.BinOp) else None
    what = names.size(size)
    return (
        f"the divisor is the square root of {what}, which is not the required size" if what else ""
    )


def _wrapped(names: DefinitionNames, words: str, node: ast.AST, other: ast.AST | None) -> str:
    """Returns a description of a change and its place, or "" if the place is unknown."""
    node = other.body[0] if isinstance(other, ast.FunctionDef) else node  # it changes an argument
    if isinstance(node, ast.Return):
        return f"{words} (in the result)"
    what = names.meaning(node.targets[0]) if isinstance(node, ast.Assign) else ""
    return f"{words} (in {what})" if what else ""


def _of_bias(key: str, names: Sequence[str]) -> str:
    """Returns a sentence about layers that lack a bias, or have a bias that is not required."""
    if not all(names):
        return ""
    *first, last = (f"`{name}`" for name in names)
    layers = f"{', '.join(first)} and {last}" if first else last
    has = "have" if first else "has"
    lacks = "no bias, although one is required"
    return f"{layers} {has} {lacks if key == ids.BIAS_LEFT_OUT else 'a bias that is not required'}"


def _of_part_of_sum(names: DefinitionNames, node: ast.AST, other: ast.AST | None) -> str:
    what = names.called(node)
    return f"{what} is applied to one part of a sum, not to the whole" if what else ""


def _twice(names: DefinitionNames, node: ast.AST, other: ast.AST | None) -> str:
    what = names.called(node)
    return f"{what} is applied twice" if what else ""


def _operation(names: DefinitionNames, node: ast.AST, other: ast.AST | None) -> str:
    if not isinstance(node, ast.BinOp) or not isinstance(other, ast.BinOp):
        return ""
    one, asked = (_OPERATIONS.get(type(own.op).__name__, "") for own in (other, node))
    return f"{one} is taken instead of {asked}" if one and asked else ""


def _function(names: DefinitionNames, node: ast.AST, other: ast.AST | None) -> str:
    if isinstance(node, ast.Attribute) and isinstance(other, ast.Attribute):
        return _FUNCTIONS.get(f"{other.attr} {node.attr}", "")
    return ""


def _axis(names: DefinitionNames, node: ast.AST, other: ast.AST | None) -> str:
    given = other.args[1:] if isinstance(other, ast.Call) else []
    dims = [ast.unparse(arg) for arg in given if _is_number(arg)]
    return f"softmax runs along dimension {dims[0]}" if len(dims) == 1 else ""


def _diagonal(names: DefinitionNames, node: ast.AST, other: ast.AST | None) -> str:
    if isinstance(other, ast.Call) and isinstance(other.args[1], ast.BinOp):
        return f"the border of a mask is {_FAR[ast.unparse(other.args[1].right)]}"
    return ""


def _is_number(node: ast.AST) -> bool:
    inner = node.operand if isinstance(node, ast.UnaryOp) else node
    return isinstance(inner, ast.Constant) and type(inner.value) is int


#: the functions that describe a change to one node, by the key of its family
_DETAILS: Mapping[str, Callable[[DefinitionNames, ast.AST, ast.AST | None], str]] = {
    ids.ANOTHER: _takes_the_place,
    ids.LEFT_OUT: _left_out,
    ids.ARGUMENT_LEFT_OUT: _argument,
    ids.SWAPPED: _swapped,
    ids.CHECK: _unchecked,
    ids.NUMBER: _number,
    **dict.fromkeys((ids.ON_THE_WAY, ids.ADDED), _returned),
    ids.OF_ANOTHER_SIZE: _root,
    ids.OF_PART_OF_SUM: _of_part_of_sum,
    ids.TWICE: _twice,
    ids.OPERATION: _operation,
    ids.FUNCTION: _function,
    ids.AXIS: _axis,
    ids.DIAGONAL: _diagonal,
}
