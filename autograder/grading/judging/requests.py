"""Defines an implementation that calls answers by means of requests: operations with arguments.

Every reply is treated as hostile until its form has been checked. If a reply does not have the form
that the request requires, `AnswerProtocol` is raised.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from ...errors import AnswerFault, AnswerProtocol
from ...suite.forbidden_calls import watched
from ...suite.implementation import PLAIN, GradientOptions, Gradients, Outcome, Step, WatchedCall
from ...worker import wire
from ...worker.execution import COPY, LEFT, copy_of


class RequestImplementation(ABC):
    """Turns every call into a request; see `Implementation`.

    The caller numbers layers, from zero in each test, so that a test's requests don't depend on
    earlier tests. `generation` identifies the process that holds the layers.
    """

    generation = 0

    def __init__(self) -> None:
        self._built = 0

    @abstractmethod
    def ask(self, name: str, *request: Any) -> Any:
        """Sends a request to the answer `name`; returns the value, or raises `AnswerFault`."""

    @abstractmethod
    def names_used(self, name: str, is_wanted: Callable[[str], bool]) -> frozenset[str]: ...

    def begin_test(self, test: str) -> None:
        """Begins a test, whose layers are numbered from zero."""
        self._built = 0

    def new_number(self) -> int:
        self._built += 1
        return self._built - 1

    def call(self, name: str, args: Sequence[Any], no_grad: bool = False) -> Outcome:
        return outcome_of(self.ask(name, "call", name, list(args), *_if(no_grad)), args)

    def gradients(
        self, name: str, args: Sequence[Any], cotangent: Any, options: GradientOptions = PLAIN
    ) -> Gradients:
        reply = self.ask(name, "gradients", name, list(args), cotangent, *options.request)
        return gradients_of(reply, args)

    def steps(self, name: str, steps: Sequence[Step], no_grad: bool = False) -> tuple[Any, ...]:
        asked = self.ask(name, "steps", name, calls_of(steps), *_if(no_grad))
        return values_of(asked, len(steps))

    def operators(
        self, name: str, args: Sequence[Any], backward: bool, wanted: Sequence[str]
    ) -> WatchedCall:
        request = "operators", name, list(args), backward, list(wanted)
        return watched(
            lambda: operators_of(self.ask(name, *request)),
            lambda: self.call(name, args),
        )

    def build(self, name: str, args: Sequence[Any]) -> RequestLayer:
        number = self.new_number()
        self.ask(name, "build", number, name, list(args))
        return RequestLayer(self, name, number)


class RequestLayer:
    """A layer in the process that holds the answers; see `Layer`."""

    def __init__(self, implementation: RequestImplementation, name: str, number: int) -> None:
        self._implementation = implementation
        self._name = name
        self._number = number
        self._generation = implementation.generation

    def forward(self, args: Sequence[Any], no_grad: bool = False) -> Outcome:
        return outcome_of(self._ask("forward", list(args), *_if(no_grad)), args)

    def gradients(
        self, args: Sequence[Any], cotangent: Any, options: GradientOptions = PLAIN
    ) -> Gradients:
        reply = self._ask("layer_gradients", list(args), cotangent, *options.request)
        return gradients_of(reply, args)

    def steps(self, steps: Sequence[Step]) -> tuple[Any, ...]:
        return values_of(self._ask("layer_steps", calls_of(steps)), len(steps))

    def weights(self) -> dict[str, torch.Tensor]:
        reply = self._ask("weights")
        if not is_named_tensors(reply):
            raise AnswerProtocol("the reply is not a table of weights")
        return dict(reply)

    def load(self, weights: Mapping[str, torch.Tensor], way: str = COPY) -> None:
        self._ask("load_weights", dict(weights), *([] if way == COPY else [way]))

    def train(self, mode: bool) -> None:
        self._ask("train", mode)

    def move(self, *, dtype: torch.dtype | None = None, device: str | None = None) -> None:
        name = None if dtype is None else str(dtype).removeprefix("torch.")
        self._ask("move", name, device)

    def restored(self) -> RequestLayer:
        other = self._implementation.new_number()
        self._ask("restore", other)
        return RequestLayer(self._implementation, self._name, other)

    def _ask(self, operation: str, *args: Any) -> Any:
        if self._generation != self._implementation.generation:
            raise AnswerFault("the layer was lost when its process ended")
        return self._implementation.ask(self._name, operation, self._number, *args)


class RequestCopies:
    """Copies a test's requests, because the test may change its tensors later.

    Until a tensor changes, it is copied only once, so that it is also sent only once.
    """

    def __init__(self) -> None:
        self._copies: dict[int, torch.Tensor] = {}
        #: the version of each tensor that was copied
        self._versions: dict[torch.Tensor, int] = {}

    def copy(self, request: tuple[Any, ...]) -> tuple[Any, ...]:
        for tensor in filter(torch.is_tensor, tree_leaves(request)):
            if self._versions.setdefault(tensor, tensor._version) != tensor._version:
                self._versions[tensor] = tensor._version
                del self._copies[id(tensor)]
        copied: tuple[Any, ...] = copy_of(request, self._copies)
        return copied


def bytes_of(request: tuple[Any, ...]) -> bytes:
    """Returns a request as a worker receives it."""
    return b"".join(wire.encode(0, request, layouts=True))


def _if(no_grad: bool) -> list[bool]:
    """Returns the end of a request: [True] if gradients are off, otherwise []."""
    return [True] if no_grad else []


def outcome_of(reply: Any, args: Sequence[Any]) -> Outcome:
    """Checks the reply to a call; returns the value, and the arguments after the call."""
    match reply:
        case (value, None):
            return Outcome(value, tuple(args))
        case (value, [*after]) if len(after) == len(args):
            return Outcome(value, tuple(after))
    raise AnswerProtocol("the reply is not the result of a call")


def calls_of(steps: Sequence[Step]) -> list[Any]:
    """Converts steps to the form that they have in a request."""
    return [(list(step.args), step.after) for step in steps]


def values_of(reply: Any, count: int) -> tuple[Any, ...]:
    """Checks the reply to several calls; returns their values."""
    match reply:
        case [*items] if len(items) == count:
            return tuple(items)
    raise AnswerProtocol("the reply is not a list of values")


def gradients_of(reply: Any, args: Sequence[Any]) -> Gradients:
    """Checks the reply to a call with gradients; returns the value and the gradients."""
    match reply:
        case (value, [*inputs], dict() as weights, *left) if _fits(inputs, list(args)):
            # names must be strings, because they are sorted
            named = all(isinstance(n, str) and _is_gradient(w) for n, w in weights.items())
            if named and all(isinstance(item, list) and LEFT.issuperset(item) for item in left):
                return Gradients(value, tuple(inputs), weights, *map(tuple, left[:1]))
    raise AnswerProtocol("the reply is not a gradient")


def operators_of(reply: Any) -> tuple[list[str], Any]:
    """Checks the reply to a watched call; returns the operators' names, and the value."""
    match reply:
        case (list(names), value) if all(isinstance(name, str) for name in names):
            return names, value
    raise AnswerProtocol("the reply is not a list of operators")


def _fits(gradient: Any, arg: Any) -> bool:
    """Returns whether a gradient has the same structure as its argument."""
    if isinstance(arg, tuple | list):
        return (
            isinstance(gradient, tuple | list)
            and len(gradient) == len(arg)
            and all(map(_fits, gradient, arg))
        )
    if isinstance(arg, dict):
        return isinstance(gradient, dict)
    return _is_gradient(gradient)


def _is_gradient(value: Any) -> bool:
    return value is None or isinstance(value, torch.Tensor)


def is_named_tensors(reply: Any) -> bool:
    return isinstance(reply, dict) and all(
        isinstance(name, str) and isinstance(value, torch.Tensor) for name, value in reply.items()
    )
