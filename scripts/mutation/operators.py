"""The operator table: every small change of a syntax tree's node that could be a mistake."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scope:
    """The names that a mistake could take one for another: of the function, and of `self`."""

    names: tuple[str, ...]
    attributes: tuple[str, ...]


#: gives the nodes that may take a node's place; None takes a statement away
Operator = Callable[[ast.AST, Scope], Iterator[ast.AST | None]]

_ARITHMETIC: Mapping[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub, ast.Mult),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div, ast.Add),
    ast.Div: (ast.Mult, ast.FloorDiv),
    ast.FloorDiv: (ast.Div, ast.Mult),
    ast.Mod: (ast.FloorDiv,),
    ast.Pow: (ast.Mult,),
    ast.MatMult: (ast.Mult,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
}
_COMPARISONS: Mapping[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq, ast.Lt, ast.Gt),
    ast.Is: (ast.IsNot,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_TWINS = (
    ("tril", "triu"),
    ("sum", "mean"),
    ("amax", "amin"),
    ("max", "min"),
    ("zeros", "ones"),
    ("zeros_like", "ones_like"),
    ("rand_like", "randn_like"),
    ("relu", "gelu"),
    ("softmax", "log_softmax"),
    ("var", "std"),
    ("exp", "expm1"),
    ("mul", "add"),
    ("stack", "cat"),
)
#: swapping the arguments of these changes nothing
_SYMMETRIC = ("transpose", "swapaxes", "swapdims")
_TAKE_SIZES = (
    "range",
    "ones",
    "zeros",
    "arange",
    "view",
    "reshape",
    "unflatten",
    "Linear",
    "expand",
)
_IN_PLACE = {ast.Add: "add_", ast.Sub: "sub_", ast.Mult: "mul_", ast.Div: "div_"}


def _arithmetic(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    if isinstance(node, ast.BinOp):
        for other in _ARITHMETIC.get(type(node.op), ()):
            yield ast.BinOp(node.left, other(), node.right)


def _operand_left_out(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    if isinstance(node, ast.BinOp):
        yield from (node.left, node.right)


def _operands_swapped(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.Add | ast.Mult):
        yield ast.BinOp(node.right, node.op, node.left)


def _comparison(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    if isinstance(node, ast.Compare):
        for index, op in enumerate(node.ops):
            for other in _COMPARISONS.get(type(op), ()):
                ops = [*node.ops[:index], other(), *node.ops[index + 1 :]]
                yield ast.Compare(node.left, ops, node.comparators)


def _condition(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
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


def _number(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
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


def _sign(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and not _value_of(node):
        yield from (node.operand, ast.Constant(0.0), ast.Constant(-1e4))


def _call_removed(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    """`x.f(y)` becomes x, `f(x, y)` and `torch.f(x, y)` become x."""
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
    """The last part of a called name."""
    return ast.unparse(node.func).rsplit(".", 1)[-1]


def _arguments_swapped(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    if isinstance(node, ast.Call) and _called(node) not in _SYMMETRIC:
        for i in range(len(node.args) - 1):
            args = [*node.args[:i], node.args[i + 1], node.args[i], *node.args[i + 2 :]]
            yield ast.Call(node.func, args, node.keywords)
    if isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Load):
        for i in range(len(node.elts) - 1):
            turned = [*node.elts[:i], node.elts[i + 1], node.elts[i], *node.elts[i + 2 :]]
            yield ast.Tuple(turned, ast.Load())


def _twin(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    if isinstance(node, ast.Attribute):
        for one, other in _TWINS:
            if node.attr in (one, other):
                name = other if node.attr == one else one
                yield ast.Attribute(node.value, name, node.ctx)


def _name(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in scope.names:
        yield from (ast.Name(other, node.ctx) for other in scope.names if other != node.id)


def _attribute(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    """One layer for another, when it is built and when it is used."""
    if _is_own(node) and isinstance(node, ast.Attribute) and node.attr in scope.attributes:
        for other in scope.attributes:
            if other != node.attr:
                yield ast.Attribute(node.value, other, node.ctx)


def _is_own(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    )


def _slice(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    if isinstance(node, ast.Slice):
        for field in ("lower", "upper"):
            bound = getattr(node, field)
            if bound is not None:
                for other in (None, _plus(bound, 1), _plus(bound, -1)):
                    changed = copy.copy(node)
                    setattr(changed, field, other)
                    yield changed


def _plus(node: ast.expr, number: int) -> ast.expr:
    return ast.BinOp(node, ast.Add(), ast.Constant(number))


def _size(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    """A size that is one too large or too small: `range(n)`, `torch.ones(n, n)`."""
    if isinstance(node, ast.Call) and _called(node) in _TAKE_SIZES:
        for index, arg in enumerate(node.args):
            if isinstance(arg, ast.Name | ast.Attribute):
                for number in (1, -1):
                    args = [*node.args[:index], _plus(arg, number), *node.args[index + 1 :]]
                    yield ast.Call(node.func, args, node.keywords)


def _in_place(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    if isinstance(node, ast.BinOp) and type(node.op) in _IN_PLACE:
        method = ast.Attribute(node.left, _IN_PLACE[type(node.op)], ast.Load())
        yield ast.Call(method, [node.right], [])
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("masked_fill", "exp", "sqrt", "tril", "triu", "clamp", "relu")
    ):
        yield ast.Call(
            ast.Attribute(node.func.value, node.func.attr + "_", ast.Load()),
            node.args,
            node.keywords,
        )


def _statement_removed(node: ast.AST, scope: Scope) -> Iterator[ast.AST | None]:
    if isinstance(node, ast.stmt) and not isinstance(node, ast.FunctionDef):
        yield None


def _result(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    """The value loses its gradient, its dtype, or one dimension's meaning."""
    if isinstance(node, ast.Return) and node.value is not None:
        for method in ("detach", "float", "double", "contiguous().squeeze", "clone().zero_"):
            value = ast.parse(f"x.{method}()", mode="eval").body
            yield ast.Return(_with_x(value, node.value))


def _with_x(tree: ast.expr, value: ast.expr) -> ast.expr:
    class Put(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:  # noqa: N802 # ast's own name
            return value if node.id == "x" else node

    changed: ast.expr = Put().visit(tree)
    return changed


def _detached(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    if isinstance(node, ast.Assign):
        changed = copy.copy(node)
        changed.value = ast.Call(ast.Attribute(node.value, "detach", ast.Load()), [], [])
        yield changed


def _error(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
        yield ast.Raise(ast.Call(ast.Name("RuntimeError", ast.Load()), [], []), None)


def _buffer(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    """`self.register_buffer("mask", value)` becomes `self.mask = value`."""
    if (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Attribute)
        and node.value.func.attr == "register_buffer"
    ):
        name, value = node.value.args[:2]
        assert isinstance(name, ast.Constant)
        target = ast.Attribute(ast.Name("self", ast.Load()), str(name.value), ast.Store())
        yield ast.Assign([target], value)


OPERATORS: Mapping[str, Operator] = {
    "arithmetic": _arithmetic,
    "operand left out": _operand_left_out,
    "operands swapped": _operands_swapped,
    "comparison": _comparison,
    "condition": _condition,
    "constant": _number,
    "sign": _sign,
    "call removed": _call_removed,
    "argument removed": _argument_removed,
    "arguments swapped": _arguments_swapped,
    "other function": _twin,
    "other name": _name,
    "other attribute": _attribute,
    "slice": _slice,
    "size": _size,
    "in place": _in_place,
    "statement removed": _statement_removed,
    "result": _result,
    "detached": _detached,
    "other error": _error,
    "no buffer": _buffer,
}
