"""Which statements of a notebook some names need, found without executing anything."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterable, Iterator, Sequence

from ..errors import SubmissionError
from .effects import Effects
from .statement import Statement

#: that answers need; a notebook that people write has some hundred in all
_MOST_STATEMENTS = 3_000
#: of a name that is made from itself, as in `f = wrapped(f)`: the one before leads to the others
_LONGEST_CHAIN = 50


def needed(statements: Sequence[Statement], names: Iterable[str]) -> list[Statement]:
    """The statements that define `names` and, one by one, all that these need.

    Of several definitions of a name the last counts, with what is patched onto it afterwards. They
    keep their order, but what a statement needs to be executed comes before it: cells may stand in
    any order. Raises `SubmissionError` for more statements than a person writes.
    """
    names = frozenset(names)
    index = _Index(statements, names)
    chosen = {i for i, s in enumerate(statements) if s.is_future or s.is_star_import}
    waiting = [*chosen, *(p for name in sorted(names) for p in index.bindings(name))]
    followed: set[tuple[int, ...]] = set()
    done: set[int] = set()
    while waiting:
        position = waiting.pop()
        if position in done:
            continue
        done.add(position)
        chosen.add(position)
        for name in sorted(statements[position].takes):
            found = index.bindings(name, position, name in statements[position].eager)
            if found not in followed:
                followed.add(found)
                waiting += found
        if not waiting:
            waiting += index.hung(done)
    if len(chosen) > _MOST_STATEMENTS:
        raise SubmissionError(f"needs more than {_MOST_STATEMENTS} statements; submit your code")
    return _Order(statements, index, chosen).all()


class _Index:
    """Where names get their values."""

    def __init__(self, statements: Sequence[Statement], answers: Iterable[str]) -> None:
        self._statements = statements
        self._binding: dict[str, list[int]] = {}
        self._patching: dict[str, list[int]] = {}
        # kept here: what `functools.cache` keeps of a method, it keeps with the notebook, for ever
        self._defined: dict[str, list[int]] = {}
        self._memo: dict[tuple[str, int | None, bool], tuple[int, ...]] = {}
        for position, statement in enumerate(statements):
            for name in statement.binds:
                self._binding.setdefault(name, []).append(position)
        # onto an import alone: a class of the notebook's own is known by its name
        self._hanging = [
            position
            for position, statement in enumerate(statements)
            if statement.hangs and all(self._is_import(name) for name in statement.patches)
        ]
        self._setters: dict[str, set[str]] = {}
        self._calls: dict[str, list[int]] = {}
        for position, statement in enumerate(statements):
            for name in statement.sets:
                self._setters.setdefault(name, set()).update(statement.defines)
            for name in statement.given_to:
                self._calls.setdefault(name, []).append(position)
        effects = Effects(statements, answers)
        self.patched = [
            s.patches | self._registered(s) | self._changed(effects.of(s)) for s in statements
        ]
        for position, names in enumerate(self.patched):
            for name in names:
                self._patching.setdefault(name, []).append(position)

    def hung(self, chosen: set[int]) -> list[int]:
        """What gives classes of libraries attributes that chosen statements read."""
        if not chosen.issuperset(self._hanging):
            read = frozenset().union(*(self._statements[p].attributes for p in chosen))
            return [
                p for p in self._hanging if p not in chosen and self._statements[p].hangs & read
            ]
        return []

    def _setting(self, name: str) -> list[int]:
        """Of a name that no statement binds: the calls of functions that have it as a global."""
        if name in self._binding:
            return []
        return [
            p for function in self._setters.get(name, ()) for p in self._calls.get(function, ())
        ]

    def _registered(self, statement: Statement) -> frozenset[str]:
        """What the statement puts something into without naming it as what it changes."""
        filled = (
            name
            for function in statement.given_to
            for position in self._binding.get(function, [])
            for name in self._statements[position].fills
        )
        return frozenset([*filled, *(n for n in statement.asked if not self._is_import(n))])

    def _changed(self, names: Iterable[str]) -> frozenset[str]:
        """Of the names that a statement may change, those of the notebook's own objects."""
        return frozenset(n for n in names if n in self._binding and not self._is_import(n))

    def _is_import(self, name: str) -> bool:
        return all(self._statements[p].is_import for p in self._binding.get(name, []))

    def bindings(
        self, name: str, reader: int | None = None, is_eager: bool = False
    ) -> tuple[int, ...]:
        """Positions of the statements that together give a name its value.

        `reader` is the position of a statement that needs it, to be executed if `is_eager`.
        """
        defining = self._defining(name)
        earlier = bisect_left(defining, reader) if reader is not None and is_eager else 0
        last = defining[earlier - 1] if defining else None
        is_imported = last is None and reader is not None and self._is_imported_at(reader, name)
        if (name, last, is_imported) not in self._memo:
            found = (
                self._values(name, is_imported)
                if last is None
                else self._definition(name, defining, last)
            )
            self._memo[name, last, is_imported] = tuple(found)
        return self._memo[name, last, is_imported]

    def _is_imported_at(self, reader: int, name: str) -> bool:
        """Whether an import is the last that binds a name above: `import torch as t`.

        What binds it further down, as in `for t in range(3)`, was not there when the answer was
        written and checked.
        """
        binding = self._binding.get(name, [])
        above = bisect_left(binding, reader)
        return above > 0 and self._statements[binding[above - 1]].is_import

    def first(self, name: str, before: int, is_change: bool) -> Iterator[int]:
        """Positions of what must have happened before a statement that needs the name.

        What changes it later on need not, and nothing later must where it has a value by then. Of
        two changes none waits for the other: they happen as they stand.
        """
        found = self.bindings(name, before, is_eager=True)
        # of those that bind it, the first is the first of all
        is_there = any(p < before and name in self._statements[p].binds for p in found[:1])
        for position in found:
            is_other_change = name in self.patched[position]
            if is_other_change and (is_change or before == found[0]):
                continue  # nor does what binds a name wait for its changes
            if position < before or not (is_there or is_other_change):
                yield position

    def _defining(self, name: str) -> list[int]:
        if name not in self._defined:
            binding = self._binding.get(name, [])
            self._defined[name] = [p for p in binding if self._defines(p, name)]
        return self._defined[name]

    def _definition(self, name: str, defining: list[int], last: int) -> list[int]:
        start = end = bisect_left(defining, last)
        while (
            start > max(0, end - _LONGEST_CHAIN) and name in self._statements[defining[start]].eager
        ):
            start -= 1  # `class A(A)`, `f = wrapped(f)`
        patches = [
            p for p in self._patching.get(name, []) if p > defining[start] or p < defining[0]
        ]
        return defining[start : end + 1] + patches

    def _values(self, name: str, is_imported: bool) -> list[int]:
        """Without a definition: all that is assigned, or else imported."""
        binding = self._binding.get(name, [])
        imports = [p for p in binding if self._statements[p].is_import]
        values = [p for p in binding if not is_imported and not self._statements[p].is_import]
        # the last import counts; `import torch.nn` adds to `torch`
        dotted = [p for p in imports[:-1] if self._statements[p].is_submodule_import]
        found = values or dotted + imports[-1:] or self._setting(name)
        return found + self._patching.get(name, [])

    def _defines(self, position: int, name: str) -> bool:
        statement = self._statements[position]
        if name in statement.defines:
            return True
        other = statement.alias_of
        return other is not None and any(
            other in self._statements[p].defines for p in self._binding.get(other, [])
        )


