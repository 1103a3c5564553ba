"""Checks answers for a second star, a challenge to give the same answer under a constraint.

The second star is never graded.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

from ..course.manifest import CONSTRAINTS, read_stars
from ..errors import UserError

#: the names of matrix products
_PRODUCTS = frozenset(
    {
        *("matmul", "mm", "bmm", "mv", "dot", "inner", "tensordot", "addmm", "baddbmm", "linear"),
        *("scaled_dot_product_attention", "vecdot", "multi_dot", "chain_matmul"),
    }
)
#: functions that call another function for each item
_LOOPING = frozenset({"map", "vmap", "reduce", "starmap", "vectorize"})
_LOOPS = (ast.For, ast.While, ast.comprehension)
_WIDEST = 100
#: the signs for a star that is offered or earned, and their replacements for streams that can't
#: show them
SIGNS = {"☆": "-", "★": "*"}
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def _one_line(definition: ast.stmt, text: str) -> str:
    body = [node for node in _function(definition).body if not _is_docstring(node)]
    if len(body) > 1:
        return f"there are {len(body)} statements below the docstring"
    lines = (body[0].end_lineno or 0) - body[0].lineno + 1 if body else 0
    if lines != 1:
        return f"the statement takes {lines} lines"
    width = len(text.splitlines()[body[0].lineno - 1])
    return f"the line has {width} characters, and at most {_WIDEST} fit" * (width > _WIDEST)


def _no_loop(definition: ast.stmt, text: str) -> str:
    for node in ast.walk(definition):
        name = _name(node.func) if isinstance(node, ast.Call) else ""
        if isinstance(node, _LOOPS) or name in _LOOPING:
            at = node.target if isinstance(node, ast.comprehension) else node
            return f"this is a loop: {_line(text, at)}"
        if name == getattr(definition, "name", ""):
            return f"a function that calls itself is a loop: {_line(text, node)}"
    return ""


def _no_product(definition: ast.stmt, text: str) -> str:
    for node in ast.walk(definition):
        operator = node.op if isinstance(node, ast.BinOp | ast.AugAssign) else None
        name = _name(node.func) if isinstance(node, ast.Call) else ""
        if isinstance(operator, ast.MatMult) or name in _PRODUCTS:
            return f"this is a matrix product: {_line(text, node)}"
    return ""


#: each constraint, with the function that finds code that breaks it
RULES: dict[str, Callable[[ast.stmt, str], str]] = dict(
    zip(CONSTRAINTS, (_one_line, _no_loop, _no_product), strict=True)
)


_OFFERS = dict(
    zip(
        CONSTRAINTS,
        (
            "can you do it in one line",
            "can you do it without a loop",
            "can you do it without @ or any other matrix product (einsum is allowed)",
        ),
        strict=True,
    )
)


def broken(question: str, rule: str, text: str) -> str:
    """Returns how a question's last definition in `text` breaks a rule, or "" if it does not.

    Only the definition itself counts, not the functions that it calls; in a class, "one line"
    refers to `forward`. Raises `UserError` for an unknown rule.
    """
    if rule not in RULES:
        known = ", ".join(f'"{name}"' for name in RULES)
        raise UserError(f"no second star is called {rule!r}; known: {known}")
    found = [node for node in _definitions(text) if node.name == question]
    return RULES[rule](found[-1], text) if found else "the definition was not found"


def star_line(folder: Path, question: str, rule: str, text: str, call: str) -> str:
    """Returns a line about a passed question's second star, which is an optional challenge.

    With a `rule`, the line says whether the answer in `text` obeys the rule. Without a rule, the
    line says whether the second star that the question offers has been earned and, if not, how to
    earn it; the line is "" if the question offers no second star. `call` is the text of a call that
    checks a star, with placeholders for the question and the rule. Raises `UserError` for an
    unknown rule.
    """
    wanted = rule or read_stars(folder).get(question, "")
    if not wanted or (not rule and wanted not in RULES):
        return ""
    problem = broken(question, wanted, text)
    if not problem:
        again = f", checked by {call.format(question, wanted)}"
        return f"★ second star: {wanted}" + again * (not rule)
    if rule:
        return f"☆ {rule}, not yet: {problem}"
    return f"☆ not graded: {_OFFERS[wanted]}? {call.format(question, wanted)}"


def _definitions(text: str) -> Iterator[ast.FunctionDef | ast.ClassDef]:
    tree = ast.parse(text)
    yield from (node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef))


def _function(definition: ast.stmt) -> _Function:
    """Returns a function itself; for a class, returns `forward` or, if missing, the last method."""
    if isinstance(definition, _Function):
        return definition
    methods = [node for node in ast.walk(definition) if isinstance(node, _Function)]
    return next((node for node in methods if node.name == "forward"), methods[-1])


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _name(node: ast.expr) -> str:
    return getattr(node, "attr", "") or getattr(node, "id", "")


def _line(text: str, node: ast.AST) -> str:
    return text.splitlines()[getattr(node, "lineno", 1) - 1].strip()
