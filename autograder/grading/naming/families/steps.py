"""What students write at a known step: a table from the step to other ways, each with its words.

A rewriting is a text in which `{e}` stands for the step as it is. What several texts do has the
same words: a family.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from .calls import of_call, of_tuple
from .expressions import Scope

#: a node that may take another's place, and what it does
Change = tuple[ast.AST, str]

_CUT = "the gradient ends on the way: the result can't train what it comes from"
_SINGLE = "something is made float32, whatever dtype is asked for"
_FIRST = "the first sample of a batch is used for all samples"
_HEAD = "the first head is used for all heads"
_ANOTHER = "one tensor or layer is used in the place of another"
_AXES = "two dimensions change places that should stay where they are"
_SCALE = "the scores are divided by the root of another size than the one asked for"
_NO_ROOT = "the scores are divided by a size itself, not by its root"
_LARGER = "the scores are multiplied where they should be divided"
_AXIS = "softmax runs along another dimension than the one asked for"
_FILL = "masked scores get a number that still leaves them weight"

#: of anything that is assigned or returned, and is no step of its own
_WRAPPED: tuple[tuple[str, str], ...] = (
    ("({e}).detach()", _CUT),
    ("({e}).float()", _SINGLE),
    ("({e}).round(decimals=4)", "numbers are rounded on the way"),
    ("({e}).round(decimals=3)", "numbers are rounded on the way"),
    ("({e}).round(decimals=2)", "numbers are rounded on the way"),
    ("({e})[:1].expand_as({e})", _FIRST),
    ("({e})[:, :1].expand_as({e})", _HEAD),
    ("({e}).mean(0, keepdim=True).expand_as({e})", "samples are averaged over the batch"),
    ("({e}).mean(1, keepdim=True).expand_as({e})", "numbers are averaged over dimension 1"),
    ("({e}).mT", "rows and columns of one tensor are swapped"),
    ("({e}).transpose(0, 1)", _AXES),
    ("({e}).transpose(1, 2)", _AXES),
    ("({e}).squeeze()", "dimensions of size one are dropped"),
    ("({e}).squeeze(0)", "a first dimension of size one is dropped"),
    ("({e}).flatten()", "the result is flattened"),
    ("({e}).flatten(0, 1)", "two dimensions become one"),
    ("({e}).transpose(1, 2).flatten(2)", "heads are merged that should stay apart"),
    ("({e}).flip(-1)", "numbers come in the opposite order"),
    ("({e}).flip(0)", "numbers come in the opposite order"),
    ("torch.softmax({e}, -1)", "a softmax is applied that is one too many"),
    ("({e}) / ({e}).norm(dim=-1, keepdim=True)", "vectors are brought to length one"),
    ("({e}) / ({e}).sum(-1, keepdim=True)", "rows are made to sum to one that should not be"),
    ("({e}) / ({e}).shape[-1]", "a mean is taken where a sum is asked for"),
    ("({e}) / ({e}).shape[-1] ** 0.5", "numbers are scaled by a root that is not asked for"),
    ("({e}) / ({e}).shape[-2] ** 0.5", "numbers are scaled by a root that is not asked for"),
    ("({e}).abs()", "the sign of numbers is lost"),
    ("-({e})", "numbers have the opposite sign"),
    ("torch.relu({e})", "a ReLU is applied that is one too many"),
    ("({e}).tril()", "what lies above the diagonal is set to 0"),
    ("({e}).sum(0)", "a sum runs over the first dimension"),
    ("({e}).sum(1)", "a sum runs over dimension 1"),
    ("({e}).sum(-1)", "a sum runs over the last dimension"),
    ("({e}).mean(1)", "a mean is taken over dimension 1"),
    ("({e}).unsqueeze(-1)", "the result has a dimension of size one too many"),
    ("({e}).unsqueeze(0)", "the result has a dimension of size one too many"),
    (
        "torch.where(({e}) == ({e}).amax(-1, keepdim=True), 1.0, 0.0).to({e})",
        "only the largest counts",
    ),
    ("({e}).tolist()", "a list comes back, not a tensor"),
)
_OF_SOFTMAX: tuple[tuple[str, str], ...] = (
    *((f"torch.softmax({{a}}, {dim})", _AXIS) for dim in (-1, -2, -3, 0, 1, 2)),
    ("torch.softmax(({a}).flatten(), 0).view(({a}).shape)", "one softmax runs over all scores"),
    ("torch.log_softmax({a}, -1)", "the logarithm of the weights is used"),
    ("torch.sigmoid({a})", "a sigmoid takes the place of softmax"),
    ("({a}) / ({a}).sum(-1, keepdim=True)", "scores are divided by their sum, without exponential"),
    ("torch.exp({a})", "the exponentials are not divided by their sum"),
    ("torch.softmax({a}, -1).tril()", "the future is set to 0 after softmax, and nothing follows"),
    ("torch.softmax(torch.softmax({a}, -1), -1)", "softmax is applied twice"),
    ("torch.softmax({a}, -1, dtype=torch.float32)", _SINGLE),
    ("torch.softmax(-({a}), -1)", "the scores have the opposite sign"),
)
_OF_MASK: tuple[tuple[str, str], ...] = (
    ("({s})", "the mask has no effect"),
    *((f"({{s}}).masked_fill({{m}}, {fill})", _FILL) for fill in (0, -1, -5, -10, -20, -100)),
    ("({s}).masked_fill({m}, 1e-9)", _FILL),
    ("({s}).masked_fill({m}, ({s}).min().item())", _FILL),
    ("({s}).masked_fill({m}, float('inf'))", "masked scores get plus infinity, not minus"),
    ("({s}).masked_fill(~({m}), -torch.inf)", "the mask is the other way round"),
    ("({s}).masked_fill(({m}).mT, -torch.inf)", "the past is hidden in place of the future"),
    ("({s}) + ({m}).to(({s}).dtype) * -torch.inf", "0 times minus infinity makes nan of scores"),
    (
        "({s}).masked_fill(({m}) | torch.eye(({m}).shape[-1], dtype=torch.bool), -torch.inf)",
        "a token does not see itself",
    ),
    (
        "({s}).masked_fill(({m}) & ~torch.ones_like({m}).triu(1).tril(1), -torch.inf)",
        "a token sees the next one",
    ),
)
_OF_SCALE: tuple[tuple[str, str], ...] = (
    ("({l}) / ({b}) ** 0.5", _SCALE),
    ("({l}) / ({b})", _NO_ROOT),
    ("({l}) * ({b}) ** 0.5", _LARGER),
    ("({l}) / int(({b}) ** 0.5)", "the root is cut to a whole number"),
    ("({l}) / round(({b}) ** 0.5)", "the root is rounded to a whole number"),
    ("({l}) / (({b}) / 2)", "the scores are divided by half of a size"),
    ("({l}) / ({b}) ** 0.25", "a fourth root takes the place of the root"),
)
_REDUCTIONS = ("sum", "mean", "var", "std", "amax", "max", "cat", "stack")


def steps(node: ast.AST, scope: Scope) -> Iterator[Change]:
    """Other ways to write one step, each with what it does."""
    if isinstance(node, ast.Assign | ast.Return) and node.value is not None:
        for text, words in _of_value(node.value, scope, isinstance(node, ast.Return)):
            new = _parsed(text)
            yield (ast.Return(new) if isinstance(node, ast.Return) else _assigned(node, new)), words
    for text, words in _of_step(node, scope):
        yield _parsed(text), words


def _of_value(value: ast.expr, scope: Scope, returned: bool) -> Iterator[tuple[str, str]]:
    if isinstance(value, ast.Tuple) and returned:
        yield from of_tuple(value)
    if isinstance(value, ast.Tuple | ast.Constant):
        return
    step = ast.unparse(value)
    for text, words in _WRAPPED:
        yield text.format(e=step), words
    for name in scope.names if returned else ():
        yield f"({step}) + {name}", "something is added to the result that does not belong there"
        yield f"({step}), {name}", "more comes back than is asked for"
        yield name, "a step on the way is returned, not the last one"


def _of_step(node: ast.AST, scope: Scope) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Call):
        called = ast.unparse(node.func).rsplit(".", 1)[-1]
        yield from of_call(node, called)
        if called == "softmax" and node.args:
            yield from _filled(_OF_SOFTMAX, a=ast.unparse(node.args[0]))
            yield from _divided_afterwards(node.args[0])
        if called == "masked_fill" and isinstance(node.func, ast.Attribute):
            parts = {"s": ast.unparse(node.func.value), "m": ast.unparse(node.args[0])}
            yield from _filled(_OF_MASK, **parts)
        if called in _REDUCTIONS:
            yield from _along_others(node, called)
        if called == "relu" and node.args:
            yield f"torch.nn.functional.gelu({ast.unparse(node.args[0])})", "GELU, not ReLU"
            yield f"torch.nn.functional.leaky_relu({ast.unparse(node.args[0])})", "a leaky ReLU"
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        yield from _scaled(node, scope)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        left, right = ast.unparse(node.left), ast.unparse(node.right)
        yield f"({left}).mT @ ({right})", "one side of a product is transposed that should not be"
        yield f"({left}) @ ({right}).mT", "one side of a product is transposed that should not be"
        yield f"({right}) @ ({left})", "the two sides of a product change places"


def _divided_afterwards(scores: ast.expr) -> Iterator[tuple[str, str]]:
    if isinstance(scores, ast.BinOp) and isinstance(scores.op, ast.Div):
        left, right = ast.unparse(scores.left), ast.unparse(scores.right)
        yield f"torch.softmax({left}, -1) / ({right})", "the weights are divided, not the scores"


def _along_others(node: ast.Call, called: str) -> Iterator[tuple[str, str]]:
    for index, keyword in enumerate(node.keywords):
        if keyword.arg == "dim":
            for dim in (-1, -2, 0, 1):
                others = [*node.keywords]
                others[index] = ast.keyword("dim", ast.Constant(dim))
                text = ast.unparse(ast.Call(node.func, node.args, others))
                yield text, f"`{called}` runs along another dimension than the one asked for"


def _scaled(node: ast.BinOp, scope: Scope) -> Iterator[tuple[str, str]]:
    left, right = ast.unparse(node.left), ast.unparse(node.right)
    for small in ("1e-3", "1e-5", "1e-6", "1e-8", "1e-9"):
        yield f"({left}) / (({right}) + {small})", "a small constant is added to the divisor"
    if "** 0.5" not in right and "sqrt" not in right:
        return
    for size in (right.replace(" ** 0.5", ""), *_sizes(scope), "2", "3", "4", "5", "8", "16", "64"):
        yield from _filled(_OF_SCALE, l=left, b=size)


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


#: words of the small changes that any code may have; others are for the mutation run only
OPERATOR_WORDS: Mapping[str, str] = {
    "arithmetic": "one operation is another than the one asked for",
    "operand left out": "one step is left out",
    "operands swapped": "the two sides of one operation change places",
    "call removed": "one step is left out",
    "arguments swapped": "two things change places",
    "other attribute": _ANOTHER,
    "other name": _ANOTHER,
    "in place": "an operation writes into the caller's tensor",
    "result": "the result loses its gradient, its dtype or a dimension of size one",
    "detached": _CUT,
    "other error": "an error of another class is raised than the one asked for",
    "no buffer": "what belongs to the module does not move with it",
    "statement removed": "one step is left out",
    "comparison": "a comparison is another than the one asked for",
    "condition": "a condition is another than the one asked for, or none",
    "other function": "another function is called than the one asked for",
    "slice": "a slice is too long or too short",
    "size": "a size is one too large or too small",
    "sign": _FILL,
}
