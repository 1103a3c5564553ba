"""A change of a definition, or two at once, and the answers of the changed definition."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .places import Place, changed

#: places and the new nodes there; None removes a statement
Parts = tuple[tuple[Place, ast.AST | None], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """New nodes at some places of a definition that belongs to a namespace."""

    definition: ast.FunctionDef | ast.ClassDef
    parts: Parts
    namespace: Mapping[str, Any]

    def answer(self) -> Callable[..., Any] | None:
        """Returns the changed definition, executed; None if it can't be."""
        own = dict(self.namespace)
        whole: ast.AST = self.definition
        for place, other in self.parts:
            whole = changed(whole, place, other)
        assert isinstance(whole, ast.stmt)
        try:
            exec(compile(ast.Module([whole], []), "<family>", "exec"), own)
        except (SyntaxError, ValueError, TypeError, NameError):
            return None
        answer = own[self.definition.name]
        return answer if callable(answer) else None

    def with_(self, other: Change) -> Change | None:
        """Returns both changes combined; None if one removes what the other changes."""
        if self.definition is not other.definition:
            return None
        parts: Parts | None = self.parts
        for place, new in other.parts:
            parts = _added(self.definition, parts, place, new) if parts else None
        return Change(self.definition, parts, self.namespace) if parts else None


def _added(definition: ast.AST, parts: Parts, place: Place, new: ast.AST | None) -> Parts | None:
    """Returns the parts with one more: separate, inside a part's new node, or around it."""
    for number, (at, other) in enumerate(parts):
        inner, outer = sorted(((at, other), (place, new)), key=lambda part: -len(part[0]))
        if inner[0][: len(outer[0])] != outer[0]:
            continue
        if at == place or outer[1] is None or inner[1] is None:
            return None
        old = ast.dump(_node_at(definition, inner[0]))
        both = _Replaced(old, inner[1])
        node = both.visit(copy.deepcopy(outer[1]))
        return (*parts[:number], (outer[0], node), *parts[number + 1 :]) if both.found else None
    return (*parts, (place, new))


class _Replaced(ast.NodeTransformer):
    """Replaces all nodes that are equal to another one, given by its dump."""

    def __init__(self, old: str, new: ast.AST) -> None:
        self._old, self._new, self.found = old, new, False

    def visit(self, node: ast.AST) -> Any:
        if ast.dump(node) == self._old:
            self.found = True
            return self._new
        return self.generic_visit(node)


def _node_at(tree: ast.AST, place: Place) -> ast.AST:
    found: Any = tree
    for step in place:
        found = found[step] if isinstance(step, int) else getattr(found, step)
    assert isinstance(found, ast.AST)
    return found
