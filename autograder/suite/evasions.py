"""What looks like a way round the rule of a question: a reason for a person to look, no verdict."""

from __future__ import annotations

import ast
import re
import unicodedata

_WORD = re.compile(r"\w+")
#: names that reach a call without writing it, watch who watches, or go on somewhere else
_WAYS = frozenset(
    {
        *("getattr", "vars", "globals", "eval", "exec", "compile", "__import__", "__dict__"),
        *("__getattribute__", "attrgetter", "methodcaller", "importlib", "import_module"),
        *("__globals__", "__builtins__", "builtins", "__subclasses__", "locals", "pickle"),
        *("_getframe", "_current_frames", "currentframe", "f_back", "f_globals", "f_locals"),
        *("tb_frame", "gi_frame", "__traceback__", "inspect", "settrace", "setprofile", "gc"),
        *("monitoring", "addaudithook", "ctypes"),
        *("profiler", "_profiler_enabled", "profiler_legacy", "_autograd", "TorchDispatchMode"),
        *("_disable_torch_dispatch", "DisableTorchFunctionSubclass", "_ops", "library"),
        *("threading", "_thread", "concurrent", "multiprocessing", "asyncio", "modules"),
        *("_refs", "_decomp", "_prims", "_C", "_VF", "ops"),
    }
)


def evasions(source: str) -> tuple[str, ...]:
    """The names in a module that can lead round a rule, sorted; empty for no valid Python."""
    # as Python reads names; most texts have no such word at all, and need not be parsed
    if _WAYS.isdisjoint(_WORD.findall(unicodedata.normalize("NFKC", source))):
        return ()
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    return tuple(sorted({name for node in ast.walk(tree) for name in _names(node)} & _WAYS))


def _names(node: ast.AST) -> list[str]:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return [name]
        case ast.Import(names=aliases):
            return [part for alias in aliases for part in alias.name.split(".")]
        case ast.ImportFrom(module=module, names=aliases):
            parts = [alias.name for alias in aliases]
            return [*parts, *(module or "").split(".")]
    return []
