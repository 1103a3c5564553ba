"""Definitions that put themselves into something else: `@register`, `@steps.add`, `@patch`.

Nothing needs them by name: whoever needs what they are put into needs them, too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DEFINITIONS = (*FUNCTIONS, ast.ClassDef)
#: methods that change what they are called on
CHANGING = ("append", "extend", "insert", "add", "update", "setdefault", "register_forward_hook")


def root(node: ast.expr) -> str | None:
    """`a` of `a.b[0].c`."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def named_by_decorators(node: ast.AST) -> Iterator[str]:
    """`A` of `@add_to_class(A)`, and of `@patch` above `def forward(self: A)`."""
    for decorator in getattr(node, "decorator_list", []):
        if isinstance(decorator, ast.Call):
            yield from (a.id for a in decorator.args if isinstance(a, ast.Name))
        elif isinstance(node, FUNCTIONS):
            first = [*node.args.posonlyargs, *node.args.args][:1]
            yield from (
                a.annotation.id
                for a in first
                if a.arg == "self" and isinstance(a.annotation, ast.Name)
            )


def asked_by(node: ast.AST) -> Iterator[str]:
    """`steps` of `@steps.add` and `@steps.add("exp")`: an object that is given the definition."""
    for decorator in getattr(node, "decorator_list", []):
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if isinstance(called, ast.Attribute) and (name := root(called)):
            yield name


def given_to(node: ast.AST) -> Iterator[str]:
    """The functions that a statement is there to call: its decorators, or `register(f)` alone."""
    calls = list(getattr(node, "decorator_list", []))
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        calls = [node.value]
    for call in calls:
        called = call.func if isinstance(call, ast.Call) else call
        if isinstance(called, ast.Name):
            yield called.id


def filled_by(node: ast.AST) -> frozenset[str]:
    """The names outside of a function into which it puts its arguments: `FUNCTIONS[name] = f`.

    A function that only counts its calls keeps nothing of what it was given.
    """
    if not isinstance(node, FUNCTIONS):
        return frozenset()
    own = {part.arg for part in ast.walk(node) if isinstance(part, ast.arg)}
    stored = {
        part.id
        for part in ast.walk(node)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
    }
    filled = (
        place
        for part in ast.walk(node)
        for place, *given in _stores(part)
        if own & {name.id for one in given for name in ast.walk(one) if isinstance(name, ast.Name)}
    )
    return frozenset(name for place in filled if (name := root(place))) - own - stored


def set_by(node: ast.AST) -> frozenset[str]:
    """The names outside of a function to which its call gives a value: `global size`."""
    if not isinstance(node, FUNCTIONS):
        return frozenset()
    return frozenset(
        name for part in ast.walk(node) if isinstance(part, ast.Global) for name in part.names
    )


def read_before_bound(node: ast.AST) -> Iterator[str]:
    """`forward` of `forward = forward` in a class: it is the one outside."""
    if not isinstance(node, ast.ClassDef):
        return
    bound: set[str] = set()
    for part in node.body:
        if isinstance(part, DEFINITIONS):
            bound.add(part.name)
            continue
        names = [name for name in ast.walk(part) if isinstance(name, ast.Name)]
        yield from (n.id for n in names if isinstance(n.ctx, ast.Load) and n.id not in bound)
        bound |= {name.id for name in names if isinstance(name.ctx, ast.Store)}


def named_on_the_way(node: ast.AST) -> Iterator[str]:
    """`size` of `print(size := 3)` and `case {"size": size}`, executed with the statement."""
    if isinstance(node, ast.match_case):
        for part in ast.walk(node.pattern):
            if isinstance(part, ast.MatchAs | ast.MatchStar) and part.name:
                yield part.name
            elif isinstance(part, ast.MatchMapping) and part.rest:
                yield part.rest
    for value in [getattr(node, name, None) for name in ("value", "test", "iter", "subject")]:
        if isinstance(value, ast.expr):
            yield from (
                part.target.id for part in ast.walk(value) if isinstance(part, ast.NamedExpr)
            )


def _stores(node: ast.AST) -> Iterator[list[ast.expr]]:
    """The place that a part of a function changes, and what goes into it."""
    match node:
        case ast.Assign(targets, value):
            yield from ([t.value, t.slice, value] for t in targets if isinstance(t, ast.Subscript))
        case ast.Call(ast.Attribute(place, name), given, keywords) if name in CHANGING:
            yield [place, *given, *(keyword.value for keyword in keywords)]
