"""Calls answers in the default dtype that their file has set, and runs checks in the usual one."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from types import MethodType
from typing import Any

import torch

from ..suite import Implementation


@contextlib.contextmanager
def default_dtype(dtype: torch.dtype) -> Iterator[None]:
    """Within the block, sets torch's default dtype."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def in_own_dtype(answers: Implementation) -> Implementation:
    """Returns `answers`, which are called in the dtype that is the default when this is called.

    As during grading, this setting affects the answers but not the numbers that checks create.
    """
    made: Any = _InDtype(answers, torch.get_default_dtype())
    return made  # type: ignore[no-any-return]  # it has the methods of `answers`


class _InDtype:
    """Passes calls on to an implementation, or to a layer that the implementation has built."""

    def __init__(self, inner: Any, dtype: torch.dtype) -> None:
        self._inner, self._dtype = inner, dtype

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        return partial(self._called, found) if isinstance(found, MethodType) else found

    def _called(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        with default_dtype(self._dtype):
            value = function(*args, **kwargs)
        return _InDtype(value, self._dtype) if hasattr(value, "forward") else value
