"""Which objects a statement may change, itself or by the functions that it calls.

In Jupyter all that was executed counts. An answer needs of it what gives its names their values:
what binds them, and each statement that may change the object behind a name. What only shows
something changes nothing that an answer reads, and stays out; so does what uses an answer.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from .functions import Function, handed_over
from .places import Places, called_parts
from .registering import DEFINITIONS, FUNCTIONS
from .statement import Statement

#: how often what functions do is handed on to those that call them
_ROUNDS = 6
_NOTHING: frozenset[str] = frozenset()
#: what a class does when it is called, or stands behind `with`
_SPECIAL = ("__init__", "__new__", "__post_init__", "__call__", "__enter__", "__exit__")
#: and when a class is made from it
_MAKING = ("__init_subclass__", "__set_name__")


class Effects:
    """What the statements of one notebook may change."""

    def __init__(self, statements: Sequence[Statement], answers: Iterable[str]) -> None:
        self._statements = statements
        self._answers = frozenset(answers)
        self._functions: dict[str, list[Function]] = {}
        self._methods: dict[str, list[Function]] = {}
        self._classes: dict[str, ast.ClassDef] = {}
        for statement in statements:
            for part in called_parts(statement.node):
                self._learn(part)
        self._settle()

    def _learn(self, node: ast.AST) -> None:
        if isinstance(node, FUNCTIONS):
            self._functions.setdefault(node.name, []).append(Function(node, is_method=False))
        elif isinstance(node, ast.ClassDef):
            self._classes[node.name] = node
            for part in node.body:
                if isinstance(part, FUNCTIONS):
                    self._methods.setdefault(part.name, []).append(Function(part, is_method=True))
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
            one = Function(node.value, is_method=False)
            for target in node.targets:
                if isinstance(target, ast.Name):
                    self._functions.setdefault(target.id, []).append(one)

    def _settle(self) -> None:
        every = [f for some in (self._functions, self._methods) for fs in some.values() for f in fs]
        for _ in range(_ROUNDS):
            # a list: each of them is to be asked
            if not any([one.add(self._by_calls(one.calls, one.places)) for one in every]):
                break

    def of(self, statement: Statement) -> frozenset[str]:
        """The names whose objects a statement may change when it is executed."""
        node = statement.node
        if isinstance(node, DEFINITIONS):
            return frozenset(self._of_definition(node))
        if statement.is_import or self._is_experiment(statement):
            return _NOTHING
        parts = list(called_parts(node))
        places = self._places
        calls = [part for part in parts if isinstance(part, ast.Call)]
        found = {*places.changed(parts), *self._by_calls(calls, places)}
        return frozenset(found)

    @cached_property
    def _places(self) -> Places:
        """What names of the notebook stand for each other."""
        return Places([p for s in self._statements for p in called_parts(s.node)])

    def _of_definition(self, node: ast.AST) -> Iterator[str]:
        """A definition is given to its decorators, and a class to those that it is made from."""
        for decorator in getattr(node, "decorator_list", []):
            called = decorator.func if isinstance(decorator, ast.Call) else decorator
            if isinstance(decorator, ast.Call):
                yield from self._by_calls([decorator], self._places)
            if isinstance(called, ast.Name):
                if called.id in self._classes:
                    yield from self._of_class(called.id, _SPECIAL)
                elif called.id not in self._functions:
                    yield from self._places.roots(called)
        if isinstance(node, ast.ClassDef):
            for name, is_meta in self._above(node).items():
                yield from self._of_class(name, _SPECIAL if is_meta else _MAKING)
                if self._asks_for_subclasses:
                    yield name

    @cached_property
    def _asks_for_subclasses(self) -> bool:
        return any("__subclasses__" in s.attributes for s in self._statements)

    def _above(self, node: ast.ClassDef) -> dict[str, bool]:
        """The notebook's own classes from which a class is made; True for a metaclass."""
        found: dict[str, bool] = {}
        waiting = [node]
        while waiting:
            one = waiting.pop()
            metas = [k.value for k in one.keywords if k.arg == "metaclass"]
            for base in [*one.bases, *metas]:
                name = base.id if isinstance(base, ast.Name) else ""
                if name in self._classes and name not in found:
                    found[name] = base in metas
                    waiting.append(self._classes[name])
        return found

    def _of_class(self, name: str, methods: Iterable[str]) -> Iterator[str]:
        """What these methods of a class change: names outside, or the class."""
        own = {id(part) for part in self._classes[name].body}
        for method in methods:
            for one in self._methods.get(method, []):
                if id(one.node) in own:
                    yield from one.changed - set(one.parameters)
                    if one.changed & set(one.parameters):
                        yield name

    def _by_calls(self, calls: Iterable[ast.Call], places: Places) -> set[str]:
        found: set[str] = set()
        for call in calls:
            for one, receiver in self._callees(call, places):
                found |= handed_over(one, call, receiver, places)
        return found

    def _callees(
        self, call: ast.Call, places: Places
    ) -> Iterator[tuple[Function, frozenset[str] | None]]:
        called = call.func
        while isinstance(called, ast.Call):  # `register("exp")(f)`
            called = called.func
        if isinstance(called, ast.Attribute):
            for one in self._methods.get(called.attr, []):
                yield one, places.roots(called.value, is_receiver=True)
        elif isinstance(called, ast.Name):
            for one in self._functions.get(called.id, []):
                yield one, None
            if called.id in self._classes:
                own = {id(part) for part in self._classes[called.id].body}
                for method in _SPECIAL:
                    for one in self._methods.get(method, []):
                        if id(one.node) in own:
                            yield one, _NOTHING
            elif called.id not in self._functions:
                for one in self._methods.get("__call__", []):
                    yield one, places.roots(called)

    def _is_experiment(self, statement: Statement) -> bool:
        """What uses an answer, or what was made with one, is nothing that an answer needs."""
        return statement in self._experiments

    @cached_property
    def _experiments(self) -> frozenset[Statement]:
        """What takes an answer, or a name that has its value by one at that place."""
        found: set[Statement] = set()
        made = self._answers
        for statement in self._statements:
            if made.isdisjoint(statement.takes):  # a name that is bound anew begins anew
                made = made - statement.binds | self._answers
            else:
                found.add(statement)
                made |= statement.binds
        return frozenset(found)
