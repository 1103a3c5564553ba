"""Recognizes a stub that a student has begun: its last line remains, or it hides an answer."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..submission.text import NOT_PYTHON, parsed
from ..submission.unanswered import is_stub, is_stubs_line

_LEFT = "`raise NotImplementedError` is still in it: delete that line"
_TWICE = "it is defined twice, and the second one, which is still a stub, counts: delete that one"
_DEFINES = (ast.FunctionDef, ast.ClassDef)


def unfinished(question: str, text: str) -> str:
    """Say why a question with code is "not implemented"; empty for an untouched stub."""
    try:
        body = parsed(text).body
    except NOT_PYTHON:
        return ""
    found = [node for node in body if isinstance(node, _DEFINES) and node.name == question]
    if not found:
        return ""
    if is_stub(found[-1]) and not all(map(is_stub, found)):
        return _TWICE
    return _LEFT if any(map(_is_begun, _functions(found[-1]))) else ""


def _functions(node: ast.stmt) -> Iterator[ast.FunctionDef]:
    if isinstance(node, ast.FunctionDef):
        yield node
    elif isinstance(node, ast.ClassDef):
        yield from (part for part in node.body if isinstance(part, ast.FunctionDef))


def _is_begun(function: ast.FunctionDef) -> bool:
    """Return whether a function has code of its own and still has the stub's line."""
    own = [node for node in function.body if not isinstance(node, ast.Expr)]
    return len(own) > 1 and any(map(is_stubs_line, own))
