"""An implementation that calls answers by requests: operations and arguments as data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from ...errors import AnswerFault, AnswerProtocol
from ...suite.forbidden_calls import watched
from ...suite.implementation import PLAIN, GradientOptions, Gradients, Outcome, Step, WatchedCall
from ...worker.execution import COPY
from . import reply_forms


class RequestImplementation(ABC):
    """Turns every call into a request; see `Implementation`.

    Layers are numbered by the caller, from zero in each test, so that a test's requests do not
    depend on earlier tests. `generation` identifies the process that has the layers.
    """

    generation = 0

    def __init__(self) -> None:
        self._built = 0

    @abstractmethod
    def ask(self, name: str, *request: Any) -> Any:
        """Returns the value of a request about the answer `name`; raises `AnswerFault`."""

    @abstractmethod
    def names_used(self, name: str) -> frozenset[str]:
        """See `Implementation.names_used`."""

    def begin_test(self, test: str) -> None:
        """Begins a test, which has no layer yet."""
        self._built = 0

    def new_number(self) -> int:
        """Returns the number of the next layer."""
        self._built += 1
        return self._built - 1

    def call(self, name: str, args: Sequence[Any], no_grad: bool = False) -> Outcome:
        """See `Implementation.call`."""
        return reply_forms.outcome(self.ask(name, "call", name, list(args), *_if(no_grad)), args)

    def gradients(
        self, name: str, args: Sequence[Any], cotangent: Any, options: GradientOptions = PLAIN
    ) -> Gradients:
        """See `Implementation.gradients`."""
        reply = self.ask(name, "gradients", name, list(args), cotangent, *options.request)
        return reply_forms.gradients(reply, args)

    def steps(self, name: str, steps: Sequence[Step], no_grad: bool = False) -> tuple[Any, ...]:
        """See `Implementation.steps`."""
        asked = self.ask(name, "steps", name, reply_forms.calls(steps), *_if(no_grad))
        return reply_forms.values(asked, len(steps))

    def operators(self, name: str, args: Sequence[Any], backward: bool) -> WatchedCall:
        """See `Implementation.operators`."""
        return watched(
            lambda: reply_forms.operators(self.ask(name, "operators", name, list(args), backward)),
            lambda: self.call(name, args),
        )

    def build(self, name: str, args: Sequence[Any]) -> RequestLayer:
        """See `Implementation.build`."""
        number = self.new_number()
        self.ask(name, "build", number, name, list(args))
        return RequestLayer(self, name, number)


class RequestLayer:
    """A layer in the process that has the answers. See `Layer`."""

    def __init__(self, implementation: RequestImplementation, name: str, number: int) -> None:
        self._implementation = implementation
        self._name = name
        self._number = number
        self._generation = implementation.generation

    def forward(self, args: Sequence[Any], no_grad: bool = False) -> Outcome:
        """See `Layer.forward`."""
        return reply_forms.outcome(self._ask("forward", list(args), *_if(no_grad)), args)

    def gradients(
        self, args: Sequence[Any], cotangent: Any, options: GradientOptions = PLAIN
    ) -> Gradients:
        """See `Layer.gradients`."""
        reply = self._ask("layer_gradients", list(args), cotangent, *options.request)
        return reply_forms.gradients(reply, args)

    def steps(self, steps: Sequence[Step]) -> tuple[Any, ...]:
        """See `Layer.steps`."""
        return reply_forms.values(self._ask("layer_steps", reply_forms.calls(steps)), len(steps))

    def weights(self) -> dict[str, torch.Tensor]:
        """See `Layer.weights`."""
        reply = self._ask("weights")
        if not reply_forms.is_named_tensors(reply):
            raise AnswerProtocol("the reply is not a table of weights")
        return dict(reply)

    def load(self, weights: Mapping[str, torch.Tensor], way: str = COPY) -> None:
        """See `Layer.load`."""
        self._ask("load_weights", dict(weights), *([] if way == COPY else [way]))

    def train(self, mode: bool) -> None:
        """See `Layer.train`."""
        self._ask("train", mode)

    def move(self, *, dtype: torch.dtype | None = None, device: str | None = None) -> None:
        """See `Layer.move`."""
        name = None if dtype is None else str(dtype).removeprefix("torch.")
        self._ask("move", name, device)

    def restored(self) -> RequestLayer:
        """See `Layer.restored`."""
        other = self._implementation.new_number()
        self._ask("restore", other)
        return RequestLayer(self._implementation, self._name, other)

    def _ask(self, operation: str, *args: Any) -> Any:
        if self._generation != self._implementation.generation:
            raise AnswerFault("the layer ended with its process")
        return self._implementation.ask(self._name, operation, self._number, *args)


def _if(no_grad: bool) -> list[bool]:
    """Returns the last item of a request, which is left out by default."""
    return [True] if no_grad else []
