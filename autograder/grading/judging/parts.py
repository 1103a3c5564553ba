"""Decides which parts an exercise may use, and detects answers that use or copy other parts.

A part is meant to be used in other exercises. An answer to the question that the part itself solves
earns no points if it imports or copies the part, even if names, comments and layout have been
changed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from ... import parts as _package
from ...suite.names import definition_of, imports_of, names_used

PACKAGE = "autograder.parts"
_FOLDER = Path(_package.__file__).parent


@dataclass(frozen=True, slots=True)
class PartModule:
    """A module of `autograder.parts` that is sent to a worker; answers may import its `parts`."""

    name: str
    text: str
    parts: tuple[str, ...]


def parts_given(solution: str) -> tuple[str, ...]:
    """Returns the parts that a solution, and therefore its stub, imports, directly or indirectly.

    Includes the parts that these parts use, because a student who writes a class instead of
    importing it as a part may need the parts that the class uses.
    """
    taken = dict.fromkeys(
        alias.name
        for node in ast.walk(ast.parse(solution))
        if isinstance(node, ast.ImportFrom) and node.module == PACKAGE
        for alias in node.names
    )
    for name in list(taken):
        taken |= dict.fromkeys(_parts_below(_module_of(name)))
    return tuple(taken)


def _parts_below(module: str) -> Iterator[str]:
    """Yields the parts that a module in the package imports, directly or indirectly."""
    for node in ast.parse(_text_of(module)).body:
        if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module:
            yield from (alias.name for alias in node.names if alias.name in _package.__all__)
            yield from _parts_below(node.module)


def _text_of(module: str) -> str:
    return (_FOLDER / f"{module}.py").read_text(encoding="utf-8")


@lru_cache
def modules_of(given: tuple[str, ...]) -> tuple[PartModule, ...]:
    """Returns the modules with the parts in `given`, each after the modules that it imports."""
    found: dict[str, PartModule] = {}
    for name in given:
        _collect(_module_of(name), frozenset(given), found)
    return tuple(found.values())


def _collect(module: str, given: frozenset[str], found: dict[str, PartModule]) -> None:
    text = _text_of(module)
    tree = ast.parse(text)
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module:
            _collect(node.module, given, found)
    defined = {getattr(node, "name", "") for node in tree.body}
    found.setdefault(module, PartModule(module, text, tuple(sorted(defined & given))))


def _module_of(part: str) -> str:
    return str(getattr(_package, part).__module__).rpartition(".")[2]


def refusal(source: str, question: str, given: tuple[str, ...]) -> str | None:
    """Returns why an answer earns no points, or None if it does not use or copy a forbidden part.

    `given` contains the parts that the exercise may use.
    """
    if question not in _package.__all__ and not ("autograder" in source and "parts" in source):
        return None
    taken = [name for name in _parts_used(source, question) if name not in given]
    if taken:
        return (
            f"{question}: your code takes {taken[0]} from {PACKAGE}, which is meant for other "
            "exercises.\nnext step: write it yourself"
        )
    if question in _package.__all__ and _is_copy(source, question):
        return (
            f"{question}: your code is a copy of {PACKAGE}, which is meant for other exercises.\n"
            "next step: write it yourself, following the steps in the notebook"
        )
    return None


def _parts_used(source: str, question: str) -> Iterator[str]:
    """Yields the parts that an answer uses; importing only the package itself does not count."""
    for name in sorted(names_used(source, question)):
        if name.startswith(f"{PACKAGE}."):
            yield name.removeprefix(f"{PACKAGE}.").partition(".")[0]


def _is_copy(source: str, question: str) -> bool:
    answer = definition_of(source, question)
    if answer is None:
        return False
    return _outlines_of_part(question) <= outlines(answer, source)


@lru_cache
def _outlines_of_part(part: str) -> frozenset[str]:
    text = _text_of(_module_of(part))
    definition = definition_of(text, part)
    assert definition is not None
    return outlines(definition, text)


def outlines(definition: ast.stmt, source: str) -> frozenset[str]:
    """Returns the outline of a function, or the outlines of all methods in a class.

    An outline is the code without comments, layout, and the names that its author has chosen, so
    two functions with the same outline are copies. Names from torch are written in full, so that
    `F.relu` and `nn.functional.relu` have the same outline.
    """
    imported = imports_of(source)
    return frozenset(
        _outline(node, imported)
        for node in ast.walk(definition)
        if isinstance(node, ast.FunctionDef)
    )


def _outline(function: ast.FunctionDef, imported: Mapping[str, str]) -> str:
    named = _Renamed(imported)
    body = [named.visit(ast.parse(ast.unparse(node)).body[0]) for node in _code(function)]
    return "\n".join(ast.dump(node) for node in body)


def _code(function: ast.FunctionDef) -> list[ast.stmt]:
    first = function.body[0]
    is_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return function.body[1:] if is_docstring else function.body


class _Renamed(ast.NodeTransformer):
    """Uses numbers, in order of appearance, instead of the names that an author has chosen."""

    def __init__(self, imported: Mapping[str, str]) -> None:
        self._imported = imported
        self._numbers: dict[str, str] = {}

    def visit_Name(self, node: ast.Name) -> ast.AST:  # noqa: N802 # ast's own name
        imported = self._imported.get(node.id, "")
        name = imported if imported.startswith("torch") else self._number(node.id)
        return ast.Name(name, ast.Load())

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:  # noqa: N802
        value = self.visit(node.value)
        if isinstance(node.value, ast.Name) and node.value.id == "self":
            return ast.Attribute(value, self._number(f"self.{node.attr}"), ast.Load())
        if isinstance(value, ast.Name) and value.id.startswith("torch"):
            return ast.Name(f"{value.id}.{node.attr}", ast.Load())
        return ast.Attribute(value, node.attr, ast.Load())

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return ast.arg(self._number(node.arg))

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:  # noqa: N802
        if node.value is None:
            return ast.Pass()
        return self.generic_visit(ast.Assign([node.target], node.value))

    def _number(self, name: str) -> str:
        return self._numbers.setdefault(name, f"name{len(self._numbers)}")
