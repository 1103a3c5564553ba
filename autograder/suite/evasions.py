"""Finds ways around a question's rule: a reason for a person to look, not a verdict."""

from __future__ import annotations

import ast
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType

import torch

from ..worker.experiments import Statement, experiments
from .names import imports_of
from .texts import ANY, ExpressionTexts, written

_WORD = re.compile(r"\w+")
#: suspicious only as plain names: `layer.eval` is something different, and `torch.compile` leaves
#: a function unchanged in the process that runs student code
_BUILT_IN = frozenset(
    {
        *("getattr", "vars", "globals", "locals", "eval", "exec", "compile", "__import__"),
        "__builtins__",
    }
)
#: names that reach a call without writing it, inspect the watcher, or continue somewhere else
_WAYS = _BUILT_IN | {
    *("__dict__", "__getattribute__", "attrgetter", "methodcaller", "importlib"),
    *("import_module", "__globals__", "builtins", "__subclasses__", "pickle"),
    *("_getframe", "_current_frames", "currentframe", "f_back", "f_globals", "f_locals"),
    *("tb_frame", "gi_frame", "__traceback__", "inspect", "settrace", "setprofile"),
    *("get_objects", "get_referrers", "get_referents"),
    *("monitoring", "addaudithook", "ctypes"),
    *("profiler", "_profiler_enabled", "profiler_legacy", "_autograd", "TorchDispatchMode"),
    *("_disable_torch_dispatch", "DisableTorchFunctionSubclass", "_ops", "library"),
    *("threading", "_thread", "concurrent", "multiprocessing", "asyncio", "modules"),
    *("_refs", "_decomp", "_prims", "_C", "_VF", "ops"),
}
#: the names of torch that a text can look up
_OF_TORCH = frozenset(
    name
    for place in (torch, torch.Tensor, torch.nn, torch.nn.functional, torch.special)
    for name in dir(place)
)
#: the names of torch's modules, which layers also have
_MODULES = frozenset(n for n in dir(torch.nn) if isinstance(getattr(torch.nn, n), ModuleType))
#: the function of the profiler that only names a section of the program
_MARK = "record_function"
#: the name of a star import, after which a plain name may be one of these
_STAR = "*"


def evasions(source: str, answers: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the names in a module that can lead around a rule, sorted; empty for invalid Python.

    Statements that are not executed, because they only try `answers` out, do not count.
    A name that is looked up by a text counts as if it were written out, if the module shows which
    text it is: `getattr(self, name)` in a loop over the names of three layers hides nothing.
    """
    # normalize as Python does; most texts contain none of these words and need not be parsed
    if _WAYS.isdisjoint(_WORD.findall(unicodedata.normalize("NFKC", source))):
        return ()
    try:
        statements = [Statement(node) for node in ast.parse(source).body]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    left_out = experiments(statements, answers) if answers else set()
    executed = [statement.node for statement in statements if statement not in left_out]
    nodes = [node for statement in executed for node in ast.walk(statement)]
    texts, imports = ExpressionTexts(nodes), imports_of(source)
    lookups = (lookup for node in nodes for lookup in _lookups(node, texts))
    plain = {id(place) for place, names in lookups if not any(map(_can_hide, names))}
    words = {word for node in nodes if id(node) not in plain for word in _words(node, imports)}
    found = words & _WAYS
    if "sys" not in words:  # a layer may have `self.modules()`
        found.discard("modules")
    return tuple(sorted(found))


def _can_hide(text: str) -> bool:
    """Return whether a text, possibly with an unknown rest, can name an evasion or a torch call."""
    names = _WAYS | _OF_TORCH
    if text.endswith(ANY):
        return any(name.startswith(text.removesuffix(ANY)) for name in names)
    return text in names


def _lookups(node: ast.AST, texts: ExpressionTexts) -> Iterator[tuple[ast.expr, frozenset[str]]]:
    """Yield the place where names are looked up by texts, with the texts; none if only compared.

    The rule itself finds texts that are written as one constant or as a sum.
    """
    match node:
        case ast.Call(ast.Name("getattr") as place, [ast.Name("self"), text, *_]):
            yield place, texts.of(text) - _MODULES - (frozenset(written(text)) - _WAYS)
        case ast.Call(ast.Name("getattr") as place, [_, text, *_]):
            yield place, texts.of(text) - (frozenset(written(text)) - _WAYS)
        case ast.Subscript(ast.Call() | ast.Attribute(attr="__dict__") as names, text):
            yield _namespace(names), texts.of(text) - (frozenset(written(text)) - _WAYS)
        case ast.Call(ast.Attribute(ast.Call() as names, "update")):  # it only writes names
            yield _namespace(names), frozenset()
        case ast.Attribute(place, attr) if attr == _MARK:
            yield place, frozenset()
        case ast.Compare(_, [ast.In() | ast.NotIn()], [asked]):
            yield _namespace(asked), frozenset()


def _namespace(node: ast.expr) -> ast.expr:
    """Return the name that makes an expression a dictionary of names: `globals` of `globals()`."""
    match node:
        case ast.Call(ast.Name("vars" | "globals" | "locals") as place):
            return place
    return node


def _words(node: ast.AST, imports: Mapping[str, str]) -> Iterator[str]:
    """Yield the names in a node that can be names of Python or of a library."""
    match node:
        case ast.Name(name) if name in _BUILT_IN or _STAR in imports:
            yield name
        case ast.Attribute(_, attr) if attr not in _BUILT_IN:
            yield attr
        case ast.ImportFrom("torch.profiler" | "torch.autograd.profiler", names) if all(
            alias.name == _MARK for alias in names
        ):
            pass
        case ast.Import(names):
            yield from (word for alias in names for word in alias.name.split("."))
        case ast.ImportFrom(above, names):
            yield from (above or "").split(".")
            yield from (alias.name for alias in names)
