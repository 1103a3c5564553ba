"""Defines the interface through which a suite calls an implementation, wherever it runs.

`suite.local` calls a module in this process, and `grading.judging.remote` calls a sandboxed worker.
Both implementations copy the arguments first, so an answer never changes a test's own objects. This
module also writes calls as text, such as `attention_scores((2, 5, 4), (2, 7, 4))`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Protocol

import torch

from ..worker.execution import BACKWARD, COPY, RESULTS, tensors_in


@dataclass(frozen=True, slots=True)
class Outcome:
    """A call's return value, and its arguments as they are after the call."""

    value: Any
    inputs_after: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class WatchedCall:
    """The operators that were looked for and found in a watched call, and the call's value.

    `unwatched` is the value of the same call when it was not watched.

    `failed` is true if the call failed only while it was watched.
    """

    operators: frozenset[str] = frozenset()
    value: Any = None
    unwatched: Any = None
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """One of several calls; `after` is the number of the earlier call whose state it gets, or None.

    A call that passes on a state returns a pair whose second item is the state; a later call gets
    this state as an additional last argument. Calls are numbered from 0.
    """

    args: tuple[Any, ...]
    after: int | None = None


@dataclass(frozen=True, slots=True)
class Gradients:
    """A call's value, and its vector-Jacobian product with a cotangent.

    `inputs` has one entry per argument: a gradient of the argument's shape, or None if there is no
    gradient or the argument is not a floating-point tensor. For a tuple or list of tensors, the
    entry contains one gradient for each tensor. `weights` has one entry per trainable parameter of
    a layer. `left` lists what the call and its backward pass have left behind in the caller's
    objects: see `worker.execution.LEFT`.
    """

    value: Any
    inputs: tuple[Any, ...]
    weights: Mapping[str, torch.Tensor | None] = field(default_factory=dict)
    left: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GradientOptions:
    """Options that say how gradients are computed.

    Arguments at the positions in `frozen`, and weights named in `still`, need no gradient, as if
    they were data. With `results`, the arguments are results of other operations; with `backward`,
    gradients are read from `.grad` after `backward()`. The incoming gradient is drawn from a normal
    distribution and multiplied by `size`; with `turned`, it is not contiguous.
    """

    frozen: tuple[int, ...] = ()
    still: tuple[str, ...] = ()
    results: bool = False
    backward: bool = False
    size: float = 1.0
    turned: bool = False

    @property
    def request(self) -> tuple[list[Any], ...]:
        """The entries of a request that follow the cotangent, except those that are not needed."""
        ways = [RESULTS] * self.results + [BACKWARD] * self.backward
        more = (ways, list(self.still)) if ways or self.still else ()
        return (list(self.frozen), *more)


PLAIN = GradientOptions()


class Layer(Protocol):
    """An `nn.Module` that an implementation built."""

    def forward(self, args: Sequence[Any], no_grad: bool = False) -> Outcome:
        """Call the layer, under `torch.no_grad()` if requested or in eval mode."""

    def gradients(
        self, args: Sequence[Any], cotangent: Any, options: GradientOptions = PLAIN
    ) -> Gradients:
        """Call the layer and pull the cotangent back to its weights and inputs."""

    def steps(self, steps: Sequence[Step]) -> tuple[Any, ...]:
        """Call the layer several times; return the values as they are after the last call."""

    def weights(self) -> dict[str, torch.Tensor]:
        """Return copies of the trainable parameters, keyed by name, in registration order."""

    def load(self, weights: Mapping[str, torch.Tensor], way: str = COPY) -> None:
        """Set weights, keyed by name; raise `AnswerRaised` for an unknown name or a wrong shape.

        `way` says how the weights are set: it is `COPY`, `DATA`, `STATE` or `REPLACE` from
        `worker.execution`.
        """

    def train(self, mode: bool) -> None:
        """Set train mode if `mode` is true; otherwise, set eval mode."""

    def move(self, *, dtype: torch.dtype | None = None, device: str | None = None) -> None:
        """Call `module.to(...)` with a different floating-point dtype, or the meta device."""

    def restored(self) -> Layer:
        """Build a new layer with the same arguments, and load this layer's `state_dict`."""


