"""What looks like a way round the rule of a question: a reason for a person to look, no verdict."""

from __future__ import annotations

import re
import unicodedata

from .names import words_of

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
    return tuple(sorted(words_of(source) & _WAYS))
