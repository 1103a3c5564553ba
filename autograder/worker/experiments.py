"""Finds top-level statements that only experiment with answers, judging by the names they use.

An experiment, such as a check, a plot or a training loop, reads an answer or an answer's result,
and creates nothing that an answer needs. All other statements are executed, so that their effects
need not be guessed.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DEFINITIONS = (*FUNCTIONS, ast.ClassDef)
IMPORTS = (ast.Import, ast.ImportFrom)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_SCOPES = (*DEFINITIONS, ast.Lambda, *_COMPREHENSIONS)
_NAMELESS = (ast.Constant, ast.expr_context, ast.operator, ast.unaryop, ast.boolop)
#: nodes that bind a name without `ast.Name`, as in `except Error as name` and `case [*name]`
_NAMING = (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)
_BINDING = (*DEFINITIONS, *IMPORTS, *_NAMING, ast.arg, ast.Global, ast.MatchMapping, ast.AugAssign)
_CHANGING = (ast.Attribute, ast.Subscript, ast.Expr)


@dataclass(slots=True)
class UsedNames:
    """The module's names that a statement uses.

    `reads` contains the names that the statement, or a function in it, looks up; `binds` contains
    the names that it assigns; `sets` contains the objects that it changes, such as `a` in
    `a.b = 1`, `a[0] = 1` or `setattr(a, "b", 1)`. If a call is used as a statement, `asked`
    contains the object whose method is called (`a` in `a.append(1)`), `called` contains the
    function, and `given` contains the names that are passed as arguments.
    """

    reads: set[str] = field(default_factory=set)
    binds: set[str] = field(default_factory=set)
    sets: set[str] = field(default_factory=set)
    asked: set[str] = field(default_factory=set)
    called: set[str] = field(default_factory=set)
    given: set[str] = field(default_factory=set)


class Statement:
    """A statement at the top level of a module."""

    def __init__(self, node: ast.stmt) -> None:
        self.node = node
        self.is_definition = isinstance(node, DEFINITIONS)
        self.is_import = isinstance(node, IMPORTS)

    @property
    def is_function(self) -> bool:
        """Returns whether the statement defines a function or class, or assigns a `lambda`."""
        return self.is_definition or isinstance(getattr(self.node, "value", None), ast.Lambda)

    @property
    def is_silent(self) -> bool:
        """Returns whether the statement is an expression other than a call, and binds no name."""
        if not isinstance(self.node, ast.Expr) or isinstance(self.node.value, ast.Call):
            return False
        return not self.names.binds

    @cached_property
    def names(self) -> UsedNames:
        return names_of(self.node)

    @cached_property
    def binds(self) -> frozenset[str]:
        """The names that the statement assigns."""
        if isinstance(self.node, DEFINITIONS):
            return frozenset((self.node.name,))
        if isinstance(self.node, IMPORTS):
            return frozenset(map(_imported, self.node.names)) - {"*"}
        # don't use `names`, which would stay in memory for each of up to 100,000 statements
        return frozenset(names_of(self.node).binds)


def experiments(statements: Sequence[Statement], answers: Collection[str]) -> set[Statement]:
    """Returns the statements to skip, which read an answer but create nothing that answers need."""
    others = (one for one in statements if not (one.is_import or one.is_definition))
    if not any(one.names.reads for one in others):  # usually, all are definitions
        return set()
    found = set(_reading(statements, answers))
    if not any(_may_be_needed(statement.names) for statement in found):
        return found
    module = _Module(
        frozenset(answers),
        names_reached(statements, answers),
        {name: s for s in statements if s.is_function for name in s.binds},
        {name for s in statements if s.is_import for name in s.binds},
    )
    return {statement for statement in found if not module.needs(statement.names)}


def names_reached(statements: Sequence[Statement], answers: Iterable[str]) -> set[str]:
    """Returns the module's names on which the values of answers depend, directly or indirectly."""
    making: dict[str, list[Statement]] = {}
    for statement in statements:
        if not statement.is_import:
            names = statement.names
            for name in names.binds if statement.is_definition else _written(names):
                making.setdefault(name, []).append(statement)
    imported = {name for s in statements if s.is_import for name in s.binds}
    found: set[str] = set()
    seen: set[Statement] = set()
    waiting = list(answers)
    while waiting:
        name = waiting.pop()
        if name not in found and (name not in imported or name in answers):
            found.add(name)
            for statement in set(making.pop(name, ())) - seen:
                seen.add(statement)
                waiting += statement.names.reads
    return found


def _written(names: UsedNames) -> set[str]:
    return names.binds | names.sets | names.asked


def _reading(statements: Sequence[Statement], answers: Collection[str]) -> Iterator[Statement]:
    """Yields statements, other than definitions, that read an answer or its result."""
    answers = frozenset(answers)
    made = answers | _definitions_reading(statements, answers)
    for statement in statements:
        if statement.is_import or (statement.is_definition and statement.binds <= made):
            continue
        if made.isdisjoint(statement.names.reads):
            made = made - statement.binds | answers  # no longer depends on an answer
            continue
        made |= statement.binds
        if not statement.is_definition:
            yield statement


def _definitions_reading(statements: Sequence[Statement], names: frozenset[str]) -> set[str]:
    """Returns functions and classes that use `names`, directly or through one another."""
    readers: dict[str, list[Statement]] = {}
    for statement in statements:
        if statement.is_definition and not statement.binds <= names:
            for name in statement.names.reads:
                readers.setdefault(name, []).append(statement)
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        new = {name for reader in readers.pop(waiting.pop(), ()) for name in reader.binds} - found
        found |= new
        waiting += new
    return found


