"""Whether a module holds an answer at all: a stub with notes in it is still a stub."""

from __future__ import annotations

import ast
from collections.abc import Collection

from .statement import Statement
from .text import NOT_PYTHON, parsed

#: of a class, what must give a result for any to come
_NEEDED = ("__init__", "forward")


def is_unanswered(text: str, questions: Collection[str]) -> bool:
    """Whether each question of a module is defined as a stub: none can give a result.

    An empty module is unanswered, too. What is not valid Python is not: it may be an answer with a
    slip, and neither is a module that a question was taken out of.
    """
    try:
        statements = [Statement(node, "") for node in parsed(text).body]
    except NOT_PYTHON:
        return False
    if any(statement.is_star_import for statement in statements):
        return False
    return not statements or all(
        bool(found := [s.node for s in statements if name in s.binds]) and all(map(is_stub, found))
        for name in questions
    )


def is_stub(node: ast.stmt) -> bool:
    """Whether a definition can give no result: its last line is the stub's, and nothing returns."""
    if isinstance(node, ast.ClassDef):
        methods = [part for part in node.body if isinstance(part, ast.FunctionDef)]
        return any(part.name in _NEEDED and is_stub(part) for part in methods)
    if not isinstance(node, ast.FunctionDef) or node.decorator_list:
        return False
    gives = (ast.Return, ast.Yield, ast.YieldFrom)
    return is_stubs_line(node.body[-1]) and not any(
        isinstance(part, gives) for part in ast.walk(node)
    )


def is_stubs_line(node: ast.stmt) -> bool:
    """Whether this is `raise NotImplementedError`, called or not."""
    error = node.exc if isinstance(node, ast.Raise) else None
    name = error.func if isinstance(error, ast.Call) else error
    return isinstance(name, ast.Name) and name.id == "NotImplementedError"
