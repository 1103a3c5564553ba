"""The outline of a function: its code regardless of names, comments and layout.

Two functions with the same outline are copies up to wording. Names of torch are written in full, so
that `F.relu` and `nn.functional.relu` are equal.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from ...suite.names import imports_of


def outlines(definition: ast.stmt, source: str) -> frozenset[str]:
    """Returns the outlines of a function, or of all methods of a class."""
    imported = imports_of(source)
    return frozenset(
        _outline(node, imported)
        for node in ast.walk(definition)
        if isinstance(node, ast.FunctionDef)
    )


def _outline(function: ast.FunctionDef, imported: Mapping[str, str]) -> str:
    named = _Renamed(imported)
    body = [named.visit(ast.parse(ast.unparse(node)).body[0]) for node in _code(function)]
    return "\n".join(ast.dump(node) for node in body)


def _code(function: ast.FunctionDef) -> list[ast.stmt]:
    """Returns the statements without the docstring."""
    first = function.body[0]
    is_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return function.body[1:] if is_docstring else function.body


class _Renamed(ast.NodeTransformer):
    """Numbers the names that an author chooses, in the order of their appearance."""

    def __init__(self, imported: Mapping[str, str]) -> None:
        self._imported = imported
        self._numbers: dict[str, str] = {}

    def visit_Name(self, node: ast.Name) -> ast.AST:  # noqa: N802 # ast's own name
        imported = self._imported.get(node.id, "")
        name = imported if imported.startswith("torch") else self._number(node.id)
        return ast.Name(name, ast.Load())

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:  # noqa: N802
        value = self.visit(node.value)
        if isinstance(node.value, ast.Name) and node.value.id == "self":
            return ast.Attribute(value, self._number(f"self.{node.attr}"), ast.Load())
        if isinstance(value, ast.Name) and value.id.startswith("torch"):
            return ast.Name(f"{value.id}.{node.attr}", ast.Load())
        return ast.Attribute(value, node.attr, ast.Load())

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return ast.arg(self._number(node.arg))

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:  # noqa: N802
        if node.value is None:
            return ast.Pass()
        return self.generic_visit(ast.Assign([node.target], node.value))

    def _number(self, name: str) -> str:
        return self._numbers.setdefault(name, f"name{len(self._numbers)}")