def _may_be_needed(names: UsedNames) -> bool:
    return bool(_written(names) or (names.called and names.given))


@dataclass(frozen=True, slots=True)
class _Module:
    """The names in a module that decide whether an answer needs an experiment.

    `needed` contains the names on which the values of answers depend.
    """

    answers: frozenset[str]
    needed: Collection[str]
    functions: Mapping[str, Statement]
    imported: Collection[str]

    def needs(self, names: UsedNames) -> bool:
        """Returns whether an answer may depend on a statement that uses `names`."""
        # Calling a method of an answer does not change the answer.
        written = names.binds | names.sets | (names.asked - self.answers)
        if not (written.isdisjoint(self.needed) and names.sets.isdisjoint(self.imported)):
            return True
        called = [self.functions[name] for name in names.called if name in self.functions]
        if called and not names.given.isdisjoint(self.needed):
            return True  # such as `fill(TABLE, answer(1))`
        # such as `register(answer)`, if `register` stores it in an object that an answer uses
        if names.given.isdisjoint(self.answers | self.functions.keys() | names.binds):
            return False
        return any(not one.names.reads.isdisjoint(self.needed) for one in called)


class _Scope:
    """The names that a function, a class or a comprehension reads and binds."""

    def __init__(self, parent: _Scope | None, is_class: bool = False) -> None:
        self.parent = parent
        self.is_class = is_class
        self.reads: set[str] = set()
        self.binds: set[str] = set()
        self.outside: set[str] = set()  # names declared global

    def hand_on(self) -> None:
        """Adds the names that this scope reads from outside to the names that the parent reads.

        For a class, these include the names that it binds, because it may read an outer name before
        it binds the same name.
        """
        if self.parent is not None:
            own = set() if self.is_class else self.binds - self.outside
            self.parent.reads |= self.reads - own


def names_of(node: ast.stmt) -> UsedNames:
    """Returns the names that a statement uses."""
    names = UsedNames()
    top = _Scope(None)
    scopes = [top]
    waiting: list[tuple[ast.AST, _Scope]] = [(node, top)]
    while waiting:
        part, scope = waiting.pop()
        if isinstance(part, ast.Name):
            (scope.binds if isinstance(part.ctx, ast.Store) else scope.reads).add(part.id)
            continue
        if scope is top and isinstance(part, _CHANGING):
            _note_change(part, names)
        inner = scope
        if isinstance(part, _SCOPES):
            inner = _Scope(scope, isinstance(part, ast.ClassDef))
            scopes.append(inner)
            waiting += [(one, scope) for one in _evaluated_outside(part)]
        if isinstance(part, _BINDING):
            _note_bound(part, scope)
        waiting += [(child, inner) for child in _children(part)]
    for scope in reversed(scopes):
        scope.hand_on()
    names.reads |= top.reads
    names.binds |= top.binds
    return names


def _children(node: ast.AST) -> list[ast.AST]:
    """Returns the child nodes that may contain names; faster than `ast.iter_child_nodes`."""
    found: list[ast.AST] = []
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, list):
            found += [one for one in value if isinstance(one, ast.AST)]
        elif isinstance(value, ast.AST) and not isinstance(value, _NAMELESS):
            found.append(value)
    return found


def _evaluated_outside(node: ast.AST) -> Iterator[ast.AST]:
    """Yields the parts of a definition that are evaluated in the enclosing scope."""
    yield from getattr(node, "decorator_list", [])
    arguments = getattr(node, "args", None)
    if isinstance(arguments, ast.arguments):
        yield from (one for one in (*arguments.defaults, *arguments.kw_defaults) if one)


def _note_bound(part: ast.AST, scope: _Scope) -> None:
    """Records a name that is bound without an `ast.Name`."""
    if isinstance(part, DEFINITIONS):
        scope.binds.add(part.name)
    elif isinstance(part, ast.arg):
        scope.binds.add(part.arg)
    elif isinstance(part, IMPORTS):
        scope.binds.update(map(_imported, part.names))
    elif isinstance(part, ast.Global):
        scope.outside.update(part.names)
    elif isinstance(part, _NAMING) and part.name:
        scope.binds.add(part.name)
    elif isinstance(part, ast.MatchMapping) and part.rest:
        scope.binds.add(part.rest)
    elif isinstance(part, ast.AugAssign) and isinstance(part.target, ast.Name):
        scope.reads.add(part.target.id)


def _note_change(part: ast.AST, names: UsedNames) -> None:
    """Records the objects that a part of a statement may change, either directly or by a call."""
    if isinstance(part, ast.Attribute | ast.Subscript) and not isinstance(part.ctx, ast.Load):
        names.sets.update(_root(part))
        match part:
            case ast.Subscript(ast.Call(ast.Name("globals" | "vars")), ast.Constant(str(name))):
                names.binds.add(name)
    elif isinstance(part, ast.Expr) and isinstance(part.value, ast.Call):
        call = part.value
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        names.given.update(one.id for one in given if isinstance(one, ast.Name))
        if isinstance(call.func, ast.Attribute):
            names.asked.update(_root(call.func.value))
        elif isinstance(call.func, ast.Name):
            names.called.add(call.func.id)
            if call.func.id in ("setattr", "delattr") and call.args:
                names.sets.update(_root(call.args[0]))


def _root(node: ast.expr) -> Iterator[str]:
    """Yields the name of the outermost object, such as `a` for `a.b[0].c`."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    if isinstance(node, ast.Name):
        yield node.id


def _imported(alias: ast.alias) -> str:
    return alias.asname or alias.name.partition(".")[0]
