"""An import that fails at the top of a module hurts only the answers that use it."""

from __future__ import annotations

import ast
from typing import Any

ABSENT = "__absent_import__"


class Absent:
    """Stands for what an import did not find, and fails where an answer uses it."""

    def __init__(self, name: str, error: Exception) -> None:
        self.__dict__["_fail"] = (name, error)

    def _raise(self, *args: Any, **kwargs: Any) -> Any:
        name, error = self.__dict__["_fail"]
        raise ImportError(
            f"{name} could not be imported where submissions are graded ({error}); an answer may "
            "use torch and the standard library"
        )

    __call__ = __getattr__ = __getitem__ = __iter__ = __enter__ = _raise


def tolerant(node: ast.stmt) -> ast.stmt:
    """An import at the top that fails hurts only the answers that use it."""
    if not isinstance(node, ast.Import | ast.ImportFrom):
        return node
    if isinstance(node, ast.ImportFrom) and node.module == "__future__":
        return node
    names = [alias.asname or alias.name.partition(".")[0] for alias in node.names]
    stand_ins = "\n    ".join(
        f"{name} = {ABSENT}({name!r}, __error)" for name in names if name != "*"
    )
    text = f"try:\n    pass\nexcept Exception as __error:\n    {stand_ins or 'pass'}"
    guarded = ast.parse(text).body[0]
    assert isinstance(guarded, ast.Try)
    guarded.body = [node]
    for part in ast.walk(guarded):
        if isinstance(part, ast.stmt | ast.expr | ast.excepthandler):
            ast.copy_location(part, node)
    return guarded
