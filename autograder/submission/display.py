"""Code at the top of a module that shows things, with libraries that a grading worker has not.

It ran where it was written, so it costs nothing here: such statements are left out, and every line
keeps its number.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from .statement import Statement, statements_of

#: libraries that notebooks and their services bring along, and names that exist in a notebook only
_LIBRARIES = frozenset(
    {
        *("matplotlib", "mpl_toolkits", "pylab", "seaborn", "plotly", "bokeh", "altair"),
        *("IPython", "ipywidgets", "google", "tqdm", "requests", "pandas", "scipy", "sklearn"),
        *("torchvision", "autograder", "nbgrader", "otter"),
    }
)
_NOTEBOOK_NAMES = frozenset({"get_ipython", "display"})


def without_display(text: str, body: Sequence[ast.stmt]) -> tuple[str, tuple[str, ...]]:
    """The text without the statements that only show things, and a note that names their lines."""
    lines = text.split("\n")
    left_out: list[int] = []
    statements = statements_of(text, body)
    own = {name for s in statements if not s.is_import for name in s.binds}
    unknown = set(_NOTEBOOK_NAMES - own)
    _add_functions(statements, unknown)
    for statement in statements:
        if _library(statement.node):
            unknown |= statement.binds
            _add_functions(statements, unknown)
        elif (
            _is_run_now(statement)
            and statement.eager & unknown
            and _stands_alone(statement.node, body)
        ):
            unknown |= statement.binds
            left_out.append(statement.node.lineno)
            _replace(lines, statement.node, "pass")
    for node in body:
        if isinstance(node, ast.Import) and len(node.names) > 1 and _stands_alone(node, body):
            # one that is not there must not take the others with it
            _replace(lines, node, "; ".join(ast.unparse(ast.Import([a])) for a in node.names))
    return "\n".join(lines), _note(left_out)


def _stands_alone(node: ast.stmt, body: Sequence[ast.stmt]) -> bool:
    """Whether no other statement has a part of its lines."""
    return not any(
        other is not node and other.lineno <= _end(node) and _end(other) >= node.lineno
        for other in body
    )


def _end(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def _replace(lines: list[str], node: ast.stmt, text: str) -> None:
    lines[node.lineno - 1 : _end(node)] = [text] + [""] * (_end(node) - node.lineno)


def _library(node: ast.stmt) -> bool:
    if isinstance(node, ast.ImportFrom):
        return not node.level and (node.module or "").partition(".")[0] in _LIBRARIES
    return isinstance(node, ast.Import) and any(
        alias.name.partition(".")[0] in _LIBRARIES for alias in node.names
    )


def _is_run_now(statement: Statement) -> bool:
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom
    return not isinstance(statement.node, kinds)


def _add_functions(statements: Sequence[Statement], unknown: set[str]) -> None:
    """A function that shows something can't be called either."""
    functions = [s for s in statements if not _is_run_now(s) and not s.is_import]
    before = -1
    while len(unknown) != before:
        before = len(unknown)
        for function in functions:
            if function.uses & unknown:
                unknown |= function.binds


def _note(left_out: Sequence[int]) -> tuple[str, ...]:
    if not left_out:
        return ()
    lines = ", ".join(str(line) for line in left_out[:5]) + (", ..." if len(left_out) > 5 else "")
    return (f"not executed, because it only shows something: line {lines}",)
