"""Keeps torch's compiler out of processes that never compile, until something asks for it.

torch's Python code for the meta device wraps itself in `torch._dynamo.disable`, and so imports the
whole compiler, for a function that changes nothing here. What that is worth at the fork
server's start: `benchmarks/tricks.py`.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable, Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import torch

_NAME = "torch._dynamo"


def defer() -> None:
    """Puts a stand-in where the compiler would be imported to; does nothing where it is already."""
    sys.modules.setdefault(_NAME, _Deferred(_NAME))


def never_compile() -> None:
    """Makes `torch.compile` give back what it is given: a worker has no place to compile in."""
    torch.compile = _as_it_is


@contextlib.contextmanager
def not_compiling() -> Iterator[None]:
    """The same for a while: for code of our own that a process which is not ours loads."""
    before = torch.compile
    never_compile()
    try:
        yield
    finally:
        torch.compile = before


def _as_it_is(model: Callable[..., Any] | None = None, **settings: Any) -> Callable[..., Any]:
    return _as_it_is if model is None else model


class _Settings:
    """`torch._dynamo.config` with what `torch.utils.checkpoint` reads; for others the real one."""

    error_on_nested_fx_trace = True

    def __getattr__(self, name: str) -> Any:
        return getattr(_real().config, name)


def _real() -> ModuleType:
    if isinstance(sys.modules.get(_NAME), _Deferred):
        del sys.modules[_NAME]
    return importlib.import_module(_NAME)


class _Deferred(ModuleType):
    """`torch._dynamo` with what is asked of it in passing; for anything else the real one comes."""

    @staticmethod
    def disable(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., Any]:
        """What is not compiled anyway needs no wrapper that says so."""
        return fn

    allow_in_graph = disallow_in_graph = disable

    @staticmethod
    def graph_break(*args: Any, **kwargs: Any) -> None:
        """There is no graph."""

    config = _Settings()
    #: asked for by `torch.func`'s Jacobians
    compiled_autograd = SimpleNamespace(_disable=contextlib.nullcontext)

    def __getattr__(self, name: str) -> Any:
        if name == "__file__":  # asked by `inspect`, of every module there is
            raise AttributeError(name)
        return getattr(_real(), name)
