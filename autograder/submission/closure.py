"""Which statements of a notebook some names need, found without executing anything."""

from __future__ import annotations

import ast
import symtable
from collections.abc import Iterable, Sequence
from functools import cached_property

_DEFINES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_ASSIGNS = (ast.Assign, ast.AnnAssign, ast.AugAssign)
_IMPORTS = (ast.Import, ast.ImportFrom)


class Statement:
    """One statement at the top level of a cell."""

    def __init__(self, node: ast.stmt, segment: str | None) -> None:
        self.node = node
        decorators = getattr(node, "decorator_list", [])
        # a segment starts at `def`: decorated definitions are written anew
        self.text = ast.unparse(node) if decorators or segment is None else segment

    @cached_property
    def binds(self) -> frozenset[str]:
        """Names that the statement gives a value; only for kinds that make sense in a module."""
        return frozenset(_bound_names(self.node))

    @cached_property
    def is_star_import(self) -> bool:
        """`from ... import *` may bind anything."""
        return isinstance(self.node, ast.ImportFrom) and self.node.names[0].name == "*"

    @cached_property
    def is_future(self) -> bool:
        """`from __future__ import ...` must come first."""
        return isinstance(self.node, ast.ImportFrom) and self.node.module == "__future__"

    @cached_property
    def _table(self) -> symtable.SymbolTable | None:
        try:
            return symtable.symtable(self.text, "<cell>", "exec")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None

    @cached_property
    def eager(self) -> frozenset[str]:
        """Names that must have a value when the statement is executed."""
        if self._table is None:
            return frozenset()
        found = {s.get_name() for s in self._table.get_symbols() if s.is_referenced()}
        for child in self._table.get_children():
            if child.get_type() == "class":
                found |= {s.get_name() for s in child.get_symbols() if s.is_global()}
        return frozenset(found)

    @cached_property
    def uses(self) -> frozenset[str]:
        """All global names that it, or a function in it, refers to."""
        return self.eager | frozenset(_globals_in(self._table)) if self._table else frozenset()


def needed(statements: Sequence[Statement], names: Iterable[str]) -> list[Statement]:
    """The statements that define `names` and, one by one, all that these need.

    Of several definitions of a name the last counts. What a statement needs to be executed comes
    before it, so that cells may stand in any order.
    """
    chosen: list[Statement] = [s for s in statements if s.is_future]
    chosen += [s for s in statements if s.is_star_import]
    order = _Order(statements, chosen)
    for name in names:
        order.add(name)
    return order.chosen


class _Order:
    def __init__(self, statements: Sequence[Statement], chosen: list[Statement]) -> None:
        self._statements = statements
        self.chosen = chosen
        self._taken = {id(statement) for statement in chosen}

    def add(self, name: str) -> None:
        waiting, seen = [name], set()
        while waiting:
            current = waiting.pop()
            if current in seen:
                continue
            seen.add(current)
            for statement in self._definitions(current):
                self._take(statement)
                waiting += sorted(statement.uses)

    def _take(self, statement: Statement) -> None:
        if id(statement) in self._taken:
            return
        self._taken.add(id(statement))
        for name in sorted(statement.eager - statement.binds):
            for other in self._definitions(name):
                self._take(other)
        self.chosen.append(statement)

    def _definitions(self, name: str) -> list[Statement]:
        binding = [s for s in self._statements if name in s.binds]
        last = [s for s in binding if isinstance(s.node, _DEFINES)][-1:]
        if last:
            return last
        imports = [s for s in binding if isinstance(s.node, _IMPORTS)]
        return [s for s in binding if not isinstance(s.node, _IMPORTS)] or imports[-1:]


def _bound_names(node: ast.stmt) -> Iterable[str]:
    if isinstance(node, _DEFINES):
        yield node.name
    elif isinstance(node, _IMPORTS):
        for alias in node.names:
            yield alias.asname or alias.name.partition(".")[0]
    elif isinstance(node, _ASSIGNS):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            yield from (part.id for part in ast.walk(target) if isinstance(part, ast.Name))
    elif isinstance(node, ast.If | ast.Try):
        for field in ("body", "orelse", "finalbody"):
            for child in getattr(node, field, []):
                yield from _bound_names(child)
        for handler in getattr(node, "handlers", []):
            for child in handler.body:
                yield from _bound_names(child)


def _globals_in(table: symtable.SymbolTable | None) -> Iterable[str]:
    if table is None:
        return
    for child in table.get_children():
        yield from (s.get_name() for s in child.get_symbols() if s.is_global())
        yield from _globals_in(child)
