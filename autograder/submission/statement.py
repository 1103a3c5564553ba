"""One statement at the top level of a module or cell, with its text."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from ..worker import experiments
from .text import NOT_PYTHON, first_line_of, parsed


class Statement(experiments.Statement):
    """A statement with its text."""

    def __init__(self, node: ast.stmt, text: str) -> None:
        super().__init__(node)
        self.text = text

    @property
    def first_line(self) -> int:
        """The statement's first line, with its decorators: the node itself starts at `def`."""
        return first_line_of(self.node)

    @property
    def is_star_import(self) -> bool:
        """Returns whether this is `from ... import *`, which may bind anything."""
        return isinstance(self.node, ast.ImportFrom) and self.node.names[0].name == "*"

    @property
    def is_future(self) -> bool:
        """Returns whether this is `from __future__ import ...`, which must be first."""
        return isinstance(self.node, ast.ImportFrom) and self.node.module == "__future__"

    @property
    def defines(self) -> frozenset[str]:
        """Names to which it assigns a function or class, not the result of an experiment."""
        return frozenset(_defined_by(self.node))


def statements_of(text: str, body: Sequence[ast.stmt]) -> list[Statement]:
    """Returns the statements of a parsed text, each with its own part of the text."""
    lines = text.encode().split(b"\n")
    return [Statement(node, _segment(lines, node)) for node in body]


def is_surely_defined(name: str, text: str) -> bool:
    """Returns whether a line begins with the definition of `name`: fast, and nearly always true."""
    return f"\ndef {name}(" in f"\n{text}" or f"\nclass {name}(" in f"\n{text}"


def _defined_by(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, experiments.DEFINITIONS):
        yield node.name
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        given, is_function = _read_by(node.value)
        yield from (name for name in names if is_function or name in given)


def _read_by(value: ast.expr | None) -> tuple[frozenset[str], bool]:
    """Returns the names that a call gets, and whether the value is certainly a function.

    It is for a lambda, a partial, or a call that gets a lambda, such as a decorator's. A call that
    gets a function also returns one, so a name stays a function after `name = call(name)`.
    """
    if not isinstance(value, ast.Call):
        return frozenset(), isinstance(value, ast.Lambda)
    called = getattr(value.func, "attr", getattr(value.func, "id", ""))
    arguments = [*value.args, *(keyword.value for keyword in value.keywords)]
    given = frozenset(argument.id for argument in arguments if isinstance(argument, ast.Name))
    is_function = any(isinstance(argument, ast.Lambda) for argument in arguments)
    return given, called == "partial" or is_function


def _segment(lines: Sequence[bytes], node: ast.stmt) -> str:
    decorators = getattr(node, "decorator_list", [])
    if node.lineno == node.end_lineno and not decorators:  # a long line may contain many statements
        return lines[node.lineno - 1][node.col_offset : node.end_col_offset].decode()
    part = [*lines[first_line_of(node) - 1 : node.end_lineno]]
    part[-1] = part[-1][: node.end_col_offset]
    part[0] = part[0] if decorators else part[0][node.col_offset :]
    text = b"\n".join(part).decode()
    if decorators:
        try:
            parsed(text)
        except NOT_PYTHON:
            return ast.unparse(node)
    return text
