"""Defines a test's assertions: equality with the solution or with a value, errors, properties.

A failure shows the call with its shapes, the actual and the expected result, and the likely cause.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import torch

from ..errors import AnswerRaised
from .arguments import (
    Draw,
    changes,
    compared,
    cotangent_of,
    gradient_difference,
    gradient_faults,
    left_behind,
)
from .compare import Tolerance, difference
from .failures import (
    Failures,
    changed,
    check_numbers,
    check_that,
    explained,
    wrong_gradient,
    wrong_refusal,
    wrong_value,
)
from .forbidden_calls import Forbidden, differs
from .implementation import (
    PLAIN,
    GradientOptions,
    Gradients,
    Implementation,
    Step,
    WatchedCall,
    call_text,
    gradient_text,
    no_grad_text,
    steps_text,
)
from .layers import ExpectLayer, Weights
from .local import signature_of
from .witness import After


class Expect:
    """Makes assertions about the answers to one exercise.

    In public suites, `solution` is None: these suites compare results only with given values. With
    `soft`, a test continues after a failure, and `failures` keeps the first failure.
    """

    def __init__(
        self,
        implementation: Implementation,
        solution: Implementation | None,
        draw: Draw,
        soft: bool = False,
    ) -> None:
        self.failures = Failures(soft)
        self.implementation = implementation
        self.draw = draw
        self._solution = solution
        self._call = ""
        self._calls = 0
        self._value: Any = None

    @property
    def solution(self) -> Implementation:
        """The solution module; raises `LookupError` in a public suite."""
        if self._solution is None:
            raise LookupError("a public suite has no solution: give the expected value")
        return self._solution

    def same(
        self,
        question: str,
        *args: Any,
        likely: str,
        tolerance: Tolerance | None = None,
        after: After | None = None,
        no_grad: bool | None = None,
    ) -> Any:
        """Assert that the answer equals the solution on these arguments, and changes none of them.

        Returns the answer's value if it is correct, otherwise the solution's. Compares type, shape,
        dtype, and values within the default tolerance for the expected dtype; with `after`,
        compares the results of that function instead. With `no_grad`, the call is made under
        `torch.no_grad()`. By default, every second call in a test is made in this way, because an
        answer may compute differently if no gradients are needed.
        """
        expected = self.solution.call(question, args).value
        if no_grad is None:
            self._calls += 1
            no_grad = self._calls % 2 == 0
        return self.value(
            question,
            args,
            expected,
            likely=likely,
            tolerance=tolerance,
            after=after,
            no_grad=no_grad,
        )

    def value(
        self,
        question: str,
        args: Sequence[Any],
        expected: Any,
        *,
        likely: str,
        tolerance: Tolerance | None = None,
        after: After | None = None,
        no_grad: bool = False,
    ) -> Any:
        """Assert that the answer equals a value, and changes no argument.

        Returns the answer's value if it is correct, otherwise `expected`. With `after`, that
        function is applied to both values, and its results are compared.
        """
        right = expected
        with self.failures.softly():
            got = self.result(question, *args, likely=likely, no_grad=no_grad)
            one, other = compared(got, expected, after)
            text = difference(one, other, tolerance)
            if text is not None:
                self.failures.add(wrong_value, self._call, text, one, other, likely, args)
            else:
                right = got
        return right

    def result(self, question: str, *args: Any, likely: str = "", no_grad: bool = False) -> Any:
        """Call the answer and return its value; the test fails if the call changes an argument."""
        self._call = no_grad_text(call_text(question, args), no_grad)
        with self._explained(question):
            outcome = self.implementation.call(question, args, no_grad)
        for text, cause in changes(args, outcome):
            self.failures.add(changed, self._call, text, cause)
        self._value = outcome.value
        return outcome.value

    def steps(
        self,
        question: str,
        *steps: Step,
        likely: str,
        after: After | None = None,
        no_grad: bool = False,
    ) -> None:
        """Assert that several calls, which may pass on a state, return the solution's values.

        Each state is passed on as the same object, and all values are compared only after the last
        call, because a later call must not write into an earlier result. If no state is passed on,
        each result is changed in place before the next call, to check that this does not affect the
        call. With `after`, that function is applied to all values, and its results are compared.
        """
        expected = self.solution.steps(question, steps)
        self._call = no_grad_text(steps_text(question, steps), no_grad)
        with self.failures.softly():
            with self._explained(question):
                got = self.implementation.steps(question, steps, no_grad)
            pairs = [compared(*pair, after) for pair in zip(got, expected, strict=True)]
            text = difference([one for one, _ in pairs], [other for _, other in pairs])
            if text is not None:
                self.failures.add(wrong_value, self._call, text, got, expected, likely)

    def that(self, holds: bool, *, got: str, expected: str, likely: str) -> None:
        """Assert a property of the last call's value; if it does not hold, the test ends."""
        check_that(self._call, holds, got, expected, likely, self._value)

    def numbers(self, value: Any) -> None:
        """Assert that the last call's value, or a result computed from it, contains no nan."""
        check_numbers(self._call, value)

    def gradients(
        self,
        question: str,
        *args: Any,
        likely: str,
        to: Sequence[int] | None = None,
        options: GradientOptions = PLAIN,
        after: After | None = None,
    ) -> None:
        """Assert that the value and all gradients for floating-point inputs equal the solution's.

        The cotangent is random. With `after`, the cotangent is pulled back through that function,
        and the function's results are compared instead of the values. With `to`, only gradients
        with respect to the arguments at these positions are compared; `options` say how the
        gradients are computed.
        """
        value = self.solution.call(question, args).value
        cotangent = cotangent_of(self.draw, value, after, options)
        expected = self.solution.gradients(question, args, cotangent, options)
        self._call = gradient_text(question, args, options)
        with self.failures.softly():
            with self._explained(question):
                got = self.implementation.gradients(question, args, cotangent, options)
            one, other = compared(got.value, expected.value, after)
            text = difference(one, other)
            if text is not None:
                self.failures.add(wrong_value, self._call, text, one, other, likely, args)
            judged = [
                gradient if to is None or place in to else None
                for place, gradient in enumerate(expected.inputs)
            ]
            compare = partial(gradient_difference, size=options.size)
            for fault in gradient_faults(args, got.inputs, judged, compare):
                self.failures.add(wrong_gradient, self._call, fault, likely, options.size)
            for text, cause in left_behind(got):
                self.failures.add(changed, self._call, text, cause)

    def pulled(
        self,
        question: str,
        *args: Any,
        cotangent: torch.Tensor,
        likely: str = "",
        options: GradientOptions = PLAIN,
    ) -> Gradients:
        """Return the answer's value and gradients for a given cotangent, to test a property.

        The test fails if the call leaves anything behind. `options` say how gradients are computed.
        """
        self._call = gradient_text(question, args, options)
        with self._explained(question):
            got = self.implementation.gradients(question, args, cotangent, options)
        with self.failures.softly():
            for text, cause in left_behind(got):
                self.failures.add(changed, self._call, text, cause)
        return got

    def raises(
        self,
        question: str,
        *args: Any,
        error: type[Exception],
        likely: str,
        naming: str = "",
    ) -> None:
        """Assert that the call raises `error`, or a subclass, whose message contains `naming`.

        The call must also raise the error under `torch.no_grad()`.
        """

        def refused(no_grad: bool) -> bool:
            self._call = no_grad_text(call_text(question, args), no_grad)
            return self._refused(
                lambda: self.implementation.call(question, args, no_grad).value,
                error,
                likely,
                naming,
            )

        _ = refused(False) and refused(True)

    def allowed(
        self, question: str, *args: Any, rule: Forbidden, backward: bool | None = None
    ) -> None:
        """Assert that the answer's code neither contains nor makes a call that the rule forbids.

        The answer is checked in a call without gradients, and in a call with gradients and its
        backward pass; `backward` selects one of these two calls.

        An answer that raises an error for these arguments breaks no rule, because other tests
        report the error. An answer that changes its behavior while it is watched breaks every rule.
        """
        for chosen in (False, True) if backward is None else (backward,):
            try:
                watched = self.implementation.operators(question, args, chosen, rule.watched)
            except AnswerRaised:
                watched = WatchedCall()
            rule.check(
                question,
                watched.operators,
                self.implementation.names_used(question, rule.excludes),
                differs(watched, lambda: self.implementation.call(question, args).value),
            )

    def layer(
        self, question: str, *args: Any, scale: float = 0.5, weights: Weights | None = None
    ) -> ExpectLayer:
        """Build the answer's and the solution's class with the same random weights and biases.

        If the function `weights` is given, it makes the weights instead. In a public suite, only
        the answer's class is built, and its weights depend on their names; see `ExpectLayer.load`.
        """
        return ExpectLayer(
            self.implementation,
            self._solution,
            self.draw,
            question,
            args,
            scale,
            self.failures,
            weights,
        )

    def construction_raises(
        self, question: str, *args: Any, error: type[Exception], likely: str, naming: str = ""
    ) -> None:
        """Assert that building the class with these arguments raises `error`."""
        self._call = call_text(question, args)
        self._refused(lambda: self.implementation.build(question, args), error, likely, naming)

    def _refused(
        self, run: Callable[[], Any], error: type[Exception], likely: str, naming: str
    ) -> bool:
        """Return True if `run` raises as expected; otherwise, add a failure and return False."""
        wrong = wrong_refusal(self._call, run, error, likely, naming)
        if wrong is not None:
            self.failures.add(lambda: wrong)
        return wrong is None

    def _explained(self, question: str) -> AbstractContextManager[None]:
        return explained(self._call, question, signature_of(self._solution, question))
