"""Decides which parts of `autograder.parts` an exercise gets, and detects parts as answers.

A part exists for other exercises. As the answer to its own question it earns nothing, whether it is
imported or copied, even with changed names, comments and layout.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from ... import parts as _package
from ...suite.names import definition_of, names_used
from .outline import outlines

PACKAGE = "autograder.parts"
_FOLDER = Path(_package.__file__).parent


@dataclass(frozen=True, slots=True)
class PartModule:
    """A module of `autograder.parts` as a worker gets it: its text, and the parts in it."""

    name: str
    text: str
    parts: tuple[str, ...]


def parts_given(solution: str) -> tuple[str, ...]:
    """Returns the parts that a solution and so its stub import, and those that these import.

    A student who writes a class instead of importing a part also needs what that class uses.
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
    """Yields the parts that a module of the package imports, directly or indirectly."""
    for node in ast.parse(_text_of(module)).body:
        if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module:
            yield from (alias.name for alias in node.names if alias.name in _package.__all__)
            yield from _parts_below(node.module)


def _text_of(module: str) -> str:
    return (_FOLDER / f"{module}.py").read_text(encoding="utf-8")


@lru_cache
def modules_of(given: tuple[str, ...]) -> tuple[PartModule, ...]:
    """Returns the modules that contain these parts, after the modules that they import."""
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
    """Returns why an answer earns nothing; None if it is the student's own.

    `given` are the parts that the exercise may use.
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
            f"{question}: your code is that of {PACKAGE}, which is meant for other exercises.\n"
            "next step: write it yourself, in the steps of the notebook"
        )
    return None


def _parts_used(source: str, question: str) -> Iterator[str]:
    """Yields the parts that an answer uses; the package itself is not a part."""
    for name in sorted(names_used(source, question)):
        if name.startswith(f"{PACKAGE}."):
            yield name.removeprefix(f"{PACKAGE}.").partition(".")[0]


def _is_copy(source: str, question: str) -> bool:
    answer = definition_of(source, question)
    if answer is None:
        return False
    text = _text_of(_module_of(question))
    part = definition_of(text, question)
    assert part is not None
    return outlines(part, text) <= outlines(answer, source)
