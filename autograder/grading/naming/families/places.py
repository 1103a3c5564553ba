"""Finds the nodes in a definition that can be changed, and executes changed definitions."""

from __future__ import annotations

import ast
import copy
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .expressions import Scope

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"

#: matches names and whole numbers in a dumped tree
_NAMED = re.compile(r"\b(?:(?:id|attr)='\w+'|value=\d+)")

#: the path to a node from the root: names of fields, and positions in lists
Place = tuple[str | int, ...]
#: places and their new nodes; None removes a statement
Parts = tuple[tuple[Place, ast.AST | None], ...]


def solution_lines(text: str) -> frozenset[int]:
    """Returns the numbers of the lines between the solution markers."""
    lines, inside, found = text.splitlines(), False, set()
    for number, line in enumerate(lines, start=1):
        inside = (inside or line.strip() == BEGIN) and line.strip() != END
        if inside:
            found.add(number)
    return frozenset(found)


def places(
    node: ast.AST, place: Place = (), scope: Scope | None = None
) -> Iterator[tuple[Place, ast.AST, Scope]]:
    """Yields every node in a tree, with the path to the node and the names in its scope."""
    scope = scope or Scope((), ())
    if isinstance(node, ast.AnnAssign) and node.value is None:
        return  # a declaration for the type checker
    yield place, node, scope
    if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant):
        return  # a number with its sign counts as one node
    if isinstance(node, ast.ClassDef):
        scope = Scope((), _attributes(node))
    if isinstance(node, ast.FunctionDef):
        scope = Scope(_names(node), scope.attributes)
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns") or (isinstance(node, ast.Raise) and field == "exc"):
            continue
        if isinstance(value, ast.AST):
            yield from places(value, (*place, field), scope)
        elif isinstance(value, list):
            for index, item in enumerate(value):
                if isinstance(item, ast.AST):
                    yield from places(item, (*place, field, index), scope)


def alike(
    found: Iterable[tuple[Place, ast.AST, Scope]],
) -> list[list[tuple[Place, ast.AST, Scope]]]:
    """Returns groups of matching places in statements that differ only in names and numbers."""
    statements: dict[Place, str] = {}
    groups: defaultdict[tuple[Place, str, Place], list[tuple[Place, ast.AST, Scope]]]
    groups = defaultdict(list)
    for place, node, scope in found:
        if isinstance(node, ast.Assign):
            statements[place] = _NAMED.sub("", ast.dump(node))
        own = next((s for s in statements if place[: len(s)] == s), None)
        if own is not None:
            groups[own[:-1], statements[own], place[len(own) :]].append((place, node, scope))
    return [group for group in groups.values() if len(group) > 1]


def _names(function: ast.FunctionDef) -> tuple[str, ...]:
    """Returns a function's arguments and local variables, except `self` and arguments of type bool.

    A size that replaces a bool would only mean True.
    """
    arguments = [arg for arg in function.args.args if not ast.unparse(arg).endswith(": bool")]
    names = [arg.arg for arg in arguments if arg.arg != "self"]
    stored = (
        node.id
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    )
    return tuple(dict.fromkeys([*names, *stored]))


def _attributes(owner: ast.ClassDef) -> tuple[str, ...]:
    found = [node for node in ast.walk(owner) if isinstance(node, ast.Attribute)]
    stored = [node for node in found if isinstance(node.ctx, ast.Store)]
    return tuple(dict.fromkeys(node.attr for node in stored if ast.unparse(node.value) == "self"))


def changed(tree: ast.AST, place: Place, other: ast.AST | None) -> ast.AST:
    """Returns a tree with a new node at a place; None as the new node removes a statement.

    The new tree shares all nodes with the old tree, except those on the path to that place.
    """
    if not place:  # the compiler needs a position in the text
        return ast.fix_missing_locations(ast.copy_location(other or ast.Pass(), tree))
    result, (field, *rest) = copy.copy(tree), place
    old = getattr(tree, str(field))
    if rest and isinstance(rest[0], int):
        index, items = rest[0], list(old)
        items[index] = changed(old[index], tuple(rest[1:]), other)
        setattr(result, str(field), items)
    else:
        setattr(result, str(field), changed(old, tuple(rest), other))
    return result


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """A change to a definition: new nodes for some places, and a namespace for executing it."""

    definition: ast.FunctionDef | ast.ClassDef
    parts: Parts
    namespace: Mapping[str, Any]

    def answer(self) -> Callable[..., Any] | None:
        """Executes the changed definition; returns its function or class, or None if this fails."""
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
        """Returns a combination of this change and another one, or None if the two conflict."""
        if self.definition is not other.definition:
            return None
        parts: Parts | None = self.parts
        for place, new in other.parts:
            parts = _added(self.definition, parts, place, new) if parts else None
        return Change(self.definition, parts, self.namespace) if parts else None


def _added(definition: ast.AST, parts: Parts, place: Place, new: ast.AST | None) -> Parts | None:
    """Adds a part, even inside or around other parts; returns None if two parts conflict."""
    apart: Parts = ()
    for at, other in parts:
        inner, outer = sorted(((at, other), (place, new)), key=lambda part: -len(part[0]))
        if inner[0][: len(outer[0])] != outer[0]:
            apart = (*apart, (at, other))
            continue
        if at == place or outer[1] is None or inner[1] is None:
            return None
        both = _Replaced(ast.dump(node_at(definition, inner[0])), inner[1])
        place, new = outer[0], both.visit(copy.deepcopy(outer[1]))
        if not both.found:
            return None
    return (*apart, (place, new))


class _Replaced(ast.NodeTransformer):
    """Replaces all nodes for which `ast.dump` returns the text `old`."""

    def __init__(self, old: str, new: ast.AST) -> None:
        self._old, self._new, self.found = old, new, False

    def visit(self, node: ast.AST) -> Any:
        if ast.dump(node) == self._old:
            self.found = True
            return self._new
        return self.generic_visit(node)


def node_at(tree: ast.AST, place: Place) -> ast.AST:
    found: Any = tree
    for step in place:
        found = found[step] if isinstance(step, int) else getattr(found, step)
    assert isinstance(found, ast.AST)
    return found
