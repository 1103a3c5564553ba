"""Other ways to write a known step, each with what it does."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import permutations

from .calls import OTHER_WAY_ROUND, of_call, of_tuple
from .expressions import Scope
from .names import of_whole
from .tables import (
    CUT,
    KEPT,
    OF_FIRST_CALL,
    OF_MASK,
    OF_SCALE,
    OF_SOFTMAX,
    OPERATOR_WORDS,
    ORDER,
    RETURNED,
    WRAPPED,
)

_MOST_DIMENSIONS = 4
#: a node that may take another's place, and what it does
Change = tuple[ast.AST, str]

_REDUCTIONS = (
    *("sum", "mean", "var", "std", "amax", "max", "cat", "stack", "repeat_interleave"),
    *("logsumexp", "chunk"),
)


#: steps that may hang on the mode, and its words
_ON_MODE = {"masked_fill": "the mask", "dropout": "dropout"}
_WHEN = {"": "in training", "not ": "in evaluation"}


def steps(node: ast.AST, scope: Scope) -> Iterator[Change]:
    """Other ways to write one step, each with what it does."""
    if isinstance(node, ast.Assign | ast.Return) and node.value is not None:
        for text, words in _of_value(node.value, scope, isinstance(node, ast.Return)):
            new = _parsed(text)
            yield (ast.Return(new) if isinstance(node, ast.Return) else _assigned(node, new)), words
    yield from of_whole(node, scope)
    for text, words in _of_step(node, scope):
        yield _parsed(text), words
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
        for text, words in _of_new_dimensions(node, node.slice):
            yield _parsed(text), words
    yield from _of_factor(node)
    if isinstance(node, ast.Slice) and isinstance(node.lower, ast.BinOp):
        yield from _of_slice(node.lower, scope)


def _of_value(value: ast.expr, scope: Scope, returned: bool) -> Iterator[tuple[str, str]]:
    if isinstance(value, ast.Tuple) and returned:
        yield from of_tuple(value)
    if isinstance(value, ast.Tuple | ast.Constant):
        return
    step = ast.unparse(value)
    for text, words in WRAPPED:
        yield text.format(e=step), words
    for text, words in RETURNED if returned else ():
        yield text.format(e=step), words
    if scope.attributes:
        yield from ((text.format(e=step), OF_FIRST_CALL) for text in KEPT)
    for name in scope.names[:2] if returned else ():  # arguments
        yield f"({step}) / {name}.norm(dim=-1)", "the result is divided by the length of a vector"
        yield f"{name}.sum(1)", "a sum runs over dimension 1"
        yield f"{name}.mean(1)", "a mean is taken over dimension 1"
        root = f"({step}) / {name}.shape[-1] ** 0.5"
        yield root, "numbers are scaled by a root that is not asked for"
    if returned and "p" in scope.names:
        yield f"({step}) * (1 - p)", "the result is multiplied by 1 - p where it should not be"
    for name in scope.names if returned else ():
        yield f"({step}) + {name}", "something is added to the result that does not belong there"
        yield f"({step}), {name}", "more comes back than is asked for"
        yield name, "a step on the way is returned, not the last one"


def _of_step(node: ast.AST, scope: Scope) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Call):
        called = ast.unparse(node.func).rsplit(".", 1)[-1]
        yield from of_call(node, called)
        if called == "softmax" and node.args:
            yield from _filled(OF_SOFTMAX, a=ast.unparse(node.args[0]))
            yield from _divided_afterwards(node.args[0])
        if called in _ON_MODE and isinstance(node.func, ast.Attribute):
            step = ast.unparse(node)
            kept = node.args[0] if ast.unparse(node.func).startswith("self.") else node.func.value
            for when in ("", "not ") if scope.attributes else ():
                yield (
                    f"({step}) if {when}self.training else ({ast.unparse(kept)})",
                    f"{_ON_MODE[called]} is applied {_WHEN[when]} only",
                )
        if called == "masked_fill" and isinstance(node.func, ast.Attribute):
            parts = {"s": ast.unparse(node.func.value), "m": ast.unparse(node.args[0])}
            yield from _filled(OF_MASK, **parts)
        if called in _REDUCTIONS:
            yield from _along_others(node, called)
        if called == "relu" and node.args:
            yield f"torch.nn.functional.gelu({ast.unparse(node.args[0])})", "GELU, not ReLU"
            yield f"torch.nn.functional.leaky_relu({ast.unparse(node.args[0])})", "a leaky ReLU"
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
        yield ast.unparse(node.operand), OTHER_WAY_ROUND
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        yield from _scaled(node, scope)
    if isinstance(node, ast.BinOp):
        yield from _in_another_order(node)
    if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "self":
        yield f"{ast.unparse(node)}.detach()", CUT
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = ast.unparse(node.left), ast.unparse(node.right)
        yield f"({left}) + ({left}) + ({right})", "one part of a sum is added twice"
        yield f"({left}) + ({right}) + ({right})", "one part of a sum is added twice"
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        text = f"({ast.unparse(node.left)}) / ({ast.unparse(node.right)})"
        yield text, OPERATOR_WORDS["arithmetic"]
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Name):
        yield from _of_index(ast.unparse(node.value), node.slice.id)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        left, right = ast.unparse(node.left), ast.unparse(node.right)
        yield f"({left}).mT @ ({right})", "one side of a product is transposed that should not be"
        yield f"({left}) @ ({right}).mT", "one side of a product is transposed that should not be"
        yield f"({right}) @ ({left})", "the two sides of a product change places"
        yield f"(({left}) * ({left})).sum(-1)", "every vector is multiplied with itself"
        yield f"(({left}) * ({right})).sum(0)", "a sum runs over the first dimension"
        yield f"(({left}) - ({right})).square().sum(-1)", "distances take the place of products"
        yield f"torch.ones_like({left}) @ ({right})", "the weights of a sum are left out"
        yield f"({left}).mT @ ({right}).mT", "both sides of a product are transposed"
        mean = "a plain mean is taken where a weighted sum is asked for"
        yield f"torch.ones_like({left}) @ ({right}) / ({left}).shape[-1]", mean


def _in_another_order(node: ast.BinOp) -> Iterator[tuple[str, str]]:
    """Parentheses in another place: (a / b) * c and a / (b * c)."""
    left, right = node.left, node.right
    if isinstance(left, ast.BinOp) and type(left.op) is not type(node.op):
        last = ast.BinOp(left.right, node.op, right)
        yield ast.unparse(ast.BinOp(left.left, left.op, last)), ORDER
    if isinstance(right, ast.BinOp) and type(right.op) is not type(node.op):
        first = ast.BinOp(left, node.op, right.left)
        yield ast.unparse(ast.BinOp(first, right.op, right.right)), ORDER


def _of_factor(node: ast.AST) -> Iterator[Change]:
    """What may be done to the left side of a product that has no name of its own."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.MatMult):
        return
    if isinstance(node.left, ast.Call):
        step = ast.unparse(node.left)
        for text, words in WRAPPED:
            yield ast.BinOp(_parsed(text.format(e=step)), node.op, node.right), words


