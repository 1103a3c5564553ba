"""Families of mistakes: small changes of a solution at known steps, and what each does in words."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .expressions import Scope
from .operators import OPERATORS
from .places import Place, changed, places, solution_lines
from .steps import OPERATOR_WORDS, steps

_LONGEST_NAME = 60
_NO_NAME = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Member:
    """One member of a family: the name and the words are the family's."""

    name: str
    hint: str
    answer: Callable[..., Any]
    is_known_step: bool


def members(solution: Path, question: str, namespace: Mapping[str, Any]) -> Iterator[Member]:
    """Every change of a question's solution that can be executed."""
    text = solution.read_text(encoding="utf-8")
    inside = solution_lines(text)
    for definition in ast.parse(text).body:
        if getattr(definition, "name", "") != question:
            continue
        for other, words, known in _changes(definition, inside):
            answer = _executed(other, question, namespace)
            if answer is not None:
                yield Member(name_of(words), hint_of(words), answer, known)


def name_of(words: str) -> str:
    """The name of a family: its first words as an identifier."""
    return _NO_NAME.sub("_", f"{words.lower()} ")[:_LONGEST_NAME].rpartition("_")[0].strip("_")


def hint_of(words: str) -> str:
    """What a student reads."""
    return f"It looks like this: {words}. Compare each step with the docstring."


def _changes(definition: ast.stmt, inside: frozenset[int]) -> Iterator[tuple[ast.AST, str, bool]]:
    seen: set[tuple[Place, str]] = set()
    for place, node, scope in places(definition):
        if getattr(node, "lineno", 0) in inside:
            for other, words, known in _others(node, scope):
                key = (place, "" if other is None else ast.dump(other))
                if key not in seen:
                    seen.add(key)
                    yield changed(definition, place, other), words, known


def _others(node: ast.AST, scope: Scope) -> Iterator[tuple[ast.AST | None, str, bool]]:
    """What may take a node's place, in words, and whether it is a change of a known step."""
    yield from ((other, words, True) for other, words in steps(node, scope))
    for operator, words in OPERATOR_WORDS.items():
        yield from ((other, words, False) for other in OPERATORS[operator](node, scope))


def _executed(
    definition: ast.AST, question: str, namespace: Mapping[str, Any]
) -> Callable[..., Any] | None:
    """The changed definition, executed beside the rest of the solution; None where it can't be."""
    assert isinstance(definition, ast.stmt)
    own = dict(namespace)
    try:
        exec(compile(ast.Module([definition], []), "<family>", "exec"), own)
    except (SyntaxError, ValueError, TypeError, NameError):
        return None
    answer = own[question]
    return answer if callable(answer) else None
