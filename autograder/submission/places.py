"""Which objects an expression stands for, and which ones a piece of code changes itself."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from .registering import DEFINITIONS

#: methods of containers and iterators that change what they are called on
_CHANGING = frozenset(
    {
        *("append", "extend", "insert", "add", "update", "setdefault", "pop", "popitem", "popleft"),
        *("appendleft", "extendleft", "remove", "discard", "clear", "sort", "reverse", "rotate"),
        *("set", "send", "subtract", "move_to_end", "difference_update", "intersection_update"),
        *("symmetric_difference_update", "__setitem__", "__delitem__", "__setattr__"),
        *("__delattr__", "__next__", "add_module"),
    }
)
#: functions of Python and its library that change what they are given first
_FIRST = frozenset(
    {
        *("setattr", "delattr", "next", "shuffle", "heapify", "heappush", "heappop", "heapreplace"),
        *("insort", "insort_left", "insort_right", "copyto", "fill_diagonal", "__setattr__"),
        *("__delattr__", "update_wrapper"),
    }
)
#: functions whose result is made of what they are given, or goes on over it
_PASSING = frozenset(
    {"vars", "iter", "next", "partial", "zip", "enumerate", "reversed", "list", "tuple", "sorted"}
)
#: of one object; people give it two or three
_MOST_NAMES = 50


def changes_its_object(method: str) -> bool:
    """Whether a method changes its object: of a list, `x.fill_(0)`, `f.register(...)`."""
    is_in_place = method.endswith("_") and not method.endswith("__")
    return method in _CHANGING or is_in_place or method.startswith("register")


def changes_its_first(function: str) -> bool:
    """Whether a function of a library changes what it is given: `nn.init.zeros_(w)`."""
    return function in _FIRST or (function.endswith("_") and not function.endswith("__"))


def called_parts(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a statement that are executed with it, definitions in it as a whole."""
    waiting = [node]
    while waiting:
        part = waiting.pop()
        yield part
        if not isinstance(part, DEFINITIONS):
            waiting += ast.iter_child_nodes(part)


class Places:
    """What names in a piece of code stand for: after `c = CONFIG` a change of `c` is of both."""

    def __init__(self, parts: Iterable[ast.AST]) -> None:
        self._same: dict[str, set[str]] = {}
        for part in parts:
            for target, value in _bindings(part):
                for name in _stored(target):
                    self._same.setdefault(name, set()).update(_names(value))

    def roots(self, node: ast.expr, is_receiver: bool = False) -> frozenset[str]:
        """The names behind an expression; a receiver's method may have returned its object."""
        found: set[str] = set()
        waiting = list(_names(node, is_receiver))
        while waiting and len(found) < _MOST_NAMES:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += self._same.get(name, ())
        return frozenset(found)

    def changed(self, parts: Iterable[ast.AST]) -> Iterator[str]:
        """The names whose objects the code changes itself."""
        for part in parts:
            for node in _changed(part):
                yield from self.roots(node, is_receiver=True)


def _changed(part: ast.AST) -> Iterator[ast.expr]:
    match part:
        case ast.Assign(targets) | ast.Delete(targets):
            yield from (t for target in targets for t in _inside(target))
        case ast.AugAssign(target) | ast.AnnAssign(target):
            yield from _inside(target)
            if isinstance(part, ast.AugAssign):
                yield target
        case ast.Attribute(place, attr, ast.Load()) if changes_its_object(attr):
            yield place
        case ast.Call(called, given, keywords):
            name = getattr(called, "attr", getattr(called, "id", ""))
            yield from given[: changes_its_first(name)]
            yield from (k.value for k in keywords if k.arg == "out")


def _inside(target: ast.expr) -> Iterator[ast.expr]:
    """The objects into which an assignment writes."""
    if isinstance(target, ast.Attribute | ast.Subscript):
        yield target.value
    elif isinstance(target, ast.Tuple | ast.List):
        for one in target.elts:
            yield from _inside(one)


def _bindings(part: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    match part:
        case ast.Assign(targets, value):
            yield from ((target, value) for target in targets)
        case ast.For(target, value) | ast.comprehension(target, value):
            yield target, value
        case ast.NamedExpr(target, value):
            yield target, value
        case ast.withitem(value, ast.expr() as target):
            yield target, value


def _stored(target: ast.expr) -> Iterator[str]:
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, ast.Tuple | ast.List):
        for one in target.elts:
            yield from _stored(one)


def _names(node: ast.expr | None, is_receiver: bool = False) -> Iterator[str]:
    """The names whose objects, or parts of them, an expression may be."""
    match node:
        case ast.Name(name):
            yield name
        case ast.Attribute(value) | ast.Subscript(value) | ast.Starred(value):
            yield from _names(value, is_receiver)
        case ast.NamedExpr(_, value):
            yield from _names(value, is_receiver)
        case ast.Call(ast.Attribute(value)) if is_receiver:
            yield from _names(value, is_receiver)
        case ast.Call(called, given, keywords) if _passes(called):
            for one in [*given, *(keyword.value for keyword in keywords)]:
                yield from _names(one)
        case ast.Tuple(items) | ast.List(items) | ast.Set(items) | ast.BoolOp(_, items):
            for one in items:
                yield from _names(one, is_receiver)
        case ast.Dict(_, items):
            for one in items:
                yield from _names(one)
        case ast.IfExp(_, one, other):
            yield from _names(one, is_receiver)
            yield from _names(other, is_receiver)


def _passes(called: ast.expr) -> bool:
    return getattr(called, "attr", getattr(called, "id", "")) in (*_PASSING, "values", "items")
