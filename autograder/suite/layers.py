"""Defines assertions about an answer's class, built with the same weights as the solution's."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

import torch

from ..errors import AnswerNotImplemented, AnswerRaised
from ..worker.devices import MIXED_DEVICES, on_second_device
from ..worker.execution import COPY
from .arguments import (
    Compare,
    Draw,
    changes,
    cotangent_of,
    gradient_difference,
    gradient_faults,
    left_behind,
    not_finite,
    weight_faults,
)
from .compare import Tolerance, difference, form_difference
from .failures import (
    Failures,
    changed,
    check_numbers,
    check_that,
    explained,
    report_assertion,
    wrong_gradient,
    wrong_refusal,
    wrong_value,
    wrong_weights,
)
from .implementation import (
    PLAIN,
    GradientOptions,
    Gradients,
    Implementation,
    Layer,
    Step,
    call_text,
    gradient_text,
    no_grad_text,
    steps_text,
)
from .local import signature_of
from .message import NO_ERROR, ExpectationKind, got_expected
from .raised import advice

#: a function that makes a weight, given its name and shape
Weights = Callable[[str, tuple[int, ...]], torch.Tensor]


class ExpectLayer:
    """Makes assertions about a layer of the answer's class, given a layer of the solution's class.

    Both layers get the same random weights, which differ between parameters. Raises
    `AssertionError` if the answer lacks a weight. In a public suite, there is no solution, and the
    answer's weights depend only on their names and shapes. Call `load` to set other weights, and
    compare the results with given values. `weights` makes the initial weights; by default, they are
    drawn from a normal distribution.
    """

    def __init__(
        self,
        implementation: Implementation,
        solution: Implementation | None,
        draw: Draw,
        question: str,
        args: Sequence[Any],
        scale: float,
        failures: Failures,
        weights: Weights | None = None,
    ) -> None:
        self._failures = failures
        self._value: Any = None
        self._question = question
        self._signature = signature_of(solution, question)
        self._built = self._call = call_text(question, args)
        self._is_eval = False
        self._draw = draw
        self._reference = solution.build(question, args) if solution is not None else None
        with self._explained(), _born_alike(solution is None):
            self.answer: Layer = implementation.build(question, args)
        if self._reference is not None:
            self.fill(weights or (lambda name, shape: draw.normal(*shape, scale=scale)))
        else:
            self.answer.load(_weights_by_name(self.answer.weights(), scale))

    @property
    def _forward(self) -> str:
        """The text of the function that is called, from which the call can be repeated."""
        return f"{self._built}{'.eval()' * self._is_eval}.forward"

    @property
    def reference(self) -> Layer:
        """The solution's layer; raises `LookupError` in a public suite."""
        if self._reference is None:
            raise LookupError(
                "a public suite has no solution: load the weights, and give the expected value"
            )
        return self._reference

    def fill(self, make: Weights, way: str = COPY) -> None:
        """Set every trainable weight in both layers to `make(name, shape)`."""
        weights = {
            name: make(name, tuple(value.shape)).to(value.dtype)
            for name, value in self.reference.weights().items()
        }
        self.load(weights, way)

    def load(self, weights: Mapping[str, torch.Tensor], way: str = COPY) -> None:
        """Set weights in both layers, keyed by name; `way` affects only the answer's layer."""
        if self._reference is not None:
            self._reference.load(weights)
        try:
            self.answer.load(weights, way)
        except AnswerRaised as fault:
            raise wrong_weights(self._call, fault, weights) from None

    def exact_weights(self, *, likely: str) -> None:
        """Assert that the answer's trainable parameters have the solution's names and shapes."""
        got = {name: tuple(value.shape) for name, value in self.answer.weights().items()}
        expected = {name: tuple(value.shape) for name, value in self.reference.weights().items()}
        self._call = f"the trainable parameters of {self._built}"
        text = difference(got, expected)
        if text is not None:
            self._failures.add(report_assertion, self._call, text, likely, ExpectationKind.WEIGHTS)

    def weight_names(self) -> frozenset[str]:
        """Return the names of the answer's trainable parameters."""
        return frozenset(self.answer.weights())

    def has_weights(self, names: frozenset[str], *, likely: str) -> None:
        """Assert that the answer has trainable parameters with these names, and no others."""
        self._call = f"the trainable parameters of {self._built} after several calls"
        text = difference(sorted(self.weight_names()), sorted(names))
        if text is not None:
            self._failures.add(report_assertion, self._call, text, likely, ExpectationKind.WEIGHTS)

    def train(self, mode: bool = True) -> ExpectLayer:
        """Set both layers to train mode (default) or eval mode; return `self`."""
        self._is_eval = not mode
        self.answer.train(mode)
        if self._reference is not None:
            self._reference.train(mode)
        return self

    def eval(self) -> ExpectLayer:
        """Set both layers to eval mode; return `self`."""
        return self.train(False)

    def move(self, *, dtype: torch.dtype | None = None, device: str | None = None) -> ExpectLayer:
        """Move both layers to a different dtype or device; return `self`."""
        if self._reference is not None:
            self._reference.move(dtype=dtype, device=device)
        self.answer.move(dtype=dtype, device=device)
        return self

    def restored(self, *, likely: str) -> ExpectLayer:
        """Return two new layers, into which the state of both layers was loaded."""
        other = copy.copy(self)
        self._call = f"load_state_dict of {self._built}"
        with self._explained():
            other.answer = self.answer.restored()
        if self._reference is not None:
            other._reference = self._reference.restored()
        return other

    def same(
        self,
        *args: Any,
        likely: str,
        tolerance: Tolerance | None = None,
        no_grad: bool = False,
    ) -> Any:
        """Assert that `forward` returns the solution's value and changes no argument.

        Return the answer's value if it is correct; otherwise, return the solution's value.
        """
        expected = self.reference.forward(args).value
        return self.value(args, expected, likely=likely, tolerance=tolerance, no_grad=no_grad)

    def value(
        self,
        args: Sequence[Any],
        expected: Any,
        *,
        likely: str,
        tolerance: Tolerance | None = None,
        no_grad: bool = False,
    ) -> Any:
        """Assert that `forward` returns the expected value, and changes no argument.

        Return the answer's value if it is correct; otherwise, return the expected one.
        """
        right = expected
        with self._failures.softly():
            got = self.result(*args, likely=likely, no_grad=no_grad)
            text = difference(got, expected, tolerance)
            if text is not None:
                self._failures.add(wrong_value, self._call, text, got, expected, likely, args)
            else:
                right = got
        return right

    def result(self, *args: Any, likely: str = "", no_grad: bool = False) -> Any:
        """Call the answer's `forward` and return its value.

        The test fails if the call changes an argument.
        """
        self._call = no_grad_text(call_text(self._forward, args), no_grad)
        with self._explained():
            outcome = self.answer.forward(args, no_grad)
        for text, cause in changes(args, outcome):
            self._failures.add(changed, self._call, text, cause)
        self._value = outcome.value
        return outcome.value

    def steps(self, *steps: Step, likely: str) -> None:
        """Assert that several calls, which may pass on a state, return the solution's values.

        Each state is passed on as the same object, and all values are compared only after the last
        call, because a later call must not write into an earlier result.
        """
        expected = self.reference.steps(steps)
        self._call = steps_text(self._forward, steps)
        with self._failures.softly():
            with self._explained():
                got = self.answer.steps(steps)
            text = difference(got, expected)
            if text is not None:
                self._failures.add(wrong_value, self._call, text, got, expected, likely)

    def moves(self, *args: Any, likely: str) -> None:
        """Assert that `forward` works on a second device (meta), and that its value is there, too.

        Both layers remain on that device. Meta tensors have no numbers, so compare values before
        you call this method.
        """
        usual = self._reference or self.answer
        expected = on_second_device(usual.forward(args).value)
        self.move(device="meta")
        moved = on_second_device(list(args))
        self._call = f"after module.to(another device), {call_text(self._question, moved)}"
        try:
            got = self.answer.forward(moved).value
        except AnswerNotImplemented:  # raised by torch: the device has no such operator
            return
        except AnswerRaised as fault:
            if MIXED_DEVICES in str(fault) or "meta" not in str(fault).lower():
                advised = advice(fault, self._question, self._signature) or likely
                text = got_expected(str(fault), NO_ERROR)
                self._failures.add(
                    report_assertion, self._call, text, advised, ExpectationKind.ERROR, fault
                )
            return
        problem = form_difference(got, expected)
        if problem is not None:
            self._failures.add(report_assertion, self._call, problem, likely)

    def that(self, holds: bool, *, got: str, expected: str, likely: str) -> None:
        """Assert a property of the last call's value; if it does not hold, the test ends."""
        check_that(self._call, holds, got, expected, likely, self._value)

    def numbers(self, value: Any) -> None:
        """Assert that no number in the last call's value is nan."""
        check_numbers(self._call, value)

    def raises(self, *args: Any, error: type[Exception], likely: str, naming: str = "") -> None:
        """Assert that `forward` raises `error`, or a subclass, whose message contains `naming`."""
        self._call = call_text(self._forward, args)
        wrong = wrong_refusal(
            self._call, lambda: self.answer.forward(args).value, error, likely, naming
        )
        if wrong is not None:
            self._failures.add(lambda: wrong)

    def gradients(self, *args: Any, likely: str, options: GradientOptions = PLAIN) -> None:
        """Assert that the value and all gradients equal the solution's, computed with `options`."""
        compare = partial(gradient_difference, size=options.size)
        self._backward(args, compare, likely, options, difference)

    def trains(self, *args: Any, likely: str, tolerance: Tolerance | None = None) -> None:
        """Assert that the backward pass gives finite gradients wherever the solution has gradients.

        Use this for calls whose gradients can't be compared, because they are random or depend on
        rounding. With a tolerance, the value is also compared.
        """
        values = partial(difference, tolerance=tolerance) if tolerance else None
        self._backward(args, not_finite, likely, values=values)

    def pulled(
        self,
        *args: Any,
        cotangent: torch.Tensor,
        likely: str = "",
        options: GradientOptions = PLAIN,
    ) -> Gradients:
        """Return the answer's value and gradients for a given cotangent, to test a property.

        The test fails if the call leaves anything behind. `options` say how gradients are computed.
        """
        self._call = gradient_text(self._forward, args, options)
        with self._explained():
            got = self.answer.gradients(args, cotangent, options)
        with self._failures.softly():
            for text, cause in left_behind(got):
                self._failures.add(changed, self._call, text, cause)
        return got

    def _backward(
        self,
        args: Sequence[Any],
        compare: Compare,
        likely: str,
        options: GradientOptions = PLAIN,
        values: Callable[[Any, Any], str | None] | None = None,
    ) -> None:
        cotangent = cotangent_of(self._draw, self.reference.forward(args).value, None, options)
        expected = self.reference.gradients(args, cotangent, options)
        self._call = gradient_text(self._forward, args, options)
        with self._failures.softly():
            with self._explained():
                got = self.answer.gradients(args, cotangent, options)
            text = values(got.value, expected.value) if values else None
            if text is not None:
                self._failures.add(wrong_value, self._call, text, got.value, expected.value, likely)
            faults = weight_faults(got.weights, expected.weights, compare)
            for fault in (*faults, *gradient_faults(args, got.inputs, expected.inputs, compare)):
                self._failures.add(wrong_gradient, self._call, fault, likely, options.size)
            for text, cause in left_behind(got):
                self._failures.add(changed, self._call, text, cause)

    def _explained(self) -> AbstractContextManager[None]:
        return explained(self._call, self._question, self._signature)


@contextmanager
def _born_alike(is_public: bool) -> Iterator[None]:
    """In a public suite, seed the random numbers that are drawn while a class is built."""
    if not is_public:
        yield
        return
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield


def _weights_by_name(weights: Mapping[str, torch.Tensor], scale: float) -> dict[str, torch.Tensor]:
    """Draw weights that do not depend on the order in which an answer creates them.

    Leave out lazy weights, which are empty: without a solution, nobody knows their shapes before
    the first call, which initializes them.
    """
    known = {name: found for name, found in weights.items() if found.shape != (0,)}
    drawn = {name: Draw(0, f"{name} {tuple(found.shape)}") for name, found in known.items()}
    return {
        name: drawn[name].normal(*found.shape, scale=scale).to(found.dtype)
        for name, found in known.items()
    }
