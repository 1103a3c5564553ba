"""Keeps processes from loading torch's compiler until some code needs it.

torch's Python code for the meta device uses the decorator `torch._dynamo.disable`, and therefore
imports the whole compiler for a decorator that has no effect here. `benchmarks/tricks.py` measures
how much time the placeholder saves when the fork server starts.
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
    """Imports a placeholder instead of the compiler, unless the compiler is already loaded."""
    sys.modules.setdefault(_NAME, _DeferredModule(_NAME))


def never_compile() -> None:
    """Makes `torch.compile` return its argument, because a worker can't compile."""
    torch.compile = _as_it_is


@contextlib.contextmanager
def not_compiling() -> Iterator[None]:
    """Within the block, disables `torch.compile`, for code that runs in a student's own process."""
    before = torch.compile
    never_compile()
    try:
        yield
    finally:
        torch.compile = before


def _as_it_is(model: Callable[..., Any] | None = None, **settings: Any) -> Callable[..., Any]:
    return _as_it_is if model is None else model


class _Settings:
    """Contains the only setting that checkpointing reads; gets others from the real `config`."""

    error_on_nested_fx_trace = True

    def __getattr__(self, name: str) -> Any:
        return getattr(_real().config, name)


def _real() -> ModuleType:
    if isinstance(sys.modules.get(_NAME), _DeferredModule):
        del sys.modules[_NAME]
    return importlib.import_module(_NAME)


class _DeferredModule(ModuleType):
    """A placeholder for `torch._dynamo`; loads the real module if any other attribute is read."""

    @staticmethod
    def disable(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., Any]:
        """Returns the function unchanged: nothing is compiled, so no wrapper is needed."""
        return fn

    allow_in_graph = disallow_in_graph = disable

    @staticmethod
    def graph_break(*args: Any, **kwargs: Any) -> None:
        """Does nothing, because no graph is built."""

    config = _Settings()
    #: used by the Jacobians of `torch.func`
    compiled_autograd = SimpleNamespace(_disable=contextlib.nullcontext)

    def __getattr__(self, name: str) -> Any:
        if name == "__file__":  # `inspect` asks every module for it
            raise AttributeError(name)
        return getattr(_real(), name)
