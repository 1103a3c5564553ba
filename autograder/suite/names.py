"""Finds the names of torch calls in the code that an answer reaches."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import torch

from ..worker.experiments import DEFINITIONS, IMPORTS, names_of
from .texts import written

#: stands for a lookup by a string: `getattr(torch, "softmax")`, `vars(torch)["soft" + "max"]`
BY_TEXT = "getattr"
#: stands for any value with a method, except modules: `scores.softmax(-1)`
METHOD_OF_A_VALUE = "Tensor"


@lru_cache(maxsize=64)  # several tests need the same names
def names_used(source: str, answer: str, apart: tuple[str, ...] = ()) -> frozenset[str]:
    """Return the dotted names in the definition of `answer` and in the definitions that it reaches.

    Names that are reached only through a name in `apart` do not count.

    Imports are resolved (`F.softmax` is `torch.nn.functional.softmax`). A method of any other value
    counts as `Tensor.<method>` if tensors have such a method and the source assigns no attribute
    with that name; a name that is looked up by a string counts as `getattr.<name>`. If the source
    is not valid Python, the result is empty.
    """
    module = _read(source)
    imports, definitions = module.imports, module.definitions
    found: set[str] = set()
    own = definitions[answer][-1] if answer in definitions else None
    if answer in imports and answer not in definitions:  # for example `from torch import softmax`
        found.add(imports[answer])
    reached = definitions_reached(source, answer, apart)
    every = {id(one): one for name in reached for one in definitions.get(name, ())}
    for definition in every.values():
        found |= {f"{BY_TEXT}.{text}" for text in definition.looked_up}
        for dotted in definition.names:
            head, _, rest = dotted.partition(".")
            if head in definitions and head in definition.reads:
                continue
            method = rest.rsplit(".", 1)[-1]
            if head in imports:
                found.add(f"{imports[head]}.{rest}" if rest else imports[head])
            elif hasattr(torch.Tensor, method) and (
                method not in module.attributes or (own is not None and head in own.given)
            ):
                # `self.softmax` does not count: it is a method or layer of the student's class
                found.add(f"{METHOD_OF_A_VALUE}.{method}")
    return frozenset(found)


def definitions_reached(source: str, answer: str, apart: tuple[str, ...] = ()) -> frozenset[str]:
    """Return `answer` and the names that its definition refers to, directly or indirectly.

    The result includes names that the module does not define. Definitions of the names in `apart`
    are not followed.
    """
    definitions = _read(source).definitions
    waiting, reached, seen = [answer], set[str](), set[int]()
    while waiting:
        name = waiting.pop()
        if name not in reached and (name not in apart or name == answer):
            reached.add(name)
            for definition in definitions.get(name, ()):
                if id(definition) in seen:
                    continue
                seen.add(id(definition))
                waiting += definition.reads
                waiting += (text for text in definition.looked_up if text in definitions)
    return frozenset(reached)


def definition_of(source: str, name: str) -> ast.stmt | None:
    """Return a module's last top-level definition of a name, or None if there is none."""
    found = _read(source).definitions.get(name)
    return found[-1].statement if found else None


def imports_of(source: str) -> Mapping[str, str]:
    """Map each name that a module imports to its dotted name."""
    return _read(source).imports


@dataclass
class _Statement:
    """A top-level statement in a module, its names, and the names that it looks up by strings."""

    statement: ast.stmt
    names: set[str] = field(default_factory=set)
    looked_up: list[str] = field(default_factory=list)

    @cached_property
    def reads(self) -> set[str]:
        """The module's names that the statement reads, without any function's local names."""
        return names_of(self.statement).reads

    @cached_property
    def given(self) -> frozenset[str]:
        """A function's arguments, except those to which the function assigns a new value."""
        if not isinstance(self.statement, ast.FunctionDef):
            return frozenset()
        names = [node for node in ast.walk(self.statement) if isinstance(node, ast.Name)]
        stored = {name.id for name in names if isinstance(name.ctx, ast.Store)}
        return frozenset(argument.arg for argument in self.statement.args.args) - stored


@dataclass(slots=True)
class _Module:
    """The names in a module, each with all statements that give it a value.

    `functions` contains the names of functions and classes, and `attributes` contains the
    attributes that the module assigns.
    """

    imports: dict[str, str] = field(default_factory=dict)
    definitions: dict[str, list[_Statement]] = field(default_factory=dict)
    functions: set[str] = field(default_factory=set)
    attributes: set[str] = field(default_factory=set)


