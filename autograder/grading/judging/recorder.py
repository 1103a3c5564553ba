"""Writes down what an implementation answered, call by call, while a suite judges it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch

from ...errors import AnswerFault, AnswerRaised
from ...suite.implementation import Gradients, Implementation, Layer, Outcome, Step
from ...worker.execution import tensors_in
from .suites import Observer

T = TypeVar("T")

#: bytes of one call's tensors that are remembered: a reply may name one large tensor many times
_MAX_KEPT = 1 << 20
#: tensors of one call that are remembered: each is compared with each mistake's
_MOST_TENSORS = 500


@dataclass(frozen=True, slots=True)
class Event:
    """One call: what was asked, and what came - a value, or the name of what was raised."""

    operation: str
    value: Any = None
    raised: str = ""


class Recorder(Observer):
    """An implementation that passes everything on to another one, and remembers the answers."""

    def __init__(
        self,
        implementation: Implementation,
        begin_question: Callable[[str], None] = lambda question: None,
        begin_test: Callable[[str], None] = lambda test: None,
    ) -> None:
        self._implementation = implementation
        self._begin_question = begin_question
        self._begin_test = begin_test
        self._question = ""
        self._events: list[Event] = []
        self.by_test: dict[tuple[str, str], list[Event]] = {}

    def begin_question(self, question: str) -> None:
        """See `Observer`."""
        self._question = question
        self._begin_question(question)

    def begin_test(self, test: str) -> None:
        """See `Observer`."""
        self._events = self.by_test[self._question, test] = []
        self._begin_test(test)

    def call(self, name: str, args: Sequence[Any]) -> Outcome:
        """See `Implementation.call`."""
        return self.note(f"call {name}", lambda: self._implementation.call(name, args), _outcome)

    def gradients(self, name: str, args: Sequence[Any], cotangent: Any) -> Gradients:
        """See `Implementation.gradients`."""
        return self.note(
            f"gradients {name}",
            lambda: self._implementation.gradients(name, args, cotangent),
            _gradients,
        )

    def steps(self, name: str, steps: Sequence[Step]) -> tuple[Any, ...]:
        """See `Implementation.steps`."""
        return self.note(f"steps {name}", lambda: self._implementation.steps(name, steps), _kept)

    def operators(self, name: str, args: Sequence[Any]) -> frozenset[str]:
        """See `Implementation.operators`; how an answer computes is no mark of a mistake."""
        return self._implementation.operators(name, args)

    def names_used(self, name: str) -> frozenset[str]:
        """See `Implementation.names_used`."""
        return self._implementation.names_used(name)

    def build(self, name: str, args: Sequence[Any]) -> Layer:
        """See `Implementation.build`."""
        layer = self.note(
            f"build {name}", lambda: self._implementation.build(name, args), lambda built: None
        )
        return _RecordedLayer(layer, self)

    def note(self, operation: str, ask: Callable[[], T], keep: Callable[[T], Any]) -> T:
        """Asks, and remembers what is kept of the answer, or what was raised."""
        try:
            answer = ask()
        except AnswerFault as fault:
            self._events.append(Event(operation, raised=_name_of(operation, fault)))
            raise
        self._events.append(Event(operation, keep(answer)))
        return answer


def _name_of(operation: str, fault: AnswerFault) -> str:
    """The class of what was raised; for weights that don't fit, our own words, which name one."""
    if operation == "load":
        return str(fault)
    return fault.type_name if isinstance(fault, AnswerRaised) else type(fault).__name__


class _RecordedLayer:
    def __init__(self, layer: Layer, recorder: Recorder) -> None:
        self._layer = layer
        self._recorder = recorder

    def forward(self, args: Sequence[Any]) -> Outcome:
        return self._recorder.note("forward", lambda: self._layer.forward(args), _outcome)

    def gradients(self, args: Sequence[Any], cotangent: Any) -> Gradients:
        return self._recorder.note(
            "layer gradients", lambda: self._layer.gradients(args, cotangent), _gradients
        )

    def steps(self, steps: Sequence[Step]) -> tuple[Any, ...]:
        return self._recorder.note("layer steps", lambda: self._layer.steps(steps), _kept)

    def weights(self) -> dict[str, torch.Tensor]:
        return self._recorder.note("weights", self._layer.weights, _shapes)

    def load(self, weights: Mapping[str, torch.Tensor]) -> None:
        self._recorder.note("load", lambda: self._layer.load(weights), lambda done: None)

    def train(self, mode: bool) -> None:
        self._recorder.note(f"train {mode}", lambda: self._layer.train(mode), lambda done: None)

    def move(self, *, dtype: torch.dtype | None = None, device: str | None = None) -> None:
        self._recorder.note(
            "move", lambda: self._layer.move(dtype=dtype, device=device), lambda done: None
        )

    def copied(self) -> Layer:
        return self._other("copy", self._layer.copied)

    def restored(self) -> Layer:
        return self._other("restore", self._layer.restored)

    def _other(self, operation: str, make: Callable[[], Layer]) -> Layer:
        layer = self._recorder.note(operation, make, lambda made: None)
        return _RecordedLayer(layer, self._recorder)


def _outcome(outcome: Outcome) -> Any:
    return _kept((outcome.value, list(outcome.inputs_after)))


def _gradients(gradients: Gradients) -> Any:
    weights = list(gradients.weights.items())
    return _kept((gradients.value, list(gradients.inputs), weights))


def _shapes(weights: Mapping[str, torch.Tensor]) -> dict[str, tuple[int, ...]]:
    return {name: tuple(value.shape) for name, value in weights.items()}


def _kept(answer: tuple[Any, ...]) -> Any:
    """A copy; of what is too large to keep, a sketch; of very many tensors, how many."""
    tensors = [tensor for tensor in tensors_in(answer) if tensor.device.type != "meta"]
    if len(tensors) > _MOST_TENSORS:
        return f"{len(tensors)} tensors"
    size = sum(tensor.numel() * tensor.element_size() for tensor in tensors)
    return _copy(answer, None if size <= _MAX_KEPT else _MAX_KEPT // (8 * len(tensors)), {})


def _copy(value: Any, entries: int | None, memo: dict[int, Any]) -> Any:
    """In the same process a value may be a view of what a later call changes.

    With `entries`, tensors of more become their shape and so many values, at drawn places. `memo`
    holds what became of each tensor: a reply may name one many times.
    """
    if isinstance(value, torch.Tensor):
        if id(value) not in memo:
            memo[id(value)] = _copied_tensor(value.detach(), entries)
        return memo[id(value)]
    if isinstance(value, tuple | list):
        return type(value)(_copy(item, entries, memo) for item in value)
    return value


def _copied_tensor(value: torch.Tensor, entries: int | None) -> Any:
    if entries is None or value.device.type == "meta" or value.numel() <= entries:
        return value.clone()
    places = torch.Generator().manual_seed(value.numel())
    drawn = torch.randint(value.numel(), (entries,), generator=places)
    # not `flatten`, which copies the whole of a tensor that is turned
    return tuple(value.shape), value[torch.unravel_index(drawn, value.shape)]
