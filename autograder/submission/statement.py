"""One statement at the top level of a cell: the names that it binds, changes and needs."""

from __future__ import annotations

import ast
import symtable
from collections.abc import Iterator, Sequence
from functools import cached_property

from .binding import bound_first, bound_names, defined_by, parts_of, patched_by
from .registering import DEFINITIONS as _DEFINES
from .registering import asked_by, filled_by, given_to, read_before_bound, set_by
from .text import NOT_PYTHON, first_line_of, parsed

_IMPORTS = (ast.Import, ast.ImportFrom)


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
        return first_line_of(self.node)

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
        return frozenset(bound_names(self.node))

    @cached_property
    def defines(self) -> frozenset[str]:
        """Names that it makes a function or class, not the result of an experiment."""
        return frozenset(name for part in parts_of(self.node) for name in defined_by(part))

    @cached_property
    def alias_of(self) -> str | None:
        """`f` in `g = f`."""
        value = getattr(self.node, "value", None)
        is_alias = isinstance(self.node, ast.Assign) and isinstance(value, ast.Name)
        return value.id if is_alias and isinstance(value, ast.Name) else None

    @cached_property
    def patches(self) -> frozenset[str]:
        """Names whose attributes or items it changes: `A.forward = forward`, `setattr(A, ...)`."""
        return frozenset(name for part in parts_of(self.node) for name in patched_by(part))

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
        match self.node:
            case ast.Assign(targets):
                return frozenset(t.attr for t in targets if isinstance(t, ast.Attribute))
            case ast.Expr(ast.Call(ast.Name("setattr"), [_, ast.Constant(str(name)), *_])):
                return frozenset({name})
        return frozenset()

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
            return (self.uses - self.binds | self._referenced()) - self.begins
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

    @cached_property
    def begins(self) -> frozenset[str]:
        """Names that it gives a value before it reads them: what they were counts for nothing.

        None for a definition: a function may be called again, and what it uses is to be there.
        """
        return frozenset() if isinstance(self.node, _DEFINES) else bound_first(self.node)

    @cached_property
    def takes(self) -> frozenset[str]:
        """Names whose value from before counts, as it uses or changes them."""
        return (self.uses | self.patches) - self.begins

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


def _segment(lines: Sequence[bytes], node: ast.stmt) -> str:
    decorators = getattr(node, "decorator_list", [])
    if node.lineno == node.end_lineno and not decorators:  # a long line may hold many
        return lines[node.lineno - 1][node.col_offset : node.end_col_offset].decode()
    part = [*lines[first_line_of(node) - 1 : node.end_lineno]]
    part[-1] = part[-1][: node.end_col_offset]
    part[0] = part[0] if decorators else part[0][node.col_offset :]
    text = b"\n".join(part).decode()
    if decorators:
        try:
            parsed(text)
        except NOT_PYTHON:
            return ast.unparse(node)
    return text


def _globals_in(table: symtable.SymbolTable | None) -> Iterator[str]:
    if table is None:
        return
    for child in table.get_children():
        yield from (s.get_name() for s in child.get_symbols() if s.is_global())
        yield from _globals_in(child)
