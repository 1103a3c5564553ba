"""Other ways to write a known step, each with its effect, from the tables in `steps.toml`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from itertools import permutations

from .expressions import Scope
from .name_changes import of_whole, renamed
from .step_tables import CHECK, OF_FIRST_CALL, OF_TURNED, ORDER, OVERFLOWS
from .words import STEPS, Rows

_WRAPPED, _OPERATIONS = STEPS["wrapped"], STEPS["of_operations"]
_MOST_DIMENSIONS = 4
#: the most names of a function that are compared in a check
_MOST_COMPARED = 4
#: prefixes of a called name that make it a function, not a method
_MODULES = ("self", "torch", "torch.nn", "torch.nn.functional")
_ORDERS = ast.Lt | ast.LtE | ast.Gt | ast.GtE
#: an expression whose last step swaps dimensions
_TURNED = re.compile(r"\.(?:m?T|transpose\([^()]*\))$")
#: a node that may replace another one, and its effect
Change = tuple[ast.AST, str]
#: such a change, with the node as text
Text = tuple[str, str]


def steps(node: ast.AST, scope: Scope) -> Iterator[Change]:
    """Yields other ways to write one step, each with its effect."""
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        for text, words in _of_value(node.value, scope):
            yield ast.Assign(node.targets, _parsed(text)), words
    if isinstance(node, ast.Return) and node.value is not None:
        for text, words in _of_result(node.value, scope):
            yield ast.Return(_parsed(text)), words
    yield from of_whole(node, scope)
    if isinstance(node, ast.If) and isinstance(node.body[0], ast.Raise):
        yield ast.Pass(), CHECK
        for one, other in permutations(scope.names[:_MOST_COMPARED], 2):
            refused = _parsed(f"({ast.unparse(node.test)}) or {one} > {other}")
            yield ast.If(refused, node.body, node.orelse), "what_is_allowed_is_refused"
    if isinstance(node, ast.FunctionDef):
        yield from _overflowing(node)
    for text, words in _of_step(node, scope):
        yield _parsed(text), words
    if isinstance(node, ast.Slice) and isinstance(node.lower, ast.BinOp):
        yield from _of_slice(node.lower, scope)


def _of_value(value: ast.expr, scope: Scope) -> Iterator[Text]:
    """Yields changes of any value that gets a name or is returned, and is not a step itself."""
    if not isinstance(value, ast.Tuple | ast.Constant):
        yield from _filled(_WRAPPED, e=ast.unparse(value))
        for text in STEPS["kept"] if scope.attributes else ():
            yield text.format(e=ast.unparse(value)), OF_FIRST_CALL


def _of_result(value: ast.expr, scope: Scope) -> Iterator[Text]:
    """Yields changes of a returned value."""
    yield from _of_value(value, scope)
    if isinstance(value, ast.Tuple):
        yield from _of_tuple([ast.unparse(item) for item in value.elts])
    elif not isinstance(value, ast.Constant):
        step = ast.unparse(value)
        yield from _filled(STEPS["returned"], e=step)
        names = {name: name for name in scope.names}
        for name in scope.names[:2]:  # arguments
            yield from _filled(STEPS["with_argument"], **{**names, "e": step, "a": name})
        for name in scope.names:
            yield from _filled(STEPS["with_name"], e=step, n=name)


def _of_tuple(items: list[str]) -> Iterator[Text]:
    """Yields each of several results alone, and all of them in a different order."""
    for index, item in enumerate(items):
        yield item, "less_comes_back_than_is_asked_for"
        yield f"torch.stack([{', '.join(items)}])", "one_tensor_comes_back_in_place_of_several"
        turned = [*items[index + 1 :], *items[: index + 1]]
        if turned != items:
            yield f"({', '.join(turned)})", "the_results_come_back_in_another_order"
    yield f"({', '.join(reversed(items))})", "the_results_come_back_in_another_order"


def _overflowing(function: ast.FunctionDef) -> Iterator[Change]:
    """Yields a function that uses plain exponentials in several steps at once."""
    calls = [part for part in ast.walk(function) if isinstance(part, ast.Call)]
    texts = {
        ast.unparse(call): text
        for call in calls
        for text, words in _of_call(call, {})
        if words == OVERFLOWS
    }
    if len(texts) > 1:
        yield renamed(function, texts), OVERFLOWS


def _of_step(node: ast.AST, scope: Scope) -> Iterator[Text]:
    """Yields other texts for a call or an operation."""
    if isinstance(node, ast.Call):
        yield from _of_call(node, {"self": "self"} if scope.attributes else {})
    if isinstance(node, ast.BinOp):
        sides = {"l": ast.unparse(node.left), "r": ast.unparse(node.right)}
        yield from _of_sides(_OPERATIONS.get(type(node.op).__name__, ()), sides)
        yield from _in_another_order(node)
        if isinstance(node.op, ast.Sub) and sides["l"] == "1":
            yield from _filled(STEPS["of_the_rest"], **sides)
        if isinstance(node.op, ast.Div):
            yield from _scaled(sides["l"], sides["r"], scope)
        if isinstance(node.op, ast.MatMult) and isinstance(node.left, ast.Call):
            for text, words in _filled(_WRAPPED, e=sides["l"]):  # the result has no name of its own
                yield f"({text}) @ ({sides['r']})", words
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], _ORDERS):
        left, right = ast.unparse(node.left), ast.unparse(node.comparators[0])
        operator = ast.unparse(node).removeprefix(left).split()[0]
        yield from _filled(_OPERATIONS["Compare"], l=left, op=operator, r=right)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
        yield from _filled(_OPERATIONS["Invert"], ast.unparse(node.operand))
    if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "self":
        yield from _filled(_OPERATIONS["Attribute"], ast.unparse(node))
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Name):
        yield from _filled(_OPERATIONS["Subscript"], ast.unparse(node.value), node.slice.id)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
        yield from _of_new_dimensions(node, node.slice)


def _of_sides(rows: Rows, sides: Mapping[str, str]) -> Iterator[Text]:
    """Yields rows for the two sides of an operation, without double transposes."""
    turned = [f"({side}).mT" for side in sides.values() if _TURNED.search(side)]
    for text, words in _filled(rows, **sides):
        if not any(side in text for side in turned):
            yield text, words
        elif words in OF_TURNED:
            yield text, OF_TURNED[words]


def _of_call(node: ast.Call, names: Mapping[str, str]) -> Iterator[Text]:
    """Yields other calls, and other values of keywords; `names` is empty outside of classes."""
    given, named = [*map(ast.unparse, node.args)], {k.arg or "": k.value for k in node.keywords}
    if any(isinstance(arg, ast.Starred) for arg in node.args) or "" in named:
        return
    function = ast.unparse(node.func)
    owner, _, called = function.rpartition(".")
    texts = [f"{name}={ast.unparse(value)}" for name, value in named.items()]
    is_method = isinstance(node.func, ast.Attribute) and owner not in _MODULES
    arguments = [owner] * is_method + given + texts
    parts = {**names, **{name: ast.unparse(value) for name, value in named.items()}}
    parts |= {"all": ast.unparse(node), "f": function, "called": called}
    parts |= {"given": ", ".join(given), "named": ", ".join(texts)}
    parts["rest"] = ", ".join(arguments[1:])
    parts["diagonal"] = arguments[1].rpartition("=")[2] if len(arguments) > 1 else "0"
    if node.args and isinstance(node.args[0], ast.BinOp):
        parts |= {"l": ast.unparse(node.args[0].left), "r": ast.unparse(node.args[0].right)}
        parts |= {"minus": parts["r"]} if isinstance(node.args[0].op, ast.Sub) else {}
        if isinstance(node.args[0].op, ast.Add) and len(node.args) == 1:
            yield from _filled(STEPS["of_sums"], *arguments, **parts)
    yield from _filled(STEPS["of_calls"].get(called, ()), *arguments, **parts)
    if called in ("cat", "stack") and not isinstance(node.args[0], ast.List):
        yield from _filled(STEPS["of_parts"], *arguments, **parts)
    if owner == "self" and len(given) == 1:
        yield from _filled(STEPS["of_layers"], *arguments, **parts)
    for name, words, values in STEPS["keywords"].get(called, ()):
        others = [text for text in (*given, *texts) if not text.startswith(f"{name}=")]
        for value in values if name in named or name != "dim" else ():
            alone = [text for text in others if not text.startswith("keepdim=")]
            text = ", ".join([*others, f"{name}={value}"] if value else alone)
            yield f"{function}({text})", words


def _in_another_order(node: ast.BinOp) -> Iterator[Text]:
    """Yields operations with moved parentheses: (a / b) * c and a / (b * c)."""
    left, right = node.left, node.right
    if isinstance(left, ast.BinOp) and type(left.op) is not type(node.op):
        last = ast.BinOp(left.right, node.op, right)
        yield ast.unparse(ast.BinOp(left.left, left.op, last)), ORDER
    if isinstance(right, ast.BinOp) and type(right.op) is not type(node.op):
        first = ast.BinOp(left, node.op, right.left)
        yield ast.unparse(ast.BinOp(first, right.op, right.right)), ORDER


def _of_new_dimensions(node: ast.Subscript, index: ast.Tuple) -> Iterator[Text]:
    """Yields the same dimensions in a different order: `x[:, None, None, :]`."""
    parts = [ast.unparse(part) for part in index.elts]
    if "None" in parts and len(parts) <= _MOST_DIMENSIONS:
        for order in sorted(set(permutations(parts)) - {tuple(parts)}):
            text = f"{ast.unparse(node.value)}[{', '.join(order)}]"
            yield text, "a_dimension_of_size_one_stands_in_another_place_than_the"


def _of_slice(lower: ast.BinOp, scope: Scope) -> Iterator[Change]:
    """Yields other bounds for slices into equal parts."""
    number, size = ast.unparse(lower.left), ast.unparse(lower.right)
    for part in (
        f"{number}:{number} + {size}",
        f"{number} * {size}:{number} * {size} + 1",
        *(f"{number}::{name}" for name in scope.names),
    ):
        found = _parsed(f"x[{part}]")
        assert isinstance(found, ast.Subscript)
        yield found.slice, "parts_overlap_or_have_gaps_that_should_lie_side_by_side"


def _scaled(left: str, right: str, scope: Scope) -> Iterator[Text]:
    """Yields other divisors, such as a root of another number, or a rounded root."""
    if "** 0.5" not in right and "sqrt" not in right:
        yield from _filled(STEPS["of_divisors"], l=left, r=right)
        return
    own = right.removesuffix(" ** 0.5").replace("math.sqrt", "")
    yield from _filled(STEPS["of_scale"], l=left, b=own)
    for size in (*_sizes(scope), "2", "3", "4", "5", "8", "16", "64"):
        yield from _filled(STEPS["of_other_sizes"], l=left, b=size)


def _sizes(scope: Scope) -> Iterator[str]:
    yield from scope.names
    for name in scope.names[:2]:  # arguments: values computed from them have their sizes
        yield from (f"{name}.shape[{dim}]" for dim in (-1, -2, 0, 1))
    yield from (f"self.{name}" for name in scope.attributes)
    if "mask" in scope.attributes:
        yield "self.mask.shape[-1]"


def _filled(rows: Rows, /, *arguments: str, **parts: str) -> Iterator[Text]:
    """Yields rows with their parts filled in; skips those that need a missing part."""
    for text, words in rows:
        try:
            yield text.format(*arguments, **parts), words
        except (KeyError, IndexError):
            continue


def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body
