"""Makes small changes to expressions: to operators, conditions, numbers, names and slices."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .words import STEPS

_ONE_SIDED = ast.Sub | ast.Div | ast.FloorDiv | ast.Mod | ast.Pow


@dataclass(frozen=True, slots=True)
class Scope:
    """Names that students could confuse: a function's variables, and the attributes of `self`."""

    names: tuple[str, ...]
    attributes: tuple[str, ...]


def arithmetic(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    """Yields the expression with a different operator."""
    if isinstance(node, ast.BinOp):
        for other in _others("arithmetic", node.op):
            yield ast.BinOp(node.left, other, node.right)


def _others(table: str, operation: ast.AST) -> list[Any]:
    """Returns the operations that may replace the given one, as listed in a table."""
    return [getattr(ast, name)() for name in STEPS[table].get(type(operation).__name__, ())]


def operand_left_out(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    """Yields each operand alone, but only the first operand of a difference, quotient or power."""
    if isinstance(node, ast.BinOp):
        yield from (node.left,) if isinstance(node.op, _ONE_SIDED) else (node.left, node.right)


def operands_swapped(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    """Yields the expression with its operands swapped, if their order matters."""
    if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.Add | ast.Mult):
        yield ast.BinOp(node.right, node.op, node.left)


def comparison(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    """Yields the expression with a different comparison operator."""
    if isinstance(node, ast.Compare):
        for index, op in enumerate(node.ops):
            for other in _others("comparisons", op):
                ops = [*node.ops[:index], other, *node.ops[index + 1 :]]
                yield ast.Compare(node.left, ops, node.comparators)


def condition(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    """Yields changed conditions, and an `if` whose condition is always `True` or always `False`."""
    if isinstance(node, ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield ast.BoolOp(other, node.values)
        yield from node.values
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand
    if isinstance(node, ast.If | ast.IfExp):
        for value in (True, False):
            changed = copy.copy(node)
            changed.test = ast.Constant(value)
            yield changed


def number(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    """Yields different values for a number, a truth value or a string."""
    value = _value_of(node)
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, int):
        for other in sorted({value + 1, value - 1, -value, 0, 1} - {value}):
            yield ast.Constant(other)
    elif isinstance(value, float):
        yield from (ast.Constant(other) for other in (0.0, value * 2, -value))
    elif isinstance(value, str) and value:
        yield from (ast.Constant(""), ast.Constant(value + "x"))


def _value_of(node: ast.AST) -> object:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _value_of(node.operand)
        return -value if isinstance(value, int | float) else None
    return node.value if isinstance(node, ast.Constant) else None


def sign(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    """Yields replacements for a negated value such as `-inf`: the positive value, 0 and -1e4."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and not _value_of(node):
        yield from (node.operand, ast.Constant(0.0), ast.Constant(-1e4))


def name(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    """Yields all other arguments and variables as replacements for a name."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in scope.names:
        yield from (ast.Name(other, node.ctx) for other in scope.names if other != node.id)


def attribute(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    """Yields all other attributes of `self` as replacements for an attribute."""
    if isinstance(node, ast.Attribute) and node.attr in scope.attributes:
        others = scope.attributes if ast.unparse(node.value) == "self" else ()
        yield from (ast.Attribute(node.value, o, node.ctx) for o in others if o != node.attr)


def slice_bound(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    """Yields the slice with one of its bounds left out, or increased or decreased by 1."""
    if isinstance(node, ast.Slice):
        for field in ("lower", "upper"):
            bound = getattr(node, field)
            if bound is not None:
                for other in (None, plus(bound, 1), plus(bound, -1)):
                    changed = copy.copy(node)
                    setattr(changed, field, other)
                    yield changed


def plus(node: ast.expr, number: int) -> ast.expr:
    return ast.BinOp(node, ast.Add(), ast.Constant(number))
