"""Finds a solution's computations in the code cells of a notebook.

Comparing lines is not enough, because code that draws a picture may contain only half of a line of
the solution. Therefore, keys are made from expressions, and computations with the same key count as
equal.
"""

from __future__ import annotations

import ast
import copy
import json
from collections.abc import Iterator
from pathlib import Path

from .compact import compact
from .solution_parts import solution_lines

#: an expression with at least this many operations is recognized by its form, whatever the names in
#: it
_KNOWN_BY_FORM = 3
#: a returned expression is recognized if it has at least this many operations or called functions
_RETURNED = 2
_OPERATIONS = (ast.BinOp, ast.UnaryOp, ast.Call, ast.Compare)
_PRODUCTS = frozenset({"matmul", "mm", "bmm", "einsum"})


def expressions_of(solution: Path) -> Iterator[tuple[str, int]]:
    """Yields the key and line number of each computation between a module's solution markers."""
    text = solution.read_text(encoding="utf-8")
    inside = {number for number, _, within in solution_lines(text) if within}
    for function in ast.walk(ast.parse(text)):
        if isinstance(function, ast.FunctionDef):
            names = _Named()
            for statement in function.body:
                resolved = names.resolved(statement)
                if statement.lineno not in inside:
                    continue
                for node in (*ast.walk(statement), *ast.walk(resolved)):
                    if isinstance(node, ast.expr):
                        yield from ((key, statement.lineno) for key in _keys(node))
                for returned in (statement, resolved):
                    if isinstance(returned, ast.Return) and returned.value is not None:
                        yield from ((key, statement.lineno) for key in _results(returned.value))


def expressions_in_cells(notebook: str) -> Iterator[tuple[str, str]]:
    """Yields the keys of computations in a notebook's code cells, each with its line of code."""
    for cell in json.loads(notebook)["cells"]:
        source = "".join(cell["source"])
        try:
            tree = ast.parse(source if cell["cell_type"] == "code" else "")
        except SyntaxError:  # an IPython magic
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.expr):
                line = source.splitlines()[node.lineno - 1]
                yield from ((key, line) for key in (*_keys(node), *_results(node)))


def _results(node: ast.expr) -> Iterator[str]:
    """Yields keys, based on form and calls, for an expression that may be a whole answer."""
    inner = list(ast.walk(node))
    spread = [item for item in inner if isinstance(item, ast.Subscript) and _adds_a_size(item)]
    if sum(isinstance(item, _OPERATIONS) for item in inner) + len(spread) >= _RETURNED:
        yield f"returns {_form(node)}"
    called = {_name_of(item) for item in inner if isinstance(item, ast.Call)}
    if len(called) >= _RETURNED and isinstance(node, ast.Call | ast.BinOp | ast.Subscript):
        product = ["@"] if any(map(_is_product, inner)) else []
        yield f"calls {sorted(called)} {product}"


def _adds_a_size(item: ast.Subscript) -> bool:
    """Returns whether an index adds a dimension, as in `x[:, None]`."""
    return any(isinstance(part, ast.Constant) and part.value is None for part in ast.walk(item))


def _form(node: ast.expr) -> str:
    return ast.dump(_Nameless().visit(copy.deepcopy(node)))


def _keys(node: ast.expr) -> Iterator[str]:
    """Yields keys, based on text or form, for an expression that contains a matrix product."""
    inner = list(ast.walk(node))
    if not any(map(_is_product, inner)):
        return
    if isinstance(node, ast.Call) and _name_of(node).endswith("softmax"):
        yield "softmax of a product"
    if sum(isinstance(item, _OPERATIONS) for item in inner) >= _KNOWN_BY_FORM:
        yield _form(node)
    elif isinstance(node, ast.BinOp):
        yield compact(ast.unparse(node)).text


def _is_product(node: ast.AST) -> bool:
    return isinstance(node, ast.MatMult) or (
        isinstance(node, ast.Call) and _name_of(node) in _PRODUCTS
    )


def _name_of(call: ast.Call) -> str:
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


class _Named(ast.NodeTransformer):
    """Replaces names, such as `scores` in `softmax(scores)`, with the values assigned to them."""

    def __init__(self) -> None:
        self._values: dict[str, ast.expr] = {}

    def resolved(self, statement: ast.stmt) -> ast.stmt:
        """Replaces names in a statement with their values; remembers any value that it assigns."""
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
