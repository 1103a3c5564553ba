"""Executes answers with two mistakes: a known mistake, and a change from a family of mistakes.

The known mistake may be a catalog entry. Entries are students' code, so all of these answers run in
a worker. One module contains many of these answers, each under a different name.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property, lru_cache, partial
from itertools import islice

from ...sandbox.replies import Batch
from .families import Member, members_of
from .families.places import Change, changed, node_at
from .families.step_tables import FUNCTION
from .families.words import id_of, likeliest_first
from .probe import Probe, Replies
from .record import AnswerRecord
from .rows import Row

#: returns a module's replies to a batch in a separate worker, or None if the worker ends
AskText = Callable[[str, Batch], Replies | None]
#: the maximum number of changes to an entry that are tried for one member of a family
_ALIKE = 3
#: how many of the likeliest changes to a mistake are tried
_SECOND = 64

_KINDS = ast.FunctionDef | ast.ClassDef
#: an answer's definitions: first the entry's own, then those that it uses
Definitions = Sequence[ast.FunctionDef | ast.ClassDef]


class ChangedEntries:
    """The catalog's entries for a question; `texts` maps an entry's name to its module's code.

    The first of the two mistakes may also be a change to the solution; `members` contains these
    changes.
    """

    def __init__(
        self,
        question: str,
        texts: Mapping[str, str],
        members: Sequence[Member],
        probe: Probe,
        ask_text: AskText,
    ) -> None:
        self._question, self._texts, self._probe = question, texts, probe
        self._of_solution, self._ask_text = members, ask_text

    def changed(self, entry: Row, row: Row) -> list[Definitions]:
        """Adds the mistake that a row describes to an entry; returns the possible results."""
        alike = (
            self._with(entry, number, member)
            for number, member in self._changes(entry)
            if (member.key, member.rank) == (row.key, row.rank) and member.detail() == row.detail
        )
        return [found for changed in islice(filter(None, alike), _ALIKE) for found in changed]

    @lru_cache(maxsize=64)  # noqa: B019 - one of these lives as long as the run
    def second(self, base: Row) -> Sequence[tuple[Row, Callable[[], list[Definitions]]]]:
        """Returns mistakes that may occur in addition to a known mistake, the likeliest first.

        Returns () if the catalog has no entry for the question, because changes are executed in an
        entry's module.
        """
        if not self._texts:
            return ()
        changes = self._changes(base)
        found = likeliest_first((id_of(member.key), (n, member)) for n, member in changes)
        return [
            (Row.of_member(member, 0), partial(self._with, base, number, member))
            for number, member in found[:_SECOND]
        ]

    def _changes(self, base: Row) -> Iterator[tuple[int, Member]]:
        """Yields changes to a mistake's code, each with the number of the changed definition."""
        first = None if base.is_entry else self._of_solution[base.member].change
        for number, definition in enumerate(self._definitions(base)):
            for member in self._members(definition):
                if first is None or not _is_inside(member.change, first):
                    yield number, member

    def _with(self, base: Row, number: int, member: Member) -> list[Definitions]:
        """Returns a mistake's definitions with one of them changed, or [] if this is impossible.

        If an entry calls a function that the solution does not call, this call is the entry's own
        mistake, so the call is not changed. Assignments in a class but outside its methods are not
        changed, because they run when the module is loaded.
        """
        own, whole, (place, _) = self._definitions(base), _changed(member), member.change.parts[0]
        is_class = isinstance(member.change.definition, ast.ClassDef)
        if is_class and isinstance(node_at(member.change.definition, place[:2]), ast.Assign):
            return []
        if member.key == FUNCTION and base.is_entry:
            called = ast.unparse(node_at(member.change.definition, place)).rpartition(".")[2]
            if not any(called in ast.dump(m.change.definition) for m in self._of_solution[:1]):
                return []
        # a changed entry can call the unchanged definitions in the shared module
        rest = own[number + 1 :] if number else ()
        return [[*own[:number], whole, *rest]] if whole else []

    def answered(
        self, answers: Sequence[Definitions], tests: Sequence[str], count: int | None = None
    ) -> list[list[AnswerRecord]]:
        """Returns, for each answer, its records in `tests`, or in their first `count` requests.

        All answers are executed in one worker. Returns an empty list if the worker ends early.
        """
        if not answers:
            return []
        names, texts = [], [self._others[0]]
        for number, definitions in enumerate(answers):
            renamed = {own.name: f"{own.name}__{number}" for own in definitions}
            names.append(renamed[self._question])
            texts += [_renamed(own, renamed) for own in reversed(definitions)]
        batch = self._probe.batch_of_names(names, tests, count)
        replies = self._ask_text("\n\n".join(texts), batch)
        return self._probe.answered_by_names(replies, tests, count) if replies else []

    @lru_cache(maxsize=64)  # noqa: B019
    def _members(self, definition: ast.FunctionDef | ast.ClassDef) -> Sequence[Member]:
        """Returns changes to a definition, or () if it has a `while` loop that might never end."""
        if definition is self._others[1].get(self._question):
            return self._of_solution
        if any(isinstance(part, ast.While) for part in ast.walk(definition)):
            return ()
        lines = frozenset(range(definition.lineno, (definition.end_lineno or 0) + 1))
        try:
            return tuple(members_of(definition, lines, {}))
        except SyntaxError:  # families are made for solutions, not for any code
            return ()

    @cache  # noqa: B019
    def _definitions(self, base: Row) -> Definitions:
        """Returns a mistake's definition, and the module's other definitions that it uses."""
        if not base.is_entry:
            whole = _changed(self._of_solution[base.member])
            return [whole] if whole else []
        _, others = self._others
        found = [self._of_entry(base.name)]
        for own in found:  # the list grows during the loop
            names = [part.id for part in ast.walk(own) if isinstance(part, ast.Name)]
            used = [others[name] for name in dict.fromkeys(names) if name in others]
            found += [definition for definition in used if definition not in found]
        return found

    @cached_property
    def _others(self) -> tuple[str, Mapping[str, ast.FunctionDef | ast.ClassDef]]:
        """Returns the part of the module that all entries share, and this part's definitions."""
        entry, text = next(iter(self._texts.items()))
        lines, own = text.splitlines(), self._of_entry(entry)
        rest = "\n".join([*lines[: own.lineno - 1], *lines[own.end_lineno :]])
        return rest, {node.name: node for node in ast.parse(rest).body if isinstance(node, _KINDS)}

    def _of_entry(self, entry: str) -> ast.FunctionDef | ast.ClassDef:
        nodes = reversed(ast.parse(self._texts[entry]).body)
        return next(n for n in nodes if isinstance(n, _KINDS) and n.name == self._question)


def _is_inside(change: Change, first: Change) -> bool:
    """Returns whether a change alters code that the change `first` added to the solution."""
    return any(
        place[: len(at)] == at
        and ast.dump(node_at(change.definition, place)) not in ast.dump(first.definition)
        for place, _ in change.parts
        for at, _ in first.parts
    )


def _changed(member: Member) -> ast.FunctionDef | ast.ClassDef | None:
    """Returns a changed definition, parsed from its text; None if this is not valid Python."""
    whole: ast.AST = member.change.definition
    for place, other in member.change.parts:
        whole = changed(whole, place, other)
    try:
        (own,) = ast.parse(ast.unparse(whole)).body
    except SyntaxError:
        return None
    assert isinstance(own, _KINDS)
    return own


def _renamed(definition: ast.FunctionDef | ast.ClassDef, names: Mapping[str, str]) -> str:
    """Returns a definition's text in which it and the definitions that it uses have new names."""
    own = rf"(?<![\w.'\"])({'|'.join(names)})\b"  # but not in attributes or strings
    return re.sub(own, lambda found: names[found[1]], ast.unparse(definition))
