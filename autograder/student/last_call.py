"""Records all results of a check, and the last call, which is shown if the check fails."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch

from ..errors import AnswerFault, UserError
from ..suite import Gradients, Implementation, Layer, Outcome, Step, WatchedCall
from ..suite.implementation import PLAIN, GradientOptions
from ..worker.execution import COPY
from .known_mistakes import comparable_error, comparable_text


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """One call to a function or a layer; `built` contains the constructor's arguments.

    `is_built` is true once the constructor has returned a layer. `weights` contains the names of
    the weights that the check sets, and `found` contains the names of the weights that the layer
    has. If `returned` is true, `value` is the call's result; `again` repeats the call with the same
    weights and returns the result.
    """

    question: str
    args: tuple[Any, ...]
    built: tuple[Any, ...] | None = None
    is_built: bool = False
    weights: tuple[str, ...] = ()
    found: tuple[str, ...] = ()
    is_eval: bool = False
    gradients: bool = False
    value: Any = None
    returned: bool = False
    again: Callable[[], Any] | None = None


#: the text to show if a question's checks made no call
NO_CALL = "no call was made"


def again(step: RecordedCall) -> Any:
    """Repeats a recorded call with the same numbers and weights; raises the call's errors."""
    if step.again is None:
        raise UserError(f"{step.question}: this check makes several calls; run `trace` instead")
    try:
        value = step.again()
    except AnswerFault as fault:
        raise (fault.__cause__ or fault) from None
    return getattr(value, "module", value)


class Recorder:
    """Passes all calls on to another implementation, and remembers the last call.

    `results` contains all results in the current check, as strings that can be compared with the
    results of known mistakes.
    """

    def __init__(self, inner: Implementation) -> None:
        self._inner = inner
        self.last: RecordedCall | None = None
        self.results: list[str] = []

    def start(self) -> None:
        """Discards the calls and results of the previous check."""
        self.last, self.results = None, []

    def call(self, name: str, args: Sequence[Any], no_grad: bool = False) -> Outcome:
        again = partial(_value_of, self._inner.call, name, args)
        self.last = RecordedCall(name, tuple(args), again=again)
        with self.faults():
            outcome = self._inner.call(name, args, no_grad)
        self.returned(outcome.value, outcome.inputs_after)
        return outcome

    def gradients(
        self, name: str, args: Sequence[Any], cotangent: Any, options: GradientOptions = PLAIN
    ) -> Gradients:
        again = partial(_value_of, self._inner.call, name, args)
        self.last = RecordedCall(name, tuple(args), gradients=True, again=again)
        with self.faults():
            found = self._inner.gradients(name, args, cotangent, options)
        self.returned(found.value)
        self.results.append(comparable_text(found.inputs))
        return found

    def steps(self, name: str, steps: Sequence[Step], no_grad: bool = False) -> tuple[Any, ...]:
        self.last = RecordedCall(name, tuple(steps[0].args) if steps else ())
        return self._inner.steps(name, steps, no_grad)

    def operators(
        self, name: str, args: Sequence[Any], backward: bool, wanted: Sequence[str]
    ) -> WatchedCall:
        self.last = RecordedCall(name, tuple(args))
        return self._inner.operators(name, args, backward, wanted)

    def names_used(self, name: str, is_wanted: Callable[[str], bool]) -> frozenset[str]:
        return self._inner.names_used(name, is_wanted)

    def build(self, name: str, args: Sequence[Any]) -> Layer:
        again = partial(self._inner.build, name, args)
        self.last = step = RecordedCall(name, (), built=tuple(args), again=again)
        with self.faults():
            layer = self._inner.build(name, args)
            shapes = {weight: tuple(found.shape) for weight, found in layer.weights().items()}
        self.results.append(comparable_text(shapes))
        self.last = replace(step, is_built=True)
        return _RecordedLayer(self, layer, self.last)

    @contextlib.contextmanager
    def faults(self) -> Iterator[None]:
        """Records an `AnswerFault` that the block raises, and raises it again."""
        try:
            yield
        except AnswerFault as fault:
            self.results.append(comparable_error(fault))
            raise

    def returned(self, value: Any, inputs_after: tuple[Any, ...] = ()) -> None:
        """Records the last call's result and, if given, the arguments as they are afterward."""
        self.results.append(comparable_text(value))
        if inputs_after:
            self.results.append(comparable_text(inputs_after))
        if self.last is not None:
            self.last = replace(self.last, value=value, returned=True)


class _RecordedLayer:
    def __init__(self, recorder: Recorder, inner: Layer, built: RecordedCall) -> None:
        self._recorder, self._inner, self._state = recorder, inner, built

    def forward(self, args: Sequence[Any], no_grad: bool = False) -> Outcome:
        self._recorder.last = self._asked(args)
        with self._recorder.faults():
            outcome = self._inner.forward(args, no_grad)
        self._recorder.returned(outcome.value, outcome.inputs_after)
        return outcome

    def gradients(
        self, args: Sequence[Any], cotangent: Any, options: GradientOptions = PLAIN
    ) -> Gradients:
        self._recorder.last = replace(self._asked(args), gradients=True)
        with self._recorder.faults():
            found = self._inner.gradients(args, cotangent, options)
        self._recorder.returned(found.value)
        self._recorder.results.append(comparable_text([found.inputs, found.weights]))
        return found

    def _asked(self, args: Sequence[Any]) -> RecordedCall:
        again = partial(_value_of, self._inner.forward, args)
        return replace(self._state, args=tuple(args), again=again)

    def steps(self, steps: Sequence[Step]) -> tuple[Any, ...]:
        self._recorder.last = replace(self._state, args=tuple(steps[0].args) if steps else ())
        return self._inner.steps(steps)

    def restored(self) -> Layer:
        return _RecordedLayer(self._recorder, self._inner.restored(), self._state)

    def weights(self) -> dict[str, torch.Tensor]:
        return self._inner.weights()

    def load(self, weights: Mapping[str, torch.Tensor], way: str = COPY) -> None:
        found = tuple(self._inner.weights())
        self._state = replace(self._state, weights=tuple(weights), found=found)
        self._recorder.last = self._state
        self._inner.load(weights, way)

    def train(self, mode: bool) -> None:
        self._state = replace(self._state, is_eval=not mode)
        self._inner.train(mode)

    def move(self, *, dtype: torch.dtype | None = None, device: str | None = None) -> None:
        self._inner.move(dtype=dtype, device=device)


def _value_of(call: Callable[..., Outcome], *arguments: Any) -> Any:
    return call(*arguments).value
