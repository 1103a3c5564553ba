"""What a call of a notebook's own function changes: names outside of it, and what it was given."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from .places import Places


@dataclass(slots=True)
class Function:
    """A function of the notebook: the names outside that a call changes, and its parameters."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    is_method: bool
    parameters: list[str] = field(default_factory=list)
    local: set[str] = field(default_factory=set)
    changed: set[str] = field(default_factory=set)
    calls: list[ast.Call] = field(default_factory=list)
    places: Places = field(default_factory=lambda: Places([]))

    def __post_init__(self) -> None:
        given = self.node.args
        ordered = [*given.posonlyargs, *given.args]
        extra = [one for one in (given.vararg, given.kwarg) if one]
        self.parameters = [a.arg for a in [*ordered, *given.kwonlyargs, *extra]]
        parts = list(ast.walk(self.node))
        said = {name for part in parts if isinstance(part, ast.Global) for name in part.names}
        self.places = Places(parts)
        stored = {p.id for p in parts if isinstance(p, ast.Name) and isinstance(p.ctx, ast.Store)}
        inner = {part.arg for part in parts if isinstance(part, ast.arg)}
        self.local = (stored | inner) - said
        self.changed = (said & stored) | self._visible(self.places.changed(parts))
        self.calls = [part for part in parts if isinstance(part, ast.Call)]

    def _visible(self, names: Iterable[str]) -> set[str]:
        return {n for n in names if n not in self.local or n in self.parameters}

    def add(self, names: Iterable[str]) -> bool:
        """Whether a call is now known to change more than before."""
        new = self._visible(names) - self.changed
        self.changed |= new
        return bool(new)


def handed_over(
    one: Function, call: ast.Call, receiver: frozenset[str] | None, places: Places
) -> set[str]:
    """What a call of a function changes for its caller."""
    names = one.parameters
    found = one.changed - set(names)
    given: list[ast.expr] = list(call.args)
    changed = one.changed & set(names)
    if not changed:
        return found
    if one.is_method and receiver is not None:
        if names and names[0] in changed:
            found |= receiver
        names = names[1:]
    by_name: Mapping[str, ast.expr] = {k.arg: k.value for k in call.keywords if k.arg}
    for position, name in enumerate(names):
        if name in changed:
            value = by_name.get(name) or (given[position] if position < len(given) else None)
            found |= places.roots(value) if value else set()
    return found
