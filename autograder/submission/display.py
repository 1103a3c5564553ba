"""Code at the top of a module that shows things, with libraries that no grading worker has.

It ran where it was written, so it costs nothing here: such statements are left out, and every line
keeps its number. What an answer needs is no such statement, whatever it uses.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise

from .binding import bound_names, parts_of
from .closure import needed
from .statement import Statement, statements_of

#: libraries that notebooks and their services bring along, and names that exist in a notebook only
_LIBRARIES = frozenset(
    {
        *("matplotlib", "mpl_toolkits", "pylab", "seaborn", "plotly", "bokeh", "altair"),
        *("IPython", "ipywidgets", "google", "tqdm", "requests", "pandas", "scipy", "sklearn"),
        *("torchvision", "autograder", "nbgrader", "otter"),
    }
)
#: what an exercise takes from others, which a worker has
_PARTS = "autograder.parts"
_ASSIGNS = (ast.Assign, ast.AnnAssign)
_NOTEBOOK_NAMES = frozenset({"get_ipython", "display"})


def without_display(
    text: str, body: Sequence[ast.stmt], questions: Iterable[str]
) -> tuple[str, tuple[str, ...]]:
    """The text without the statements that only show things, and a note that names their lines."""
    lines = text.split("\n")
    shows: list[Statement] = []
    statements = statements_of(text, body)
    own = {name for s in statements if not s.is_import for name in s.binds}
    unknown, crowded = _Unknown(statements), _crowded(body)
    unknown.add(name for name in _NOTEBOOK_NAMES - own if name in text)
    for statement in statements:
        if not statement.defines:
            unknown.add(_not_there_after(statement.node))
        if (
            unknown.names
            and _is_run_now(statement)
            and statement.eager & unknown.names
            and statement.node not in crowded
        ):
            unknown.add(statement.binds)
            shows.append(statement)
    used = set(needed(statements, questions) if shows else ())
    left_out = [statement.node for statement in shows if statement not in used]
    for node in left_out:
        _replace(lines, node, "pass")
    for node in body:
        if isinstance(node, ast.Import) and len(node.names) > 1 and node not in crowded:
            # one that is not there must not take the others with it
            _replace(lines, node, "; ".join(ast.unparse(ast.Import([a])) for a in node.names))
    return "\n".join(lines), _note(left_out)


class _Unknown:
    """Names that stand for what a worker does not have, and the functions that use them."""

    def __init__(self, statements: Sequence[Statement]) -> None:
        self.names: set[str] = set()
        self._statements = statements

    @cached_property
    def _users(self) -> Mapping[str, Sequence[Statement]]:
        """The definitions that use a name; of most modules nobody asks."""
        users: dict[str, list[Statement]] = {}
        for statement in self._statements:
            if not _is_run_now(statement) and not statement.is_import:
                for name in statement.uses:
                    users.setdefault(name, []).append(statement)
        return users

    def add(self, names: Iterable[str]) -> None:
        """A function that shows something can't be called either."""
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name not in self.names:
                self.names.add(name)
                waiting += [bound for user in self._users.get(name, ()) for bound in user.binds]


def _crowded(body: Sequence[ast.stmt]) -> set[ast.stmt]:
    """The statements that share a line with the one before or after."""
    pairs = [(one, next_) for one, next_ in pairwise(body) if _end(one) >= next_.lineno]
    return {node for pair in pairs for node in pair}


def _end(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def _replace(lines: list[str], node: ast.stmt, text: str) -> None:
    lines[node.lineno - 1 : _end(node)] = [text] + [""] * (_end(node) - node.lineno)


def _not_there_after(node: ast.stmt) -> frozenset[str]:
    """The names of what no worker has that a statement, a `try` too, leaves without a value."""
    parts = list(parts_of(node))
    missing = frozenset(name for part in parts for name in _not_there(part))
    simple = [part for part in parts if isinstance(part, _ASSIGNS)] if missing else []
    return missing - {name for part in simple for name in bound_names(part)}


def _not_there(node: ast.AST) -> Iterator[str]:
    """The names that an import binds to what no worker has."""
    if isinstance(node, ast.ImportFrom | ast.Import):
        module = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
        for alias in node.names:
            name = f"{module}{alias.name}"
            is_part = name == _PARTS or name.startswith(f"{_PARTS}.")
            if name.partition(".")[0] in _LIBRARIES and not is_part:
                yield alias.asname or (name.partition(".")[0] if not module else alias.name)


def _is_run_now(statement: Statement) -> bool:
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom
    return not isinstance(statement.node, kinds)


def _note(left_out: Sequence[ast.stmt]) -> tuple[str, ...]:
    if not left_out:
        return ()
    rest = ", ..." if len(left_out) > 5 else ""
    lines = ", ".join(str(node.lineno) for node in left_out[:5]) + rest
    return (f"not executed, because it only shows something: line {lines}",)
