"""Defines families of mistakes: small changes to a solution's steps, each with a description."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from .definition_names import DefinitionNames
from .details import detail_of
from .expressions import Scope
from .operators import OPERATORS
from .places import Change, Parts, alike, places, solution_lines
from .step_tables import ANOTHER, ANY_STEP, OF_ANOTHER_SIZE
from .step_variants import steps
from .words import SMALL_CHANGES

#: the lowest rank of changes that apply to any step, and the lowest rank of small changes; changes
#: to known steps have rank 0
_ANY_STEP, _SMALL = 1, 200
#: the small changes that are also made in all parallel steps at once
_OF_GROUPS = ("call removed", "operand left out", "argument removed")
_DEFINES = ast.FunctionDef | ast.ClassDef
#: the ranks of small changes, by their family's key
_RANKS = {words: rank for rank, words in enumerate(dict.fromkeys(SMALL_CHANGES.values()), _SMALL)}
_OF_ANY_STEP = {words: rank for rank, words in enumerate(ANY_STEP, _ANY_STEP)}


@dataclass(frozen=True, slots=True)
class Member:
    """A change to a solution; `key` is the id of the change's family in `words.toml`.

    `detail` returns a description of the changed step or tensor, or an empty string. Among members
    with equal results, the one with the lowest rank is reported; rank 0 means a change to a known
    step. `in_check` is true if the changed code checks the arguments.
    """

    key: str
    detail: Callable[[], str]
    change: Change
    rank: int
    in_check: bool

    @property
    def is_confusion(self) -> bool:
        """Returns whether the member confuses two values that are both named in the question."""
        nodes = [new for _, new in self.change.parts]
        is_read = not any(isinstance(getattr(new, "ctx", None), ast.Store) for new in nodes)
        return self.key in (ANOTHER, OF_ANOTHER_SIZE) and is_read and bool(self.detail())


def members(solution: Path, question: str, namespace: Mapping[str, Any]) -> Iterator[Member]:
    """Yields every possible change to a question's solution."""
    text = solution.read_text(encoding="utf-8")
    for definition in ast.parse(text).body:
        if isinstance(definition, _DEFINES) and definition.name == question:
            yield from members_of(definition, solution_lines(text), namespace)


def members_of(
    definition: ast.FunctionDef | ast.ClassDef,
    inside: frozenset[int],
    namespace: Mapping[str, Any],
) -> Iterator[Member]:
    """Yields every possible change to the lines of a definition whose numbers are in `inside`."""
    names = DefinitionNames.of(definition)
    for nodes, parts, key, rank in _changes(definition, inside):
        others = [other for _, other in parts]
        detail = partial(detail_of, names, key, list(zip(nodes, others, strict=True)))
        change = Change(definition, parts, namespace)
        in_check = any(map(names.is_in_a_check, nodes))
        yield Member(key, detail, change, rank, in_check)


def is_small(rank: int) -> bool:
    """Returns whether a rank is that of a small change, which can be made in any code."""
    return rank >= _SMALL


def is_plain(rank: int) -> bool:
    """Returns whether a change of this rank alters a known step or leaves out a step."""
    return rank in (0, _SMALL)


def may_be_in_a_pair(rank: int) -> bool:
    """Returns whether a change of this rank may be combined with a second mistake.

    Changes that alter a known step, and small changes, may be combined. The changes that apply to
    any step are too numerous to be combined.
    """
    return rank == 0 or rank >= _SMALL


def is_left_out(member: Member) -> bool:
    """Returns whether a member leaves out a step; all such members belong to one family."""
    return member.rank == _SMALL


def _changes(
    definition: ast.FunctionDef | ast.ClassDef, inside: frozenset[int]
) -> Iterator[tuple[list[ast.AST], Parts, str, int]]:
    """Yields changes to a single node, and changes to the corresponding nodes in parallel steps."""
    seen: set[tuple[object, str]] = set()
    stored, last = _first_stored(definition), _last_returns(definition)
    nodes = [
        found
        for found in places(definition)
        if getattr(found[1], "lineno", 0) in inside or isinstance(found[1], _DEFINES)
    ]
    for place, node, scope in nodes:
        for other, words, rank in _others(node, scope):
            key = (place, "" if other is None else ast.dump(other))
            is_nothing = other is None and id(node) in last
            if key not in seen and not is_nothing and not _is_unbound(node, other, stored):
                seen.add(key)
                yield [node], ((place, other),), words, rank
    for group in alike(nodes):
        for together in zip(
            *(_others(node, scope, _OF_GROUPS) for _, node, scope in group), strict=False
        ):
            if len({words for _, words, _ in together}) == 1:
                parts = tuple((at[0], new[0]) for at, new in zip(group, together, strict=True))
                yield [at[1] for at in group], parts, together[0][1], together[0][2]


def _first_stored(definition: ast.AST) -> Mapping[str, int]:
    """Returns, for each name that is not an argument, the line in which it first gets a value."""
    parts = list(ast.walk(definition))
    arguments = {part.arg for part in parts if isinstance(part, ast.arg)}
    names = [p for p in parts if isinstance(p, ast.Name) and isinstance(p.ctx, ast.Store)]
    names.sort(key=lambda name: -name.lineno)  # the first of several lines counts
    return {name.id: name.lineno for name in names if name.id not in arguments}


def _last_returns(definition: ast.AST) -> frozenset[int]:
    """Returns the ids of the functions' last `return` statements, which no change leaves out."""
    functions = [part for part in ast.walk(definition) if isinstance(part, ast.FunctionDef)]
    return frozenset(id(f.body[-1]) for f in functions if isinstance(f.body[-1], ast.Return))


def _is_unbound(node: ast.AST, other: ast.AST | None, stored: Mapping[str, int]) -> bool:
    """Returns whether a change would read a name before the name has a value."""
    if isinstance(node, ast.Name) and isinstance(other, ast.Name):
        return stored.get(other.id, 0) >= node.lineno
    return False


def _others(
    node: ast.AST, scope: Scope, operators: Iterable[str] = SMALL_CHANGES
) -> Iterator[tuple[ast.AST | None, str, int]]:
    """Yields each replacement for a node, with the key and the rank of the change's family."""
    for other, words in steps(node, scope):
        yield other, words, _OF_ANY_STEP.get(words, 0)
    for operator in () if isinstance(node, _DEFINES) else operators:
        words = SMALL_CHANGES[operator]
        yield from ((other, words, _RANKS[words]) for other in OPERATORS[operator](node, scope))