def _of_index(value: str, index: str) -> Iterator[tuple[str, str]]:
    """Other rows than those asked for."""
    words = "rows are taken one too early or too late"
    yield f"({value})[({index} + 1).clamp(max=len({value}) - 1)]", words
    yield f"({value})[({index} + 1) % len({value})]", words
    yield f"({value})[({index} - 1).clamp(min=0)]", words
    yield f"({value})[{index} - 1]", words


def _of_new_dimensions(node: ast.Subscript, index: ast.Tuple) -> Iterator[tuple[str, str]]:
    """The same dimensions in another order: `x[:, None, None, :]`."""
    parts = [ast.unparse(part) for part in index.elts]
    if "None" in parts and len(parts) <= _MOST_DIMENSIONS:
        for order in sorted(set(permutations(parts)) - {tuple(parts)}):
            text = f"{ast.unparse(node.value)}[{', '.join(order)}]"
            yield text, "a dimension of size one stands in another place than the one asked for"


def _of_slice(lower: ast.BinOp, scope: Scope) -> Iterator[Change]:
    """Where equal parts begin and end."""
    number, size = ast.unparse(lower.left), ast.unparse(lower.right)
    for part in (
        f"{number}:{number} + {size}",
        f"{number} * {size}:{number} * {size} + 1",
        *(f"{number}::{name}" for name in scope.names),
    ):
        found = _parsed(f"x[{part}]")
        assert isinstance(found, ast.Subscript)
        yield found.slice, "parts overlap, or have gaps, that should lie side by side"


def _divided_afterwards(scores: ast.expr) -> Iterator[tuple[str, str]]:
    if isinstance(scores, ast.BinOp) and isinstance(scores.op, ast.Div):
        left, right = ast.unparse(scores.left), ast.unparse(scores.right)
        yield f"torch.softmax({left}, -1) / ({right})", "the weights are divided, not the scores"


def _along_others(node: ast.Call, called: str) -> Iterator[tuple[str, str]]:
    for index, keyword in enumerate(node.keywords):
        if keyword.arg == "dim":
            kept = ", ".join(map(ast.unparse, node.args))
            yield f"{ast.unparse(node.func)}({kept})", f"`{called}` runs over all numbers at once"
            for dim in (-1, -2, 0, 1, 2):
                others = [*node.keywords]
                others[index] = ast.keyword("dim", ast.Constant(dim))
                text = ast.unparse(ast.Call(node.func, node.args, others))
                yield text, f"`{called}` runs along another dimension than the one asked for"


def _scaled(node: ast.BinOp, scope: Scope) -> Iterator[tuple[str, str]]:
    left, right = ast.unparse(node.left), ast.unparse(node.right)
    for small in ("1e-3", "1e-4", "1e-5", "1e-6", "1e-8", "1e-9"):
        yield f"({left}) / (({right}) + {small})", "a small constant is added to the divisor"
    if "** 0.5" not in right and "sqrt" not in right:
        for power in ("0.5", "2"):
            yield (
                f"({left}) / ({right}) ** {power}",
                "the divisor is a root or a square of the right one",
            )
        return
    for size in (right.replace(" ** 0.5", ""), *_sizes(scope)):
        yield from _filled(OF_SCALE, l=left, b=size)
    for number in ("2", "3", "4", "5", "8", "16", "64"):  # of small ones the root may be cut to 1
        yield from _filled(OF_SCALE[:2], l=left, b=number)


def _sizes(scope: Scope) -> Iterator[str]:
    for name in scope.names:
        yield name
    for name in scope.names[:2]:  # arguments: what is made of them has their sizes
        yield from (f"{name}.shape[{dim}]" for dim in (-1, -2, 0, 1))
    for name in scope.attributes:
        yield f"self.{name}"
    if "mask" in scope.attributes:
        yield "self.mask.shape[-1]"


def _filled(table: tuple[tuple[str, str], ...], **parts: str) -> Iterator[tuple[str, str]]:
    return ((text.format(**parts), words) for text, words in table)


def _assigned(node: ast.Assign, value: ast.expr) -> ast.Assign:
    return ast.Assign(node.targets, value)


def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body
