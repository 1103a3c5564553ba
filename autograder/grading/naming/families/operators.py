"""Defines operators, which change a syntax tree node slightly, as students' mistakes do."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Mapping, Sequence

from . import expressions
from .expressions import Scope, plus
from .words import STEPS

#: yields the nodes that may replace a node; None removes a statement
Operator = Callable[[ast.AST, Scope], Iterator[ast.AST | None]]

#: functions for which it makes no difference if the arguments are swapped
_SYMMETRIC = ("transpose", "swapaxes", "swapdims")
_TWINS = [pair.split() for pair in STEPS["twins"]]


def _call_removed(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    """Yields `x` as a replacement for `x.f(y)`, `f(x, y)` and `torch.f(x, y)`."""
    if not isinstance(node, ast.Call):
        return
    if isinstance(node.func, ast.Attribute) and not _is_module(node.func.value):
        yield node.func.value
    if node.args and not isinstance(node.args[0], ast.Starred | ast.GeneratorExp):
        yield node.args[0]


def _is_module(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute):
        return _is_module(node.value)
    return isinstance(node, ast.Name) and node.id in ("torch", "nn", "F", "math", "self")


def _argument_removed(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    if isinstance(node, ast.Call):
        for index in range(len(node.keywords)):
            kept = node.keywords[:index] + node.keywords[index + 1 :]
            yield ast.Call(node.func, node.args, kept)
        if node.args:
            yield ast.Call(node.func, node.args[:-1], node.keywords)


def _called(node: ast.Call) -> str:
    return ast.unparse(node.func).rsplit(".", 1)[-1]


def _arguments_swapped(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    if isinstance(node, ast.Call) and _called(node) not in _SYMMETRIC:
        yield from (ast.Call(node.func, args, node.keywords) for args in _swapped(node.args))
    if isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Load):
        yield from (ast.Tuple(items, ast.Load()) for items in _swapped(node.elts))


def _swapped(items: Sequence[ast.expr]) -> Iterator[list[ast.expr]]:
    """Yields the items with two neighbors swapped."""
    for i in range(len(items) - 1):
        yield [*items[:i], items[i + 1], items[i], *items[i + 2 :]]


def _twin(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    if isinstance(node, ast.Attribute):
        for others in (set(pair) - {node.attr} for pair in _TWINS if node.attr in pair):
            yield ast.Attribute(node.value, others.pop(), node.ctx)


def _size(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    """Yields calls such as `torch.ones(n, n)` with one size too large or too small by 1."""
    if isinstance(node, ast.Call) and _called(node) in STEPS["of_sizes"]:
        for index, arg in enumerate(node.args):
            if isinstance(arg, ast.Name | ast.Attribute):
                for number in (1, -1):
                    args = [*node.args[:index], plus(arg, number), *node.args[index + 1 :]]
                    yield ast.Call(node.func, args, node.keywords)


def _in_place(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    if isinstance(node, ast.BinOp) and type(node.op).__name__ in STEPS["in_place"]:
        method = ast.Attribute(node.left, STEPS["in_place"][type(node.op).__name__], ast.Load())
        yield ast.Call(method, [node.right], [])
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("masked_fill", "exp", "sqrt", "tril", "triu", "clamp", "relu")
    ):
        method = ast.Attribute(node.func.value, node.func.attr + "_", ast.Load())
        yield ast.Call(method, node.args, node.keywords)


def _statement_removed(node: ast.AST, scope: Scope) -> Iterator[ast.AST | None]:
    if isinstance(node, ast.stmt) and not isinstance(node, ast.FunctionDef):
        yield None


def _detached(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    if isinstance(node, ast.Assign):
        changed = copy.copy(node)
        changed.value = ast.Call(ast.Attribute(node.value, "detach", ast.Load()), [], [])
        yield changed


def _error(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
        yield ast.Raise(ast.Call(ast.Name("RuntimeError", ast.Load()), [], []), None)


def _buffer(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    """Yields `self.mask = value` as a replacement for `self.register_buffer("mask", value)`."""
    call = node.value if isinstance(node, ast.Expr) else None
    if isinstance(call, ast.Call) and _called(call) == "register_buffer":
        name, value = call.args[:2]
        assert isinstance(name, ast.Constant)
        target = ast.Attribute(ast.Name("self", ast.Load()), str(name.value), ast.Store())
        yield ast.Assign([target], value)


OPERATORS: Mapping[str, Operator] = {
    "arithmetic": expressions.arithmetic,
    "operand left out": expressions.operand_left_out,
    "operands swapped": expressions.operands_swapped,
    "comparison": expressions.comparison,
    "condition": expressions.condition,
    "constant": expressions.number,
    "sign": expressions.sign,
    "call removed": _call_removed,
    "argument removed": _argument_removed,
    "arguments swapped": _arguments_swapped,
    "other function": _twin,
    "other name": expressions.name,
    "other attribute": expressions.attribute,
    "slice": expressions.slice_bound,
    "size": _size,
    "in place": _in_place,
    "statement removed": _statement_removed,
    "detached": _detached,
    "other error": _error,
    "no buffer": _buffer,
}
