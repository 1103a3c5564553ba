"""Mutants of the solutions: each with one change between the solution markers.

Texts of error messages stay. A mutant is known by module, question, operator and the lines before
and after, never by the number of a line.
"""

from __future__ import annotations

import ast
import copy
import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from expressions import Scope
from operators import OPERATORS

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"

#: the way to a node from the root: fields, and positions in lists
Place = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Mutant:
    """A solution module with one change."""

    module: str
    question: str
    operator: str
    before: str
    after: str
    source: str

    @property
    def key(self) -> tuple[str, str, str, str, str]:
        """What a mutant is known by."""
        return self.module, self.question, self.operator, self.before, self.after


def mutants_of(solution: Path, questions: frozenset[str]) -> Iterator[Mutant]:
    """Every mutant of a solution module, each once."""
    text = solution.read_text(encoding="utf-8")
    tree, inside = ast.parse(text), _solution_lines(text)
    original = ast.unparse(tree)
    module = f"{solution.parent.name}/{solution.stem}"
    seen = {original}
    for index, definition in enumerate(tree.body):
        question = getattr(definition, "name", "")
        for place, node, scope in _places(definition, ("body", index), Scope((), ())):
            if question not in questions or getattr(node, "lineno", 0) not in inside:
                continue
            for operator, change in OPERATORS.items():
                for other in change(node, scope):
                    source = ast.unparse(_changed(tree, place, other))
                    if source not in seen:
                        seen.add(source)
                        before, after = _changed_lines(original, source)
                        yield Mutant(module, question, operator, before, after, source)


def _solution_lines(text: str) -> frozenset[int]:
    lines, inside, found = text.splitlines(), False, set()
    for number, line in enumerate(lines, start=1):
        inside = (inside or line.strip() == BEGIN) and line.strip() != END
        if inside:
            found.add(number)
    return frozenset(found)


def _places(node: ast.AST, place: Place, scope: Scope) -> Iterator[tuple[Place, ast.AST, Scope]]:
    """Every node below one, with the way to it and the names in its reach."""
    if isinstance(node, ast.AnnAssign) and node.value is None:
        return  # a declaration for the type checker
    yield place, node, scope
    if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant):
        return  # a number with its sign is one
    if isinstance(node, ast.ClassDef):
        scope = Scope((), _attributes(node))
    if isinstance(node, ast.FunctionDef):
        scope = Scope(_names(node), scope.attributes)
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns") or (isinstance(node, ast.Raise) and field == "exc"):
            continue
        if isinstance(value, ast.AST):
            yield from _places(value, (*place, field), scope)
        elif isinstance(value, list):
            for index, item in enumerate(value):
                if isinstance(item, ast.AST):
                    yield from _places(item, (*place, field, index), scope)


def _names(function: ast.FunctionDef) -> tuple[str, ...]:
    """Arguments and local names, `self` apart."""
    names = [arg.arg for arg in function.args.args if arg.arg != "self"]
    stored = (
        node.id
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    )
    return tuple(dict.fromkeys([*names, *stored]))


def _attributes(owner: ast.ClassDef) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(
            node.attr
            for node in ast.walk(owner)
            if isinstance(node, ast.Attribute)
            and isinstance(node.ctx, ast.Store)
            and isinstance(node.value, ast.Name)
            and node.value.id == "self"
        )
    )


def _changed(tree: ast.Module, place: Place, other: ast.AST | None) -> ast.Module:
    changed = copy.deepcopy(tree)
    target: object = changed
    for step in place[:-1]:
        by_index = isinstance(step, int)
        target = target[step] if by_index else getattr(target, step)  # type: ignore[index]
    last = place[-1]
    new = ast.Pass() if other is None else copy.deepcopy(other)
    if isinstance(last, int):
        target[last] = new  # type: ignore[index]
    else:
        setattr(target, last, new)
    return ast.fix_missing_locations(changed)


def _changed_lines(original: str, changed: str) -> tuple[str, str]:
    difference = list(difflib.ndiff(original.splitlines(), changed.splitlines()))

    def lines(sign: str) -> str:
        return "\n".join(line[2:].strip() for line in difference if line.startswith(sign))

    return lines("- "), lines("+ ")
