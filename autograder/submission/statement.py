"""One statement at the top level of a cell: the names that it binds, changes and needs."""

from __future__ import annotations

import ast
import symtable
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from .registering import (
    CHANGING,
    asked_by,
    filled_by,
    given_to,
    named_by_decorators,
    named_on_the_way,
    read_before_bound,
    root,
    set_by,
)
from .registering import DEFINITIONS as _DEFINES
from .text import NOT_PYTHON, parsed

_ASSIGNS = (ast.Assign, ast.AnnAssign, ast.AugAssign)
_IMPORTS = (ast.Import, ast.ImportFrom)
_BLOCKS = (ast.If, ast.Try, ast.TryStar, ast.With, ast.For, ast.While, ast.Match)


class Statement:
    """A statement, and what its text says about names."""

    def __init__(self, node: ast.stmt, text: str) -> None:
        self.node = node
        self.text = text
        self.is_import = isinstance(node, _IMPORTS)
        self.is_submodule_import = isinstance(node, ast.Import) and any(
            "." in alias.name and alias.asname is None for alias in node.names
        )

    @property
    def first_line(self) -> int:
        """Its first line, decorators included: the node of a definition starts at its `def`."""
        return _first_line(self.node)

    @property
    def is_star_import(self) -> bool:
        """`from ... import *` may bind anything."""
        return isinstance(self.node, ast.ImportFrom) and self.node.names[0].name == "*"

    @property
    def is_future(self) -> bool:
        """`from __future__ import ...` must come first."""
        return isinstance(self.node, ast.ImportFrom) and self.node.module == "__future__"

    @cached_property
    def binds(self) -> frozenset[str]:
        """Names that the statement gives a value."""
        return frozenset(_bound_names(self.node))

    @cached_property
    def defines(self) -> frozenset[str]:
        """Names that it makes a function or class, not the result of an experiment."""
        return frozenset(name for part in _parts(self.node) for name in _defined_by(part))

    @cached_property
    def alias_of(self) -> str | None:
        """`f` in `g = f`."""
        value = getattr(self.node, "value", None)
        is_alias = isinstance(self.node, ast.Assign) and isinstance(value, ast.Name)
        return value.id if is_alias and isinstance(value, ast.Name) else None

    @cached_property
    def patches(self) -> frozenset[str]:
        """Names whose attributes or items it changes: `A.forward = forward`, `setattr(A, ...)`."""
        return frozenset(name for part in _parts(self.node) for name in _patched_by(part))

    @cached_property
    def asked(self) -> frozenset[str]:
        """Objects that are given what it defines: `steps` of `@steps.add`."""
        return frozenset(asked_by(self.node))

    @cached_property
    def given_to(self) -> frozenset[str]:
        """Functions that it is there to call: its decorators, or `register(f)` alone."""
        return frozenset(given_to(self.node))

    @cached_property
    def fills(self) -> frozenset[str]:
        """What a call of the function that it defines puts its arguments into."""
        return filled_by(self.node)

    @cached_property
    def hangs(self) -> frozenset[str]:
        """The attributes that it gives to something: `norm` of `torch.Tensor.norm = norm`."""
        targets = self.node.targets if isinstance(self.node, ast.Assign) else []
        return frozenset(t.attr for t in targets if isinstance(t, ast.Attribute))

    @cached_property
    def attributes(self) -> frozenset[str]:
        """The attributes that it reads, of anything."""
        parts = ast.walk(self.node)
        return frozenset(part.attr for part in parts if isinstance(part, ast.Attribute))

    @cached_property
    def sets(self) -> frozenset[str]:
        """What a call of the function that it defines gives a value, outside of it."""
        return set_by(self.node)

    @cached_property
    def _table(self) -> symtable.SymbolTable | None:
        try:
            return symtable.symtable(self.text, "<cell>", "exec")
        except NOT_PYTHON:
            return None

    @cached_property
    def eager(self) -> frozenset[str]:
        """Names that must have a value when the statement is executed."""
        if self._table is None:
            return frozenset()
        if not isinstance(self.node, _DEFINES):
            return self.uses - self.binds | self._referenced()
        found = {*self._referenced(), *read_before_bound(self.node)}
        for child in self._table.get_children():
            if child.get_type() == "class":
                found |= {s.get_name() for s in child.get_symbols() if s.is_global()}
        return frozenset(found)

    @cached_property
    def uses(self) -> frozenset[str]:
        """All global names that it, or a function in it, refers to."""
        outside = read_before_bound(self.node)
        return self._referenced() | frozenset([*_globals_in(self._table), *outside])

    def _referenced(self) -> frozenset[str]:
        if self._table is None:
            return frozenset()
        return frozenset(s.get_name() for s in self._table.get_symbols() if s.is_referenced())


