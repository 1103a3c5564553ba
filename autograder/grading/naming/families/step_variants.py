"""Makes wrong versions of known steps, as defined by the tables in `steps.toml`."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator, Mapping
from itertools import combinations, permutations

from .expressions import Scope
from .step_tables import ADDED, CHECK, LAYERS, OF_TURNED
from .words import STEPS, Rows

_WRAPPED, _OPERATIONS = STEPS["wrapped"], STEPS["of_operations"]
#: the maximum number of names in a function that are compared in a check
_MOST_COMPARED = 4
#: if a called name has one of these prefixes, it is a function, and not a method
_MODULES = ("self", "torch", "torch.nn", "torch.nn.functional")
_ORDERS = ast.Lt | ast.LtE | ast.Gt | ast.GtE
#: an expression whose last step swaps dimensions
_TURNED = re.compile(r"\.(?:m?T|transpose\([^()]*\))$")
#: a node that may replace a different one, and the key of the change's family
Change = tuple[ast.AST, str]
#: such a change, with the node as text
Text = tuple[str, str]


def steps(node: ast.AST, scope: Scope) -> Iterator[Change]:
    """Yields wrong versions of a step, each with the key of the mistake's family."""
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        for text, words in _of_value(node.value):
            yield ast.Assign(node.targets, _parsed(text)), words
    if isinstance(node, ast.Return) and node.value is not None:
        for text, words in _of_result(node.value, scope):
            yield ast.Return(_parsed(text)), words
    if isinstance(node, ast.FunctionDef) and node.name != "__init__":
        yield from _with_swapped_layers(node, scope)
        yield from _with_changed_arguments(node)
    if isinstance(node, ast.If) and isinstance(node.body[0], ast.Raise):
        yield ast.Pass(), CHECK
        for one, other in permutations(scope.names[:_MOST_COMPARED], 2):
            refused = _parsed(f"({ast.unparse(node.test)}) or {one} > {other}")
            yield ast.If(refused, node.body, node.orelse), "what_is_allowed_is_refused"
    for text, words in _of_step(node, scope):
        yield _parsed(text), words


def _with_swapped_layers(function: ast.FunctionDef, scope: Scope) -> Iterator[Change]:
    """Swaps two attributes that the function calls or multiplies with `@`; yields each version."""
    used: set[str] = set()
    for part in ast.walk(function):
        operands = [part.func] if isinstance(part, ast.Call) else []
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.MatMult):
            operands = [part.left, part.right]
        used |= {operand.attr for operand in operands if isinstance(operand, ast.Attribute)}
    for one, other in combinations([name for name in scope.attributes if name in used], 2):
        yield _Renamed({one: other, other: one}).visit(copy.deepcopy(function)), LAYERS


def _with_changed_arguments(function: ast.FunctionDef) -> Iterator[Change]:
    """Yields versions of a function that begin by changing one of its tensor arguments."""
    for arg in function.args.args:
        rows = STEPS["of_arguments"] if ast.unparse(arg).endswith(": torch.Tensor") else ()
        for text, words in _filled(rows, a=arg.arg):
            new = copy.copy(function)
            new.body = [ast.Assign([ast.Name(arg.arg, ast.Store())], _parsed(text)), *function.body]
            yield new, words


class _Renamed(ast.NodeTransformer):
    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        node.attr = self._names.get(node.attr, node.attr)
        return self.generic_visit(node)


def _of_value(value: ast.expr) -> Iterator[Text]:
    """Yields changes to an assigned or returned value, unless it is a tuple or a constant."""
    if not isinstance(value, ast.Tuple | ast.Constant):
        yield from _filled(_WRAPPED, e=ast.unparse(value))


