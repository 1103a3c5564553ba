"""Finds the computations of a solution in the code cells of a notebook.

Comparing lines is not enough: code that draws a picture may contain half a line of a solution.
"""

from __future__ import annotations

import ast
import copy
import json
from collections.abc import Iterator
from pathlib import Path

from .compact import compact
from .solution_parts import solution_lines

#: the number of operations from which an expression is recognised by its form, ignoring names
_KNOWN_BY_FORM = 3
_OPERATIONS = (ast.BinOp, ast.UnaryOp, ast.Call, ast.Compare)
_PRODUCTS = frozenset({"matmul", "mm", "bmm", "einsum"})


def expressions_of(solution: Path) -> Iterator[tuple[str, int]]:
    """Yields the computations between the solution markers of a module, each with its line."""
    text = solution.read_text(encoding="utf-8")
    inside = {number for number, _, within in solution_lines(text) if within}
    for function in ast.walk(ast.parse(text)):
        if isinstance(function, ast.FunctionDef):
            names = _Named()
            for statement in function.body:
                for node in (*ast.walk(statement), *ast.walk(names.resolved(statement))):
                    if isinstance(node, ast.expr) and statement.lineno in inside:
                        yield from ((key, statement.lineno) for key in _keys(node))


def expressions_in_cells(notebook: str) -> Iterator[tuple[str, str]]:
    """Yields the computations in a notebook's code cells, each with its line of code."""
    for cell in json.loads(notebook)["cells"]:
        source = "".join(cell["source"])
        try:
            tree = ast.parse(source if cell["cell_type"] == "code" else "")
        except SyntaxError:  # an IPython magic
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.expr):
                line = source.splitlines()[node.lineno - 1]
                yield from ((key, line) for key in _keys(node))


def _keys(node: ast.expr) -> Iterator[str]:
    """Yields keys of an expression that contains a matrix product: its text or its form."""
    inner = list(ast.walk(node))
    if not any(map(_is_product, inner)):
        return
    if isinstance(node, ast.Call) and _name_of(node).endswith("softmax"):
        yield "softmax of a product"
    if sum(isinstance(item, _OPERATIONS) for item in inner) >= _KNOWN_BY_FORM:
        yield ast.dump(_Nameless().visit(ast.parse(ast.unparse(node), mode="eval")))
    elif isinstance(node, ast.BinOp):
        yield compact(ast.unparse(node)).text


def _is_product(node: ast.AST) -> bool:
    return isinstance(node, ast.MatMult) or (
        isinstance(node, ast.Call) and _name_of(node) in _PRODUCTS
    )


def _name_of(call: ast.Call) -> str:
    """Returns the last part of the name of the called function."""
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


class _Named(ast.NodeTransformer):
    """Replaces names with their values, so that `softmax(scores)` is the softmax of a product."""

    def __init__(self) -> None:
        self._values: dict[str, ast.expr] = {}

    def resolved(self, statement: ast.stmt) -> ast.stmt:
        """Returns the statement with earlier values inserted; remembers a value that it assigns."""
        found: ast.stmt = self.visit(copy.deepcopy(statement))
        match found:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._values[name] = value
        return found

    def visit_Name(self, node: ast.Name) -> ast.expr:
        given = self._values.get(node.id) if isinstance(node.ctx, ast.Load) else None
        return node if given is None else copy.deepcopy(given)


class _Nameless(ast.NodeTransformer):
    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name("_", node.ctx)