def statements_of(text: str, body: Sequence[ast.stmt]) -> list[Statement]:
    """The statements of a parsed text, each with its own part of it."""
    lines = text.encode().split(b"\n")
    found: list[Statement] = []
    for node in body:
        if isinstance(node, ast.Import) and len(node.names) > 1:
            # one that is not there must not take the others with it
            single = [ast.Import([alias]) for alias in node.names]
            found += [Statement(ast.copy_location(s, node), ast.unparse(s)) for s in single]
        else:
            found.append(Statement(node, _segment(lines, node)))
    return found


def _first_line(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _segment(lines: Sequence[bytes], node: ast.stmt) -> str:
    decorators = getattr(node, "decorator_list", [])
    if node.lineno == node.end_lineno and not decorators:  # a long line may hold many
        return lines[node.lineno - 1][node.col_offset : node.end_col_offset].decode()
    part = [*lines[_first_line(node) - 1 : node.end_lineno]]
    part[-1] = part[-1][: node.end_col_offset]
    part[0] = part[0] if decorators else part[0][node.col_offset :]
    text = b"\n".join(part).decode()
    if decorators:
        try:
            parsed(text)
        except NOT_PYTHON:
            return ast.unparse(node)
    return text


def _bound_names(node: ast.AST) -> Iterator[str]:
    for part in _parts(node):
        yield from named_on_the_way(part)
        if isinstance(part, _DEFINES):
            yield part.name
        elif isinstance(part, _IMPORTS):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in part.names)
        elif isinstance(part, _ASSIGNS):
            targets = part.targets if isinstance(part, ast.Assign) else [part.target]
            yield from (name for target in targets for name in _stored_in(target))
        elif isinstance(part, ast.For):
            yield from _stored_in(part.target)
        elif isinstance(part, ast.With):
            items = [item.optional_vars for item in part.items if item.optional_vars]
            yield from (name for item in items for name in _stored_in(item))


def _stored_in(target: ast.expr) -> Iterable[str]:
    return (
        part.id
        for part in ast.walk(target)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
    )


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """The statement, and for a block all statements in it that are executed with it."""
    waiting = [node]
    while waiting:
        part = waiting.pop()
        yield part
        if isinstance(part, _BLOCKS):
            for field in ("body", "orelse", "finalbody", "handlers", "cases"):
                waiting += getattr(part, field, [])
        elif isinstance(part, ast.ExceptHandler | ast.match_case):
            waiting += part.body


def _defined_by(node: ast.AST) -> Iterator[str]:
    if isinstance(node, _DEFINES):
        yield node.name
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            if isinstance(target, ast.Name) and _makes_a_function(node.value, target.id):
                yield target.id


def _makes_a_function(value: ast.expr | None, name: str) -> bool:
    """Whether a value is a function beyond doubt: a lambda, a partial, or `name` wrapped."""
    if not isinstance(value, ast.Call):
        return isinstance(value, ast.Lambda)
    called = getattr(value.func, "attr", getattr(value.func, "id", ""))
    arguments = [*value.args, *(keyword.value for keyword in value.keywords)]
    return called == "partial" or any(
        isinstance(argument, ast.Lambda) or (isinstance(argument, ast.Name) and argument.id == name)
        for argument in arguments
    )


def _patched_by(node: ast.AST) -> Iterator[str]:
    if isinstance(node, _ASSIGNS):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        # `steps += [f]` goes on with what the name has
        inside = (ast.Attribute, ast.Subscript, *([ast.Name] * isinstance(node, ast.AugAssign)))
        yield from (name for t in targets if isinstance(t, inside) and (name := root(t)))
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        call = node.value
        if isinstance(call.func, ast.Name) and call.func.id in ("setattr", "delattr"):
            yield from (name for argument in call.args[:1] if (name := root(argument)))
        elif isinstance(call.func, ast.Attribute) and call.func.attr in CHANGING:
            yield from (name for name in [root(call.func.value)] if name)
    yield from named_by_decorators(node)


def _globals_in(table: symtable.SymbolTable | None) -> Iterator[str]:
    if table is None:
        return
    for child in table.get_children():
        yield from (s.get_name() for s in child.get_symbols() if s.is_global())
        yield from _globals_in(child)
