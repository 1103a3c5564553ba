"""Families of mistakes: small changes of a solution at known steps, and what each does in words."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .expressions import Scope
from .operators import OPERATORS
from .places import Place, alike, changed, places, solution_lines
from .steps import steps
from .tables import OPERATOR_WORDS

_LONGEST_NAME = 60
#: ranks of a solution's members are below this one
_OF_ANOTHER = 1000
_DEFINES = ast.FunctionDef | ast.ClassDef
_NO_NAME = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Member:
    """One member of a family: the name and the words are the family's.

    Of those that answer alike the one of the lowest rank is told: 0 is a change of a known step.
    """

    name: str
    hint: str
    answer: Callable[..., Any]
    rank: int


def members(solution: Path, question: str, namespace: Mapping[str, Any]) -> Iterator[Member]:
    """Every change of a question's solution that can be executed."""
    text = solution.read_text(encoding="utf-8")
    for definition in ast.parse(text).body:
        if isinstance(definition, _DEFINES) and definition.name == question:
            yield from _members(definition, solution_lines(text), namespace)


def members_of_another(
    alternative: Path, name: str, question: str, namespace: Mapping[str, Any]
) -> Iterator[Member]:
    """Changes of known steps of an alternative, all of it; told where no other is.

    A change that any code may have says too little of an answer that was written in another way.
    """
    for definition in ast.parse(alternative.read_text(encoding="utf-8")).body:
        if isinstance(definition, _DEFINES) and definition.name == name:
            lines = range(definition.lineno, (definition.end_lineno or 0) + 1)
            definition.decorator_list, definition.name = [], question
            for member in _members(definition, frozenset(lines), namespace):
                if member.rank == 0:
                    yield replace(member, rank=_OF_ANOTHER)


def _members(
    definition: ast.FunctionDef | ast.ClassDef,
    inside: frozenset[int],
    namespace: Mapping[str, Any],
) -> Iterator[Member]:
    for other, words, rank in _changes(definition, inside):
        answer = _executed(other, definition.name, namespace)
        if answer is not None:
            yield Member(name_of(words), hint_of(words), answer, rank)


def name_of(words: str) -> str:
    """The name of a family: its first words as an identifier."""
    return _NO_NAME.sub("_", f"{words.lower()} ")[:_LONGEST_NAME].rpartition("_")[0].strip("_")


def hint_of(words: str) -> str:
    """What a student reads."""
    return f"It looks like this: {words}. Compare each step with the docstring."


def _changes(definition: ast.stmt, inside: frozenset[int]) -> Iterator[tuple[ast.AST, str, int]]:
    """Every change: of one node, and the same of all steps that differ in their names only."""
    seen: set[tuple[Place, str]] = set()
    nodes = [
        found
        for found in places(definition)
        if getattr(found[1], "lineno", 0) in inside or isinstance(found[1], ast.FunctionDef)
    ]
    for place, node, scope in nodes:
        for other, words, rank in _others(node, scope):
            key = (place, "" if other is None else ast.dump(other))
            if key not in seen:
                seen.add(key)
                yield changed(definition, place, other), words, rank
    for group in alike(nodes):
        for together in zip(*(steps(node, scope) for _, node, scope in group), strict=False):
            if len({words for _, words in together}) == 1:
                whole: ast.AST = definition
                for (place, _, _), (other, _) in zip(group, together, strict=True):
                    whole = changed(whole, place, other)
                yield whole, together[0][1], 0


def _others(node: ast.AST, scope: Scope) -> Iterator[tuple[ast.AST | None, str, int]]:
    """What may take a node's place, in words, and the rank of the words."""
    yield from ((other, words, 0) for other, words in steps(node, scope))
    ranks = {words: rank for rank, words in enumerate(dict.fromkeys(OPERATOR_WORDS.values()), 1)}
    for operator, words in OPERATOR_WORDS.items():
        yield from ((other, words, ranks[words]) for other in OPERATORS[operator](node, scope))


def _executed(
    definition: ast.AST, question: str, namespace: Mapping[str, Any]
) -> Callable[..., Any] | None:
    """The changed definition, executed next to the rest of the solution; None where it can't be."""
    assert isinstance(definition, ast.stmt)
    own = dict(namespace)
    try:
        exec(compile(ast.Module([definition], []), "<family>", "exec"), own)
    except (SyntaxError, ValueError, TypeError, NameError):
        return None
    answer = own[question]
    return answer if callable(answer) else None
