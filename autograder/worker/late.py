"""Keeps parts of torch out of processes that have no use for them, until something has.

torch registers a thousand kernels of the meta device in Python, and loads decompositions and
reference operators that only its compiler and these kernels use: a fifth of what its import costs,
in the grader and once more in its fork server (`benchmarks/startup.py`). Most operators have a
kernel of the meta device in C++ besides. This module imports no torch: it has a say in how that
is done.
"""

from __future__ import annotations

import contextlib
import importlib
import re
import sys
from collections.abc import Callable
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

_KERNELS = "torch._meta_registrations"
#: what they import, and nothing else does; but torch takes them for granted
_THEIR_IMPORTS = ("_decomp", "_refs")
#: what else they import has other uses: without it, torch makes no generators
_AT_ONCE = "torch._prims.rng_prims"
_NAMED = re.compile(r"""["']meta["']""")


def defer() -> None:
    """Before torch is imported, keeps these parts out; afterwards does nothing."""
    if "torch" not in sys.modules:
        sys.meta_path.insert(0, _Finder())


def kernels_are_late() -> bool:
    """Whether the kernels were kept out, and nothing has asked for them."""
    return isinstance(sys.modules.get(_KERNELS), _Late)


def load_kernels() -> bool:
    """Imports the kernels where they were kept out; whether they were."""
    if not kernels_are_late():
        return False
    _real(_KERNELS)
    return True


def load_if_named(source: str) -> None:
    """The same where code names the device: what it does there by itself needs them."""
    if _NAMED.search(source):
        load_kernels()


def on_device(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Calls what computes on the meta device; once more where a kernel was missing that is late."""
    try:
        return function(*args, **kwargs)
    except NotImplementedError:
        if not load_kernels():
            raise
    return function(*args, **kwargs)


class _Late(ModuleType):
    """In the place of a module; the real one comes for who asks for anything in it."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked by the import system and `inspect`, of every module
            raise AttributeError(name)
        return getattr(_real(self.__name__), name)


def _real(name: str) -> ModuleType:
    if isinstance(sys.modules.get(name), _Late):
        del sys.modules[name]
    return importlib.import_module(name)


class _Finder(MetaPathFinder, Loader):
    """Puts a stand-in where the kernels would be imported to, once."""

    def find_spec(
        self, name: str, path: object, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(name, self) if name == _KERNELS else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Late(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        sys.meta_path.remove(self)
        package = sys.modules["torch"]
        for name in _THEIR_IMPORTS:  # no entry of `sys.modules`: who imports them gets them
            if not hasattr(package, name):
                setattr(package, name, _Late(f"torch.{name}"))
        with contextlib.suppress(ModuleNotFoundError):  # other versions of torch
            importlib.import_module(_AT_ONCE)
