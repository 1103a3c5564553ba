"""A student's answer without what tells whose it is: no comment, no docstring, no file."""

from __future__ import annotations

import ast

from ..errors import SubmissionError
from .closure import needed
from .statement import statements_of
from .text import parsed


def anonymous_code(text: str, question: str) -> str:
    """The definition of a question with all that it needs, as code and nothing else.

    Raises `SubmissionError` where the text has no such definition.
    """
    found = needed(statements_of(text, parsed(text).body), [question])
    if not any(question in statement.defines for statement in found):
        raise SubmissionError(f"has no definition of {question}")
    return "\n\n".join(ast.unparse(_without_docstrings(parsed(s.text))) for s in found) + "\n"


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            rest = [statement for statement in node.body if not _is_text(statement)]
            node.body = rest or [ast.Pass()]
    return tree


def _is_text(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )
