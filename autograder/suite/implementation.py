"""What a suite may ask of an implementation, wherever it runs.

`suite.local` answers from a module in this process, `grading.remote` from a sandboxed worker.
Both copy the arguments first: what a test holds is never changed by an answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch

from ..worker.execution import BACKWARD, COPY, RESULTS


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call returned, and its arguments as they were after the call."""

    value: Any
    inputs_after: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Watched:
    """Names of all operators of a call, composite ones too, and what it returns without a watch.

    `failed` says that it failed while it was watched, and not otherwise.
    """

    operators: frozenset[str] = frozenset()
    value: Any = None
    unwatched: Any = None
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """One of several calls: its arguments, and which earlier call (from 0) hands its state on.

    A call with a state returns a pair, whose second item is the state; the next one takes it as
    its last argument.
    """

    args: tuple[Any, ...]
    after: int | None = None


@dataclass(frozen=True, slots=True)
class Gradients:
    """A call's value and the vector-Jacobian product with a cotangent.

    `inputs` has one entry per argument: a gradient of the argument's shape, or None where none
    flowed (and for arguments that are not floating point tensors); for a tuple or list of tensors
    as many entries. `weights` has one entry per
    trainable parameter of a layer. `left` says what the call and its backward left behind for the
    caller: see `worker.execution.LEFT`.
    """

    value: Any
    inputs: tuple[Any, ...]
    weights: Mapping[str, torch.Tensor | None] = field(default_factory=dict)
    left: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pull:
    """How gradients are asked for.

    Arguments at the places `frozen` want none, as data that nobody trains, and neither do the
    `still` weights. With `results` the arguments are results of other operations; with `backward`
    gradients are read from `.grad` after `backward()`. The gradient that comes in is normal times
    `size`, and `turned` says that it is not contiguous.
    """

    frozen: tuple[int, ...] = ()
    still: tuple[str, ...] = ()
    results: bool = False
    backward: bool = False
    size: float = 1.0
    turned: bool = False

    @property
    def request(self) -> tuple[list[Any], ...]:
        """What follows the cotangent in a request; nothing that is not needed."""
        ways = [RESULTS] * self.results + [BACKWARD] * self.backward
        more = (ways, list(self.still)) if ways or self.still else ()
        return (list(self.frozen), *more)


PLAIN = Pull()


class Layer(Protocol):
    """An `nn.Module` that an implementation built."""

    def forward(self, args: Sequence[Any], no_grad: bool = False) -> Outcome:
        """Calls the layer; in eval mode always under `torch.no_grad()`."""

    def gradients(self, args: Sequence[Any], cotangent: Any, pull: Pull = PLAIN) -> Gradients:
        """Calls the layer and pulls the cotangent back to its weights and to inputs."""

    def steps(self, steps: Sequence[Step]) -> tuple[Any, ...]:
        """Calls the layer several times; the values as they are after the last call."""

    def weights(self) -> dict[str, torch.Tensor]:
        """A copy of every trainable parameter by its name, in registration order."""

    def load(self, weights: Mapping[str, torch.Tensor], way: str = COPY) -> None:
        """Gives weights by name; raises `AnswerRaised` for an unknown name or a wrong shape.

        `way` is one of `COPY`, `DATA`, `STATE`, `REPLACE` of `worker.execution`.
        """

    def train(self, mode: bool) -> None:
        """Train mode, or eval mode."""

    def move(self, *, dtype: torch.dtype | None = None, device: str | None = None) -> None:
        """`module.to(...)`: another floating point dtype, or the meta device."""

    def restored(self) -> Layer:
        """A layer built anew, with the same arguments, that loaded this one's `state_dict`."""


class Implementation(Protocol):
    """The questions of one exercise, as somebody answered them.

    Every method raises an `AnswerFault` when the answer is missing or fails.
    """

    def call(self, name: str, args: Sequence[Any], no_grad: bool = False) -> Outcome:
        """Calls the function `name`, under `torch.no_grad()` if asked."""

    def gradients(
        self, name: str, args: Sequence[Any], cotangent: Any, pull: Pull = PLAIN
    ) -> Gradients:
        """Calls the function and pulls the cotangent back to floating point inputs."""

    def steps(self, name: str, steps: Sequence[Step], no_grad: bool = False) -> tuple[Any, ...]:
        """Calls the function several times; the values as they are after the last call."""

    def operators(self, name: str, args: Sequence[Any], backward: bool) -> Watched:
        """Calls the function while it is watched, and once more unwatched.

        With `backward`, the watched call wants gradients, and its backward is watched too.
        """

    def names_used(self, name: str) -> frozenset[str]:
        """Dotted names in the code that the answer reaches (`torch.nn.functional.softmax`)."""

    def build(self, name: str, args: Sequence[Any]) -> Layer:
        """Constructs the class `name`."""
