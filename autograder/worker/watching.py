"""Which operators a call dispatches, and whether it goes on in a thread, where nobody listens."""

from __future__ import annotations

import _thread
import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache, wraps
from types import FrameType
from typing import Any

import torch
from torch.autograd import profiler_legacy

from .execution import copy_of, gradients

#: stands among the operators of a call that started a thread, or has one that runs
THREAD = "python::thread"
#: seconds in which threads may end that run before a call is watched
_LEFT_SECONDS = 0.2
#: torch's modules whose functions do what an operator does, by their files
_MODULES = {
    os.path.join(os.path.dirname(torch.__file__), *name.split(".")[1:]) + ".py": name
    for name in ("torch.nn.functional", "torch.distributions.transforms")
}
_STARTS = (
    *("start_new_thread", "start_new", "start_joinable_thread"),
    *("_start_new_thread", "_start_joinable_thread"),
)


def operators(
    function: Callable[..., Any], args: Sequence[Any], backward: bool
) -> tuple[list[str], Any]:
    """Names of all operators that a call dispatches, and what it returned; or a call and backward.

    Composite ones are among them (`aten::softmax`). The profiler sees every way to an operator -
    alias, method, getattr, `torch.ops` - because it listens where the dispatcher is entered. The
    legacy one is quiet and starts no thread. Random numbers go on as if nothing had been called.
    """
    _await_others()
    starts, chance = thread_starts(), torch.default_generator.get_state()
    started = len(starts)
    profiler = _Names()
    try:
        with _functions() as functions, profiler:
            value = _pulled(function, args) if backward else _called(function, args)
    finally:
        torch.default_generator.set_state(chance)
    names = profiler.names | functions
    # elsewhere threads are others': a notebook's kernel and a test runner have some
    if _is_heard() and (len(starts) > started or _thread._count()):
        names.add(THREAD)
    return sorted(names), value


class _Names(profiler_legacy.profile):
    """torch's profiler, which tells names of operators only, and makes no event for each."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call] # torch's
        self.names: set[str] = set()

    def __exit__(self, *_: object) -> None:
        for records in torch._C._autograd._disable_profiler_legacy():
            events: list[Any] = records  # torch's stubs give another class
            self.names.update(event.name() for event in events if event.kind() == "push")


@contextlib.contextmanager
def _functions() -> Iterator[set[str]]:
    """Takes the names of torch's functions that are called, as `torch.nn.functional::name`.

    Those written in Python may be no operator: `nn.MultiheadAttention` dispatches products and a
    softmax, `SoftmaxTransform` exponentials and a sum. Backward is heard, too; it runs in the
    thread that asks for it.
    """
    names: set[str] = set()
    before = sys.getprofile()

    def hear(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and (module := _MODULES.get(frame.f_code.co_filename)):
            names.add(f"{module}::{frame.f_code.co_qualname}")

    sys.setprofile(hear)
    try:
        yield names
    finally:
        sys.setprofile(before)


def _called(function: Callable[..., Any], args: Sequence[Any]) -> Any:
    return function(*[copy_of(arg) for arg in args])


def _pulled(function: Callable[..., Any], args: Sequence[Any]) -> Any:
    """The value of a call with its backward; what fails there is for tests of gradients to tell."""
    try:
        return gradients(function, args, None)[0]
    except Exception:
        return _called(function, args)


@cache
def thread_starts() -> list[str]:
    """Has an entry for each thread that was started since `hear_threads`."""
    return []


def hear_threads() -> None:
    """Puts a listener before the ways to start a thread, for good: for a worker's process only."""
    for module in (_thread, threading):
        for name in _STARTS:
            if hasattr(module, name):
                setattr(module, name, _heard(getattr(module, name), thread_starts()))


def _await_others() -> None:
    """Threads that another question left may end first: they are not this one's doing."""
    end = time.monotonic() + _LEFT_SECONDS
    while _is_heard() and _thread._count() and time.monotonic() < end:
        time.sleep(0.001)


def _is_heard() -> bool:
    return hasattr(_thread.start_new_thread, "__wrapped__")


def _heard(start: Callable[..., Any], starts: list[str]) -> Callable[..., Any]:
    @wraps(start)
    def started(*args: Any, **kwargs: Any) -> Any:
        starts.append(THREAD)
        return start(*args, **kwargs)

    return started
