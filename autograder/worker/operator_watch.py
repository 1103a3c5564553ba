"""Records which operators a call dispatches, and whether the call may use an unobserved thread."""

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

#: added to the operators if a call has started a thread, or if one is running
THREAD = "python::thread"
#: how many seconds to wait for running threads to end before a call is observed
_LEFT_SECONDS = 0.2
#: modules in torch whose functions do the work of operators, by the paths of their files
_MODULES = {
    os.path.join(os.path.dirname(torch.__file__), *name.split(".")[1:]) + ".py": name
    for name in ("torch.nn.functional", "torch.distributions.transforms")
}
_STARTS = (
    *("start_new_thread", "start_new", "start_joinable_thread"),
    *("_start_new_thread", "_start_joinable_thread"),
)


def operators(
    function: Callable[..., Any], args: Sequence[Any], backward: bool, wanted: Sequence[str]
) -> tuple[list[str], Any]:
    """Returns those of the operators in `wanted` that a call dispatches, and the call's result.

    If `backward` is true, the operators in the backward pass count as well. So do composite
    operators such as `aten::softmax`, torch functions such as `torch.nn.functional::normalize`, and
    `THREAD`. It does not matter how code reaches an operator (by
    an alias, a method, getattr or `torch.ops`), because the profiler observes the dispatcher
    itself. The legacy profiler is used, because it prints nothing and starts no thread. The state
    of the random number generator is restored afterwards.
    """
    _await_others()
    starts, chance = thread_starts(), torch.default_generator.get_state()
    started = len(starts)
    profiler = _OperatorNames()
    try:
        with _functions() as functions, profiler:
            value = _pulled(function, args) if backward else _called(function, args)
    finally:
        torch.default_generator.set_state(chance)
    names = profiler.names | functions
    # In a process that is not a worker, threads may belong to other code, such as a notebook's
    # kernel.
    if _is_heard() and (len(starts) > started or _thread._count()):
        names.add(THREAD)
    return sorted(names.intersection(wanted)), value


class _OperatorNames(profiler_legacy.profile):
    """A version of torch's profiler that keeps only the operators' names, not their events."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call] # torch's
        self.names: set[str] = set()

    def __exit__(self, *_: object) -> None:
        for records in torch._C._autograd._disable_profiler_legacy():
            events: list[Any] = records  # torch's stubs declare a different class
            self.names.update(event.name() for event in events if event.kind() == "push")


@contextlib.contextmanager
def _functions() -> Iterator[set[str]]:
    """Within the block, records torch functions that are called, as `torch.nn.functional::name`.

    The dispatched operators don't show which function was called: `nn.MultiheadAttention`
    dispatches products and a softmax, and `SoftmaxTransform` dispatches exponentials and a sum. The
    backward pass is also observed, because it runs in the calling thread.
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
    """Makes a call and a backward pass, and returns the call's value.

    If there is an error, makes the call again without a backward pass.
    """
    try:
        return gradients(function, args, None)[0]
    except Exception:
        return _called(function, args)


@cache
def thread_starts() -> list[str]:
    """Returns a list with an entry for each thread started since `record_thread_starts`."""
    return []


def record_thread_starts() -> None:
    """From now on, records every start of a thread.

    Call this function only in a worker's process.
    """
    for module in (_thread, threading):
        for name in _STARTS:
            if hasattr(module, name):
                setattr(module, name, _heard(getattr(module, name), thread_starts()))


def _await_others() -> None:
    """Waits a short time for threads that another question has left running."""
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