class Implementation(Protocol):
    """The answers to the questions of one exercise.

    Every method raises an `AnswerFault` if the answer is missing or fails.
    """

    def call(self, name: str, args: Sequence[Any], no_grad: bool = False) -> Outcome:
        """Call the function `name`; with `no_grad`, make the call under `torch.no_grad()`."""

    def gradients(
        self, name: str, args: Sequence[Any], cotangent: Any, options: GradientOptions = PLAIN
    ) -> Gradients:
        """Call the function and pull the cotangent back to floating-point inputs."""

    def steps(self, name: str, steps: Sequence[Step], no_grad: bool = False) -> tuple[Any, ...]:
        """Call the function several times; return the values as they are after the last call."""

    def operators(
        self, name: str, args: Sequence[Any], backward: bool, wanted: Sequence[str]
    ) -> WatchedCall:
        """Call the function twice: once while watching for `wanted` operators, and once unwatched.

        With `backward`, the watched call computes gradients, and its backward pass is also watched.
        Composite operators, such as `aten::softmax`, are found as well.
        """

    def names_used(self, name: str, is_wanted: Callable[[str], bool]) -> frozenset[str]:
        """Return the dotted names in the code (such as `torch.softmax`) that `is_wanted` allows."""

    def build(self, name: str, args: Sequence[Any]) -> Layer:
        """Build the class `name`."""


def call_text(name: str, args: Sequence[Any]) -> str:
    """Write a call with shapes instead of tensors, and with dtypes other than float32.

    The text also says whether a tensor is not contiguous, and whether it begins inside the memory
    of a larger tensor.
    """
    return f"{name}({', '.join(argument_text(arg) for arg in args)})"


def gradient_text(name: str, args: Sequence[Any], options: GradientOptions = PLAIN) -> str:
    """Describe a call whose gradient is computed, and the options that differ from the defaults."""
    places = " and ".join(str(place + 1) for place in options.frozen)
    turned = ", not contiguous" if options.turned else ""
    ways = {
        f"with no gradient for argument {places}": bool(options.frozen),
        f"with {', '.join(options.still)} frozen": bool(options.still),
        "with arguments that are results of other operations": options.results,
        f"for incoming gradients of about {options.size:g}{turned}": options.size != 1
        or options.turned,
        "read from `.grad` after `backward()`": options.backward,
    }
    details = "".join(f", {way}" for way, is_asked in ways.items() if is_asked)
    return f"the gradient of {call_text(name, args)}{details}"


def no_grad_text(call: str, no_grad: bool) -> str:
    """Return the call, preceded by `under torch.no_grad()` if it is made without gradients."""
    return f"under torch.no_grad(), {call}" if no_grad else call


def steps_text(name: str, steps: Sequence[Step]) -> str:
    """Write several calls, one per line, each with the number of the call whose state it gets."""
    if len(steps) == 1:
        return call_text(name, steps[0].args)
    lines = [f"{name}, {len(steps)} calls:"]
    for number, step in enumerate(steps):
        handed = "" if step.after is None else f", with the state of call {step.after}"
        lines.append(f"  call {number}: {call_text(name, step.args)}{handed}")
    return "\n".join(lines)


def argument_text(value: Any) -> str:
    """Write one argument: a tensor's shape, or a short repr of anything else."""
    if isinstance(value, torch.Tensor):
        shape = str(tuple(value.shape)) + _layout_text(value)
        if value.dtype == torch.float32:
            return shape
        return f"{shape} {str(value.dtype).removeprefix('torch.')}"
    if isinstance(value, tuple) and tensors_in(value):
        return f"({', '.join(map(argument_text, value))})"
    if isinstance(value, SimpleNamespace):
        return "config(" + ", ".join(f"{key}={item}" for key, item in vars(value).items()) + ")"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _layout_text(tensor: torch.Tensor) -> str:
    if not tensor.is_contiguous():
        return " not contiguous"
    return " of a larger tensor" if tensor.storage_offset() else ""
