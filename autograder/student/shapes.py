"""Compares shapes written as text, such as `(..., T, d_out)`, with the actual shapes."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping

Shape = tuple[int, ...]

_SHAPE = re.compile(r"\(((?:\.\.\.|[\w /*+-]+)(?:, ?[\w /*+-]+)*,?)\)")
_ARGUMENT = re.compile(r"^[ \t]*(\w+): (\([^()\n]*\))", re.MULTILINE)
_RETURNS = re.compile(r"Returns:[ \t]*\n[ \t]*(\([^\n]*)")
_OPERATORS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.floordiv,
    ast.FloorDiv: operator.floordiv,
}


class Letters:
    """The sizes that letters in documented shapes stand for; a letter's first use sets its size."""

    def __init__(self, known: Mapping[str, int]) -> None:
        self._sizes: dict[str, int] = dict(known)
        self._front: Shape | None = None

    def fits(self, documented: str, shape: Shape) -> bool:
        """Returns whether a shape matches the documented shape; remembers the sizes of new letters.

        Parts of the text that can't be read match any size.
        """
        parts = [part.strip() for part in documented.strip("()").split(",") if part.strip()]
        if parts and parts[0] == "...":
            front = len(shape) - len(parts) + 1
            if front < 0 or self._front not in (None, shape[:front]):
                return False
            self._front, parts, shape = shape[:front], parts[1:], shape[front:]
        if len(parts) != len(shape):
            return False
        return all([self._fits_one(part, size) for part, size in zip(parts, shape, strict=True)])

    def numbers(self, documented: str) -> str:
        """Returns the documented shape, with numbers for all letters whose sizes are known."""
        parts = [part.strip() for part in documented.strip("()").split(",") if part.strip()]
        sizes: list[str] = []
        for part in parts:
            if part == "...":
                sizes += map(str, self._front or ())
            else:
                size = self._size(part)
                sizes.append(part if size is None else str(size))
        return f"({', '.join(sizes)}{',' * (len(sizes) == 1)})"

    def _fits_one(self, part: str, size: int) -> bool:
        known = self._size(part)
        if known is None and part.isidentifier():
            self._sizes[part] = size
        return known in (None, size)

    def _size(self, part: str) -> int | None:
        try:
            return self._value(ast.parse(part, mode="eval").body)
        except (SyntaxError, KeyError, ZeroDivisionError, ValueError):
            return None

    def _value(self, node: ast.expr) -> int:
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return node.value
        if isinstance(node, ast.Name):
            return self._sizes[node.id]
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            return _OPERATORS[type(node.op)](self._value(node.left), self._value(node.right))
        raise ValueError(ast.unparse(node))


def documented_arguments(docstring: str) -> dict[str, str]:
    """Returns the shapes that a docstring gives for its arguments: `{"x": "(B, T, d_in)"}`."""
    return dict(_ARGUMENT.findall(docstring))


def documented_result(docstring: str) -> str | None:
    """Returns the shape that a docstring gives for the result, or None."""
    found = _RETURNS.search(docstring)
    shape = _SHAPE.match(found.group(1)) if found else None
    return shape.group(0) if shape else None


def commented_shape(line: str) -> str | None:
    """Returns the shape at the end of a line's comment: `(T,)` for `# (T, d) @ (d,) -> (T,)`."""
    _, mark, comment = line.partition("#")
    found = list(_SHAPE.finditer(comment)) if mark else []
    last = found[-1] if found else None
    return last.group(0) if last and not comment[last.end() :].strip(" .,;") else None
