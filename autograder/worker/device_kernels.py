"""Keeps the meta device's kernels out of processes that have no use for it, until something has.

torch registers a thousand of them in Python, an eighth of what its import costs, in the grader and
once more in its fork server (`benchmarks/startup.py`). Where only functions are judged, nothing is
ever moved to another device. This module imports no torch: it has a say in how that is done.
"""

from __future__ import annotations

import contextlib
import importlib
import re
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

_NAME = "torch._meta_registrations"
_THEIR_IMPORTS = ("torch._decomp", "torch._prims.rng_prims", "torch._refs")
_NAMED = re.compile(r"""["']meta["']""")


def defer() -> None:
    """Before torch is imported, keeps the kernels out; afterwards does nothing."""
    if "torch" not in sys.modules:
        sys.meta_path.insert(0, _Finder())


def load_kernels() -> None:
    """Imports them where they were kept out."""
    if isinstance(sys.modules.get(_NAME), _Deferred):
        del sys.modules[_NAME]
        importlib.import_module(_NAME)


def load_if_named(source: str) -> None:
    """The same where code names the device: what it does there by itself needs them."""
    if _NAMED.search(source):
        load_kernels()


class _Deferred(ModuleType):
    """In the place of the kernels' module; the real one comes for who asks for anything in it."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked by the import system and `inspect`, of every module
            raise AttributeError(name)
        load_kernels()
        return getattr(sys.modules[_NAME], name)


class _Finder(MetaPathFinder, Loader):
    """Imports, once, in the place of the kernels what they import: that has other uses, too."""

    def find_spec(
        self, name: str, path: object, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(name, self) if name == _NAME else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Deferred(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        sys.meta_path.remove(self)
        for name in _THEIR_IMPORTS:
            with contextlib.suppress(ModuleNotFoundError):  # other versions of torch
                importlib.import_module(name)
