"""Finds anything that code may do besides computing, because a course's answers must only compute.

Everything that is not listed is rejected: names from Python or a library, attributes of values, and
changes to a library. Therefore, dangerous functions, such as those that open files, need not be
listed.

Only names are checked, so the lists contain nothing that looks up attributes by strings. For
example, `functools.wraps`, positional patterns, and calls that create a class do so.
"""

from __future__ import annotations

import ast
import builtins
import symtable
import tomllib
import types
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import torch
from torch.overrides import get_overridable_functions

from ... import parts

_LISTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_BUILTINS, _METHODS, _ATTRIBUTES, _SETTABLE = (
    frozenset(_LISTS[key].split()) for key in ("builtins", "methods", "attributes", "settable")
)
#: the allowed names in each module that may be imported; no module may be used as a value
_MODULES = {name: frozenset(names.split()) for name, names in _LISTS["modules"].items()}
#: tensor methods that give access to memory, or that call other code later
_NOT_OF_TENSORS = frozenset({"data_ptr", "module_load", "share_memory_"}) | {
    *("register_hook", "register_post_accumulate_grad_hook"),
    *("storage", "storage_offset", "storage_type", "untyped_storage"),
}
#: containers, strings and numbers, whose methods only compute
_PLAIN = (str, list, dict, tuple, set, int, float, complex, range, slice)


def uses_besides_computing(code: str) -> tuple[str, ...]:
    """Returns the sorted names in code that may do more than compute, or the syntax error."""
    try:
        return tuple(sorted({*_Reader(ast.parse(code)).refused(), *_refused_names(code)}))
    except SyntaxError as error:
        return (f"{error.msg} in line {error.lineno}",)


def _refused_names(code: str) -> Iterator[str]:
    """Yields undefined names, and unlisted names that are, or may be, built into Python.

    A local name in a function is never a built-in name. A name that the code does not define may be
    defined in the file to which the code is added.
    """
    tables = [symtable.symtable(code, "<answer>", "exec")]
    for table in tables:
        tables += table.get_children()
    defined = {
        symbol.get_name()
        for table in tables
        for symbol in table.get_symbols()
        if table.get_type() == "module" or symbol.is_declared_global()
        if symbol.is_assigned() or symbol.is_imported()
    }
    for table in tables:
        in_function, in_class = (table.get_type() == kind for kind in ("function", "class"))
        listed = _BUILTINS | _METHODS if in_class else _BUILTINS
        for symbol in table.get_symbols():
            name = symbol.get_name()
            is_own = in_function and not symbol.is_global()
            is_defined = name in defined or (in_class and symbol.is_assigned())
            of_python = hasattr(builtins, name) or _is_special(name)
            if not (is_own or name in listed or (is_defined and not of_python)):
                yield name


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