@lru_cache(maxsize=16)
def _read(source: str) -> _Module:
    """Read a module in one pass; the result has no names if the module is not valid Python."""
    module = _Module()
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return module
    for statement in tree.body:
        found = _Statement(statement)
        for node in _nodes(statement):
            _note(node, module, found)
        _define(statement, found, module)
    return module


def _define(statement: ast.stmt, found: _Statement, module: _Module) -> None:
    """Add a statement to the definitions of each name that the statement defines or changes.

    A new function or class replaces earlier definitions of its name, unless it uses the name's
    earlier value.
    """
    if isinstance(statement, ast.AnnAssign) and statement.value is None:
        return
    definitions = module.definitions
    defined = _defined(statement)
    for name in defined:
        if _replaces(statement, name, module):
            definitions[name] = []
        definitions.setdefault(name, []).append(found)
    if isinstance(statement, DEFINITIONS):
        module.functions.update(defined)
    elif not isinstance(statement, IMPORTS):
        names = names_of(statement)
        for name in names.binds - set(defined):
            definitions.setdefault(name, []).append(found)
        for name in (names.sets | names.asked) - names.binds:
            if name in definitions:
                definitions[name].append(found)


def _replaces(statement: ast.stmt, name: str, module: _Module) -> bool:
    """Return whether a statement gives a name a new function without using the name's old value."""
    if isinstance(statement, DEFINITIONS):
        above = [*statement.decorator_list, *getattr(statement, "bases", [])]
        return name not in {one.id for one in map(_head, above) if one is not None}
    match getattr(statement, "value", None):
        case ast.Lambda():
            return True
        case ast.Name(other):
            return other in module.functions
        case ast.Attribute():
            return True
    return False


def _head(node: ast.expr) -> ast.Name | None:
    while isinstance(node, ast.Attribute | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node if isinstance(node, ast.Name) else None


def _note(node: ast.AST, module: _Module, found: _Statement) -> None:
    match node:
        case ast.Name():
            found.names.add(node.id)
        case ast.Attribute():
            found.names.add(_dotted(node))
            if isinstance(node.ctx, ast.Store):
                module.attributes.add(node.attr)
        case ast.Call():
            if _last(node.func).endswith("Namespace"):
                module.attributes.update(keyword.arg for keyword in node.keywords if keyword.arg)
            found.looked_up += _looked_up(node)
        case ast.Subscript():
            found.looked_up += _looked_up(node)
        case ast.ClassDef():
            module.attributes.update(*map(_defined, node.body))
        case ast.Import() | ast.ImportFrom():
            module.imports.update(_imported(node))


#: kinds of nodes that contain no names
_WITHOUT_NAMES = (ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.Constant)


def _nodes(root: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and all nodes below it that may contain names; faster than `ast.walk`."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, list):
                waiting += [item for item in value if isinstance(item, ast.AST)]
            elif isinstance(value, ast.AST) and not isinstance(value, _WITHOUT_NAMES):
                waiting.append(value)


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
    for alias in node.names:
        if isinstance(node, ast.Import):
            target = alias.name if alias.asname else alias.name.partition(".")[0]
            yield alias.asname or target, target
        elif node.module:
            yield alias.asname or alias.name, f"{node.module}.{alias.name}"


def _defined(node: ast.stmt) -> list[str]:
    """Return the names that a statement at the top level of a module or class defines."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else []
    if isinstance(node, ast.AnnAssign):
        targets = [node.target]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _looked_up(node: ast.AST) -> Iterator[str]:
    """Yield the strings by which `getattr`, `vars(...)[...]` and `__dict__[...]` look up names."""
    if isinstance(node, ast.Call):
        called = _called(node.func)
        if called == "getattr" and len(node.args) > 1:
            yield from written(node.args[1])
        elif called == "attrgetter":
            yield from (text.rpartition(".")[2] for arg in node.args for text in written(arg))
    elif isinstance(node, ast.Subscript) and _is_namespace(node.value):
        yield from written(node.slice)


def _is_namespace(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return _called(node.func) in ("vars", "globals")
    return isinstance(node, ast.Attribute) and node.attr == "__dict__"


def _called(function: ast.expr) -> str:
    """Return the last name in the called expression, or an empty string if there is none."""
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _last(node: ast.expr) -> str:
    match node:
        case ast.Name(name) | ast.Attribute(_, name):
            return name
    return ""


def _dotted(node: ast.Attribute) -> str:
    parts: list[str] = [node.attr]
    value = node.value
    while isinstance(value, ast.Attribute):
        parts.append(value.attr)
        value = value.value
    parts.append(value.id if isinstance(value, ast.Name) else "<value>")
    return ".".join(reversed(parts))
