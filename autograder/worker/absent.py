"""What fails at the top of a module hurts only the answers that use it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, NoReturn

ABSENT = "__absent__"
_OPERATORS = (
    *("add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "pow"),
    *("radd", "rsub", "rmul", "rmatmul", "rtruediv", "neg", "lt", "le", "gt", "ge", "bool"),
    *("call", "getattr", "getitem", "iter", "len", "contains", "enter", "int", "float", "index"),
)


class Absent:
    """Stands for what could not be had, and fails where an answer uses it."""

    def __init__(self, kind: type[Exception], text: str) -> None:
        self.__dict__["_fail"] = (kind, text)

    def _raise(self, *args: Any, **kwargs: Any) -> NoReturn:
        kind, text = self.__dict__["_fail"]
        raise kind(text)


for _operator in _OPERATORS:
    setattr(Absent, f"__{_operator}__", Absent._raise)


class Silent:
    """Stands for what only shows something, which nobody sees where submissions are graded."""

    def __call__(self, *args: Any, **kwargs: Any) -> Silent:
        return self

    def __getattr__(self, name: str) -> Silent:
        if name.startswith("__"):
            raise AttributeError(name)
        return self


#: what Jupyter gives to every cell, and the library of which it is
SHOWS, _SHOWING = "display", "IPython"


def leave(own: dict[str, Any], names: Sequence[str], error: Exception) -> None:
    """Puts stand-ins where a statement has failed; what had a value before keeps it."""
    for name in names:
        if isinstance(error, ImportError) and (error.name or "").partition(".")[0] == _SHOWING:
            own.setdefault(name, Silent())
            continue
        if isinstance(error, ImportError):
            stand_in = Absent(
                ImportError,
                f"{name} could not be imported where submissions are graded ({error}); an answer "
                "may use torch and the standard library",
            )
        else:
            what = f"{type(error).__name__}: {error}"
            stand_in = Absent(NameError, f"{name} has no value: its own line fails with {what}")
        own.setdefault(name, stand_in)


def execute(source: str, file: str, own: dict[str, Any], is_notebook: bool) -> None:
    """Executes a module anew in these names; stand-ins are left where a statement fails."""
    for name in [name for name in own if not name.startswith("__")]:
        del own[name]
    own[ABSENT] = leave
    tree = ast.parse(source, file)
    tree.body = [tolerant(node, is_notebook) for node in tree.body]
    # annotations are texts here, as in this module: one that names what is absent hurts nobody
    exec(compile(ast.fix_missing_locations(tree), file, "exec"), own)


def tolerant(node: ast.stmt, is_notebook: bool) -> ast.stmt:
    """A statement that leaves stand-ins where it fails.

    In a module only where it fails for want of an import: it ran where it was written.
    """
    if isinstance(node, ast.ImportFrom) and node.module == "__future__":
        return node
    names = tuple(_bound(node))
    expected = "Exception" if is_notebook else "ImportError"
    text = (
        f"try:\n    pass\nexcept {expected} as __error:\n    {ABSENT}(globals(), {names}, __error)"
    )
    guarded = ast.parse(text).body[0]
    assert isinstance(guarded, ast.Try)
    guarded.body = [node]
    for part in ast.walk(guarded):
        if isinstance(part, ast.stmt | ast.expr | ast.excepthandler):
            ast.copy_location(part, node)
    return guarded


def _bound(node: ast.stmt) -> list[str]:
    """The names that a statement was to define."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        names = [alias.asname or alias.name.partition(".")[0] for alias in node.names]
        return [name for name in names if name != "*"]
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    parts = [part for part in ast.walk(node) if isinstance(part, ast.Name)]
    return [part.id for part in parts if isinstance(part.ctx, ast.Store)]
