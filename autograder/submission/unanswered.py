"""Recognizes stubs in a module: unanswered questions, and copies of a stub below an answer."""

from __future__ import annotations

import ast
from collections.abc import Collection

from .statement import Statement, statements_of
from .text import NOT_PYTHON, parsed

_STUB = "NotImplementedError"
_NOTE = "defines {} twice; the second one is an untouched copy of the stub: delete it"
#: the methods that a class needs to give any result
_NEEDED = ("__init__", "forward")


def is_unanswered(text: str, questions: Collection[str]) -> bool:
    """Returns whether each question of a module is still a stub, so that none can give a result.

    An empty module is unanswered too. A module that is not valid Python is not (it may be an answer
    with a slip), and neither is a module from which a question was deleted.
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


def without_copies(text: str, names: Collection[str]) -> tuple[str, tuple[str, ...]]:
    """Removes stubs of these questions below an answer; returns the text and a note on each.

    Every other line keeps its number.
    """
    if _STUB not in text or all(_definitions(text, name) < 2 for name in names):
        return text, ()
    answered: set[str] = set()
    copies: list[Statement] = []
    for statement in statements_of(text, parsed(text).body):
        if statement.is_definition and is_untouched(statement.node):
            copies += [statement] if statement.binds & answered & set(names) else []
        else:
            answered |= statement.binds
    lines = text.split("\n")
    for copy in copies:
        end = copy.node.end_lineno or copy.first_line
        lines[copy.first_line - 1 : end] = [""] * (end - copy.first_line + 1)
    found = dict.fromkeys(name for copy in copies for name in sorted(copy.binds))
    return "\n".join(lines), tuple(_NOTE.format(name) for name in found)


def _definitions(text: str, name: str) -> int:
    """Returns how often a name seems to be defined, by `def`, by `class` or by `=`."""
    return sum(text.count(f"{word}{name}") for word in ("def ", "class ")) + text.count(f"{name} =")


def is_stub(node: ast.stmt) -> bool:
    """Returns whether a definition can't give a result: it ends like a stub and returns nothing."""
    if isinstance(node, ast.ClassDef):
        methods = [part for part in node.body if isinstance(part, ast.FunctionDef)]
        return any(part.name in _NEEDED and is_stub(part) for part in methods)
    if not isinstance(node, ast.FunctionDef) or node.decorator_list:
        return False
    gives = (ast.Return, ast.Yield, ast.YieldFrom)
    return is_stubs_line(node.body[-1]) and not any(
        isinstance(part, gives) for part in ast.walk(node)
    )


def is_untouched(node: ast.stmt) -> bool:
    """Returns whether a definition is a stub as it was released, with nothing added."""
    if isinstance(node, ast.ClassDef):
        methods = [part for part in node.body if isinstance(part, ast.FunctionDef)]
        return bool(methods) and all(map(is_untouched, methods))
    if not isinstance(node, ast.FunctionDef) or node.decorator_list:
        return False
    own = [part for part in node.body if not isinstance(part, ast.Expr)]
    return is_stubs_line(node.body[-1]) and len(own) == 1


def is_stubs_line(node: ast.stmt) -> bool:
    """Returns whether this is `raise NotImplementedError`, called or not."""
    error = node.exc if isinstance(node, ast.Raise) else None
    name = error.func if isinstance(error, ast.Call) else error
    return isinstance(name, ast.Name) and name.id == "NotImplementedError"