class _Reader:
    """Reads the imports in code, and finds names and attributes that may do more than compute."""

    def __init__(self, tree: ast.Module) -> None:
        self._nodes = [*ast.walk(tree)]
        self._imports: dict[str, set[str]] = {}
        for node in self._nodes:
            for name, path in _imported(node):
                self._imports.setdefault(name, set()).add(path)
        self._before_a_dot = {id(n.value) for n in self._nodes if isinstance(n, ast.Attribute)}
        self._looked_at = self._before_a_dot | {
            id(value)
            for node in self._nodes
            if isinstance(node, ast.Compare)
            and all(isinstance(by, ast.Is | ast.IsNot) for by in node.ops)  # others use `__eq__`
            for value in (node.left, *node.comparators)
        }
        #: the uses of `type` in calls whose result is only compared, or only used for an attribute
        self._types = {
            id(node.func)
            for node in self._nodes
            if isinstance(node, ast.Call) and id(node) in self._looked_at and len(node.args) == 1
        }

    def refused(self) -> Iterator[str]:
        """Yields each use of something that may do more than compute."""
        for node in self._nodes:
            for _, path in _imported(node):
                if path not in _MODULES and not _is_listed(path):
                    yield f"import {path}"
            match node:
                case ast.Name() | ast.Attribute():
                    yield from self._refused_values(node)
                    if not isinstance(node.ctx, ast.Load):
                        yield from self._refused_changes(node)
                case ast.MatchClass(patterns=[_, *_]):
                    yield "a pattern by position"
                case ast.MatchClass(kwd_attrs=names):
                    yield from (f".{name}" for name in names if not _is_of_values(name))
                case ast.arg(arg=name) | ast.ExceptHandler(name=str(name)):
                    yield from (f"another {name}" for _ in self._imports.get(name, ()))

    def _refused_values(self, node: ast.Name | ast.Attribute) -> Iterator[str]:
        paths = self._paths(node)
        for path in paths:
            is_module = path in _MODULES and id(node) in self._before_a_dot
            if not is_module and not _is_listed(path):
                yield path
        if isinstance(node, ast.Attribute) and not paths and not _is_of_values(node.attr):
            yield f".{node.attr}"
        match node:  # the class of a class is `type`, which can create classes
            case ast.Name(id="type") if id(node) not in self._types:
                yield "type as a value"
            case ast.Attribute(attr="__class__") if id(node) not in self._looked_at:
                yield ".__class__ as a value"

    def _refused_changes(self, node: ast.Name | ast.Attribute) -> Iterator[str]:
        if isinstance(node, ast.Name):
            if node.id == "self" or node.id in self._imports:
                yield f"another {node.id}"
            return
        root: ast.expr = node
        while isinstance(root, ast.Attribute):
            root = root.value
        of_library = isinstance(root, ast.Name) and root.id in self._imports
        on_self = isinstance(node.value, ast.Name) and node.value.id == "self"
        is_new = on_self or node.attr in _SETTABLE or not _is_taken(node.attr)
        if of_library or not is_new:
            yield f"a change to {ast.unparse(node)}"

    def _paths(self, node: ast.expr) -> set[str]:
        """Returns the possible import paths of a name or attribute; none if it is not imported."""
        if isinstance(node, ast.Name):
            return self._imports.get(node.id, set())
        if isinstance(node, ast.Attribute):
            return {f"{path}.{node.attr}" for path in self._paths(node.value) if path in _MODULES}
        return set()


def _imported(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Yields each name that an import defines, with the imported path."""
    if isinstance(node, ast.ImportFrom):
        for alias in node.names:
            path = f"{'.' * node.level}{node.module or ''}.{alias.name}"
            yield alias.asname or alias.name, path
    elif isinstance(node, ast.Import):
        for alias in node.names:
            top = alias.name.partition(".")[0]
            yield alias.asname or top, alias.name if alias.asname else top
            if alias.name not in _MODULES:
                yield alias.name, alias.name


@cache
def _is_listed(path: str) -> bool:
    """Returns whether a function, class or constant in a library only computes."""
    module, _, name = path.rpartition(".")
    if module not in _MODULES or path in _MODULES:
        return False
    if name in _MODULES[module] or (module == "autograder.parts" and name in parts.__all__):
        return True
    if module.partition(".")[0] != "torch" or name.startswith("_"):
        return False
    if module == "torch.nn.init":
        return name.endswith("_")
    value: object = torch
    for part in path.split(".")[1:]:
        value = getattr(value, part, None)
    if isinstance(value, type):
        return issubclass(value, torch.nn.Module)
    return isinstance(value, torch.dtype) or id(value) in _functions_of_tensors()


@cache
def _functions_of_tensors() -> frozenset[int]:
    """Returns the ids of the functions that torch itself lists as tensor functions."""
    return frozenset(id(f) for listed in get_overridable_functions().values() for f in listed)


def _is_of_values(name: str) -> bool:
    """Returns whether an attribute only computes, or is unknown to Python, torch and NumPy."""
    return name in _attributes() or not _is_taken(name)


@cache
def _attributes() -> frozenset[str]:
    of_tensors = {
        str(getattr(function, "__name__", ""))
        for function in get_overridable_functions()[torch.Tensor]
    }
    of_plain = {name for kind in _PLAIN for name in dir(kind)}
    public = {name for name in of_tensors | of_plain if not name.startswith("_")}
    return frozenset((public - _NOT_OF_TENSORS) | _ATTRIBUTES)


@cache
def _is_taken(name: str) -> bool:
    return _is_special(name) or name in _taken()


@cache
def _taken() -> frozenset[str]:
    kinds = {
        *(
            kind
            for kind in (*vars(types).values(), *vars(builtins).values())
            if _is_of_python(kind)
        ),
        *(torch.Tensor, torch.UntypedStorage, torch.TypedStorage, torch.Generator, torch.nn.Module),
        *(torch.autograd.Function, type(torch.zeros(0).numpy())),
    }
    return frozenset(name for kind in kinds for name in dir(kind))


def _is_of_python(kind: object) -> bool:
    return isinstance(kind, type) and not issubclass(kind, BaseException)
