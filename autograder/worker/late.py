"""Delays loading parts of torch that most processes never use.

torch registers a thousand Python kernels for the meta device, and loads decompositions and
reference operators that only its compiler and these kernels use. Loading these parts accounts for a
fifth of the time that importing torch takes, in the grader and in its fork server
(`benchmarks/startup.py`). These parts are rarely needed, because most operators also have a C++
kernel for the meta device. This module does not import torch, because `defer` has an effect only
before torch is imported.
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
#: modules that only the kernels import, although torch expects them to exist
_THEIR_IMPORTS = ("_decomp", "_refs")
#: a module that the kernels import, and without which torch can't make generators
_AT_ONCE = "torch._prims.rng_prims"
_NAMED = re.compile(r"""["']meta["']""")


def defer() -> None:
    """Delays loading the rarely used parts, unless torch has already been imported."""
    if "torch" not in sys.modules:
        sys.meta_path.insert(0, _Finder())


def kernels_are_late() -> bool:
    """Returns whether loading the kernels has been delayed and they are still not loaded."""
    return isinstance(sys.modules.get(_KERNELS), _LateModule)


def load_kernels() -> bool:
    """Imports the kernels if this has been delayed; returns whether it had been."""
    if not kernels_are_late():
        return False
    _real(_KERNELS)
    return True


def load_if_named(source: str) -> None:
    """Loads the kernels if code names the device "meta", because such code may need the kernels."""
    if _NAMED.search(source):
        load_kernels()


def on_device(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Calls a function that uses the meta device.

    If the call fails because a delayed kernel is missing, loads the kernels and repeats the call.
    """
    try:
        return function(*args, **kwargs)
    except NotImplementedError:
        if not load_kernels():
            raise
    return function(*args, **kwargs)


class _LateModule(ModuleType):
    """A placeholder for a module that loads the real module when one of its attributes is read."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # the import system and `inspect` ask every module for these
            raise AttributeError(name)
        return getattr(_real(self.__name__), name)


def _real(name: str) -> ModuleType:
    if isinstance(sys.modules.get(name), _LateModule):
        del sys.modules[name]
    return importlib.import_module(name)


class _Finder(MetaPathFinder, Loader):
    """Imports a placeholder instead of the kernels, but only once."""

    def find_spec(
        self, name: str, path: object, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(name, self) if name == _KERNELS else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _LateModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        sys.meta_path.remove(self)
        package = sys.modules["torch"]
        for name in _THEIR_IMPORTS:  # an import loads the real ones
            if not hasattr(package, name):
                setattr(package, name, _LateModule(f"torch.{name}"))
        with contextlib.suppress(ModuleNotFoundError):  # in some versions of torch
            importlib.import_module(_AT_ONCE)