class _Order:
    """Puts statements behind those that must have been executed before."""

    def __init__(self, statements: Sequence[Statement], index: _Index, chosen: set[int]) -> None:
        self._statements = statements
        self._index = index
        self._chosen = chosen
        self._begun: set[int] = set()
        self._out: list[Statement] = []

    def all(self) -> list[Statement]:
        """The chosen statements in an order in which they can be executed."""
        first = [p for p in self._chosen if self._statements[p].is_future]
        for position in [*sorted(first), *sorted(self._chosen)]:
            self._emit(position)
        return self._out

    def _emit(self, position: int) -> None:
        if position in self._begun:
            return
        self._begun.add(position)
        statement = self._statements[position]
        seen: set[Hashable] = {position}
        changes = self._index.patched[position]
        for name in sorted((statement.eager | changes) - statement.begins):
            for other in self._index.first(name, position, is_change=name in changes):
                self._emit_deeply(other, position, seen)
        self._out.append(statement)

    def _emit_deeply(self, position: int, before: int, seen: set[Hashable]) -> None:
        """Also what is needed when it is called: the statement at `before` may call it."""
        if position in seen or position not in self._chosen:
            return
        seen.add(position)
        self._emit(position)
        for name in sorted(self._statements[position].takes - seen):
            seen.add(name)
            for other in self._index.bindings(name, position):
                if other < before or name not in self._index.patched[other]:
                    self._emit_deeply(other, before, seen)
