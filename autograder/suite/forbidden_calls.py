"""Finds calls that a question does not allow, by dispatched operators and by names in the code.

If a question forbids calls, the tests of this rule call the answer twice, once watched and once
unwatched; an answer that behaves differently only while it is watched is rejected. Code that might
evade a rule does not change the verdict, but is a reason for a person to look at it.
"""

from __future__ import annotations

import ast
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from ..course.rules import rules_beside
from ..errors import AnswerForbidden, AnswerRaised
from ..worker.execution import tensors_in
from ..worker.experiments import Statement, experiments
from ..worker.operator_watch import THREAD
from .compare import difference
from .implementation import Outcome, WatchedCall
from .names import BY_TEXT, imports_of
from .texts import ANY, ExpressionTexts, written

_PACKAGE = __name__.partition(".")[0]
#: modules that would evade every rule: calls are not observed there, or are made in steps that no
#: rule names
_AROUND = (
    *("torch._refs.", "torch._decomp.", "torch._prims.", "torch._inductor.decomposition."),
    *("threading.", "_thread.", "concurrent.futures.", "multiprocessing."),
    *("torch.multiprocessing.", "torch.jit.fork.", "torch.jit._fork.", "torch.futures."),
)


@dataclass(frozen=True)
class Forbidden:
    """The calls that a question does not allow, and the advice on what to use instead.

    `operators` contains exact names as torch dispatches them (`aten::_softmax`), and torch
    functions that are not operators (`torch.nn.functional::multi_head_attention_forward`). `names`
    contains the last parts of dotted torch names in source code (`softmax` finds `torch.softmax`,
    `F.softmax`, `scores.softmax` and `getattr(torch, "softmax")`). Under any rule, an answer must
    not start a thread or process, or call torch's own reference implementations and decompositions.
    """

    operators: frozenset[str]
    names: frozenset[str]
    instead: str

    def check(
        self,
        question: str,
        operators: frozenset[str],
        names: frozenset[str],
        differs: bool = False,
    ) -> None:
        """Raise `AnswerForbidden` if there are forbidden operators, or forbidden names in the code.

        Also raise the error if the answer `differs` because it was watched. `operators` are those
        of `watched` that were found, and `names` are those that `excludes` selects.
        """
        found = _found(operators, names)
        if found is None and differs:
            found = "returns a different result while its calls are observed"
        if found is not None:
            raise AnswerForbidden(
                f"{question}: your code {found}, which this question does not allow.\n"
                f"next step: {self.instead}"
            )

    @cached_property
    def watched(self) -> list[str]:
        """The operators to look for, sorted; one of them says that a thread was started."""
        return sorted(self.operators | {THREAD})

    def excludes(self, name: str) -> bool:
        """Return whether code must not contain a dotted name."""
        return name.rpartition(".")[2] in self.names or f"{name}.".startswith(_AROUND)


def _found(operators: frozenset[str], names: frozenset[str]) -> str | None:
    """Say what the code does that is forbidden, or return None."""
    if names:  # a name of this package is only what a supplied cell calls its tensor
        first = min(names)
        own = first.startswith(f"{_PACKAGE}.")
        return f"uses {first.rpartition('.')[2] if own else first.removeprefix(f'{BY_TEXT}.')}"
    if dispatched := operators - {THREAD}:
        return f"uses the operator {min(dispatched)}"
    return "starts a thread" if operators else None


def rules_of(suite: str) -> Mapping[str, Forbidden]:
    """Return the forbidden calls for each question in a suite, given the suite's `__file__`.

    The calls are declared in `rules.toml`: see `course.rules`.
    """
    declared = {name: rules.not_allowed for name, rules in rules_beside(Path(suite)).items()}
    return {
        name: Forbidden(rule.operators, rule.names, rule.instead)
        for name, rule in declared.items()
        if rule is not None
    }


def watched(watch: Callable[[], tuple[list[str], Any]], call: Callable[[], Outcome]) -> WatchedCall:
    """Make a call once watched and once unwatched, and return a record of both.

    Raises any error that `call` raises.
    """
    try:
        operators, value = watch()
    except AnswerRaised:
        return WatchedCall(unwatched=call().value, failed=True)
    return WatchedCall(frozenset(operators), value, call().value)


def differs(watched: WatchedCall, call: Callable[[], Any]) -> bool:
    """Return whether an answer behaves differently because it is watched, and not just by chance.

    `call` repeats the call; it is used only if the watched and unwatched values differ.
    """
    if not watched.failed and (
        not tensors_in(watched.unwatched) or _same(watched.value, watched.unwatched)
    ):
        return False
    try:
        again = call()
    except AnswerRaised:
        return False
    return watched.failed or _same(again, watched.unwatched)


def _same(one: Any, other: Any) -> bool:
    return difference(one, other) is None


_WORD = re.compile(r"\w+")
#: names that are suspicious only as plain names: `layer.eval` is something else, and
#: `torch.compile` returns the function itself in the process that runs student code
_BUILT_IN = frozenset(
    {
        *("getattr", "vars", "globals", "locals", "eval", "exec", "compile", "__import__"),
        "__builtins__",
    }
)
#: names with which code can make a call without naming it, inspect the watcher, or leave the
#: watched thread
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
#: torch's names that code can look up by a string
_OF_TORCH = frozenset(
    name
    for place in (torch, torch.Tensor, torch.nn, torch.nn.functional, torch.special)
    for name in dir(place)
)
#: the names of torch.nn's submodules, which attributes of layers may also have
_MODULES = frozenset(n for n in dir(torch.nn) if isinstance(getattr(torch.nn, n), ModuleType))
#: the profiler's function that only names a section of a program
_MARK = "record_function"
#: the name that stands for all names in a star import
_STAR = "*"


def evasions(source: str, answers: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the sorted names in a module that can evade a rule, or () for invalid Python.

    Statements that are not executed, because they only try out `answers`, do not count. A name that
    is looked up by a string counts as if it were written out, provided that the module shows which
    strings are possible: for example, `getattr(self, name)` in a loop over the names of three
    layers hides nothing.
    """
    # normalize as Python does; most modules contain none of these words and need not be parsed
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
    """Return whether a string, whose end may be unknown, can name an evasion or a torch call."""
    names = _WAYS | _OF_TORCH
    if text.endswith(ANY):
        return any(name.startswith(text.removesuffix(ANY)) for name in names)
    return text in names


def _lookups(node: ast.AST, texts: ExpressionTexts) -> Iterator[tuple[ast.expr, frozenset[str]]]:
    """Yield each expression that looks up names by strings, with the possible strings.

    If an expression only compares or assigns names, its set of strings is empty. A string that is
    written as a constant or a sum of constants is not included, because the rule itself finds such
    a string.
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
    """Return the function that gives a dictionary of names, such as `globals` in `globals()`."""
    match node:
        case ast.Call(ast.Name("vars" | "globals" | "locals") as place):
            return place
    return node


def _words(node: ast.AST, imports: Mapping[str, str]) -> Iterator[str]:
    """Yield the names in a node that may belong to Python or a library."""
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
