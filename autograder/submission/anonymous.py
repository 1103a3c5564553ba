"""Reduces a student's answer to code that identifies nobody: no comments, docstrings or files."""

from __future__ import annotations

import ast

from ..errors import SubmissionError
from ..worker.experiments import experiments, names_reached
from .statement import statements_of
from .text import parsed


def anonymous_code(text: str, question: str) -> str:
    """Returns the definition of a question and everything that it needs, as code only.

    Raises `SubmissionError` if the text does not define the question.
    """
    statements = statements_of(text, parsed(text).body)
    left_out = experiments(statements, [question])
    statements = [statement for statement in statements if statement not in left_out]
    reached = names_reached(statements, [question])
    used = reached.union(*(s.names.reads for s in statements if s.binds & reached))
    last = {name: s for s in statements for name in s.defines}
    found = [
        s
        for s in statements
        if (s.binds | s.names.sets) & used and all(last[name] is s for name in s.defines)
    ]
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