def _of_result(value: ast.expr, scope: Scope) -> Iterator[Text]:
    yield from _of_value(value)
    if isinstance(value, ast.Tuple):
        items = [ast.unparse(item) for item in value.elts]
        yield from _of_tuple(items)
        for name in _later_first(scope):
            yield f"({items[0]} + {name}, {', '.join(items[1:])})", ADDED
    elif not isinstance(value, ast.Constant):
        step = ast.unparse(value)
        yield from _filled(STEPS["returned"], e=step)
        names = {name: name for name in scope.names}
        for name in scope.names[:2]:  # arguments
            yield from _filled(STEPS["with_argument"], **{**names, "e": step, "a": name})
        for name in _later_first(scope):
            yield from _filled(STEPS["with_name"], e=step, n=name)


def _later_first(scope: Scope) -> tuple[str, ...]:
    """Returns the first two names, then the others in reverse order: later names are likelier."""
    return (*scope.names[:2], *scope.names[:1:-1])


def _of_tuple(items: list[str]) -> Iterator[Text]:
    """Yields single results of a tuple, all of them stacked, and all in a different order."""
    for index, item in enumerate(items):
        yield item, "less_comes_back_than_is_asked_for"
        yield f"torch.stack([{', '.join(items)}])", "one_tensor_comes_back_in_place_of_several"
        turned = [*items[index + 1 :], *items[: index + 1]]
        if turned != items:
            yield f"({', '.join(turned)})", "the_results_come_back_in_another_order"
    yield f"({', '.join(reversed(items))})", "the_results_come_back_in_another_order"


def _of_step(node: ast.AST, scope: Scope) -> Iterator[Text]:
    """Yields changes to a call, an operation, an attribute or a subscript."""
    if isinstance(node, ast.Call):
        yield from _of_call(node, {"self": "self"} if scope.attributes else {})
    if isinstance(node, ast.BinOp):
        sides = {"l": ast.unparse(node.left), "r": ast.unparse(node.right)}
        yield from _of_sides(_OPERATIONS.get(type(node.op).__name__, ()), sides)
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


def _of_sides(rows: Rows, sides: Mapping[str, str]) -> Iterator[Text]:
    """Yields changes to an operation with two operands.

    To transpose an operand a second time is to undo its transposition. Such a change is left out,
    or belongs to a different family (see `OF_TURNED`).
    """
    turned = [f"({side}).mT" for side in sides.values() if _TURNED.search(side)]
    for text, words in _filled(rows, **sides):
        if not any(side in text for side in turned):
            yield text, words
        elif words in OF_TURNED:
            yield text, OF_TURNED[words]


def _of_call(node: ast.Call, names: Mapping[str, str]) -> Iterator[Text]:
    """Yields changes to a call, such as other keywords; outside a class, `names` is empty."""
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
    parts["step"] = given[2] if len(given) > 2 else "1"
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


def _scaled(left: str, right: str, scope: Scope) -> Iterator[Text]:
    """Yields divisions by different numbers, such as the square root of a different size."""
    if "** 0.5" not in right and "sqrt" not in right:
        yield from _filled(STEPS["of_divisors"], l=left, r=right)
        return
    own = right.removesuffix(" ** 0.5").replace("math.sqrt", "")
    yield from _filled(STEPS["of_scale"], l=left, b=own)
    for size in (*_sizes(scope), "2", "3", "4", "5", "8", "16", "64"):
        yield from _filled(STEPS["of_other_sizes"], l=left, b=size)


def _sizes(scope: Scope) -> Iterator[str]:
    """Yields sizes, first those of arguments, because computed tensors often share these."""
    for name in scope.names[:2]:
        yield from (f"{name}.shape[{dim}]" for dim in (-1, -2, 0, 1))
    yield from (f"self.{name}" for name in scope.attributes)
    yield from scope.names
    if "mask" in scope.attributes:
        yield "self.mask.shape[-1]"


def _filled(rows: Rows, /, *arguments: str, **parts: str) -> Iterator[Text]:
    """Yields rows with their placeholders filled in; skips rows if a placeholder has no value."""
    for text, words in rows:
        try:
            yield text.format(*arguments, **parts), words
        except (KeyError, IndexError):
            continue


def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body
