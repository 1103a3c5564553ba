"""Builds a failure's message: how two values are related, the call, the difference, and advice.

The advice depends on the kind of failure: errors and results of the wrong shape get special advice.
A test's own explanation (`likely`) is shown only if numbers differ and no simpler cause explains
the failure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from ..errors import AnswerFault, AnswerNotImplemented, AnswerRaised
from ..worker.execution import tensors_in
from .arguments import GradientFault
from .compare import describe
from .message import (
    LIKELY,
    NEXT_STEP,
    NO_ERROR,
    REMEMBER,
    ExpectationKind,
    Message,
    got_expected,
    short_message,
)
from .raised import advice
from .relations import nan_in, relation

_NO_RETURN = "end the function with `return` and the result"
_NOT_A_TENSOR = "return only what the docstring asks for"
_LIST = "make one tensor from the list with `torch.stack`; its items must be tensors, not numbers"
_NUMBERS = "make a tensor from the list with `torch.tensor`: its numbers need no gradient here"
_SHAPE = "write the shape next to each line, and compare the last shape with the docstring's"
DTYPE = "give tensors that you create (`torch.zeros`, `torch.tensor`) the dtype of the input"
_GRADIENT_CUT = (
    "look for `.detach()`, `.data`, `.item()`, `torch.tensor(...)` or `no_grad` on the way from "
    "there to the result"
)
_ASSERT = "; an `assert` raises an AssertionError, so write `if ...: raise {}(...)`"
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


class WrongAnswer(AssertionError):
    """Raised if an answer does not do what a test expects.

    `fault` is the error that the answer raised, if the message is about an error.
    """

    def __init__(self, message: Message, fault: AnswerFault | None = None) -> None:
        super().__init__(str(message))
        self.message = message
        self.fault = fault

    @property
    def cause(self) -> str:
        """A string that is the same for failures that can share a message."""
        return self.message.cause


class Failures:
    """The failures in one test.

    With `soft`, the test continues after a failure, so that all of its calls are made.

    `first` is the failure that counts; without `soft`, this failure is raised immediately.
    """

    def __init__(self, soft: bool) -> None:
        self._soft = soft
        self.first: Exception | None = None

    def add(self, described: Callable[..., Exception], *args: Any) -> None:
        """Record the failure `described(*args)` if `soft` is true; otherwise, raise it.

        Only the first failure is described, because describing a failure takes longer than finding
        it.
        """
        if not self._soft:
            raise described(*args)
        self.first = self.first or described(*args)

    @contextmanager
    def softly(self) -> Iterator[None]:
        """Record the answer's error, if any; but if the answer's worker ends, so does the test."""
        try:
            yield
        except AnswerRaised as fault:
            error = fault
            self.add(lambda: error)


def wrong_value(
    call: str, text: str, got: Any, expected: Any, about: str, args: Sequence[Any] = ()
) -> WrongAnswer:
    """Return the failure for a wrong value; `about` is the test's own explanation."""
    statement = relation(got, expected, args)
    step = _step(got, expected) or (f"{REMEMBER}{about}" if about else "")
    return WrongAnswer(Message(call, text, step, statement, cause=statement))


def _step(got: Any, expected: Any) -> str:
    """Return the next step if something more obvious than the numbers is wrong, otherwise ""."""
    if got is None:
        return f"{NEXT_STEP}{_NO_RETURN}"
    if not isinstance(expected, torch.Tensor):
        return ""
    if not isinstance(got, torch.Tensor):
        as_tensor = _LIST if expected.is_floating_point() else _NUMBERS
        return f"{NEXT_STEP}{as_tensor if isinstance(got, list) else _NOT_A_TENSOR}"
    if got.shape != expected.shape:
        return f"{NEXT_STEP}{_SHAPE}"
    if got.dtype != expected.dtype and expected.is_floating_point():
        return f"{NEXT_STEP}{DTYPE}"
    return ""


def wrong_gradient(call: str, fault: GradientFault, about: str, size: float = 1.0) -> WrongAnswer:
    """Return the failure for a wrong gradient; `size` is the incoming gradient's magnitude."""
    if fault.got is None:
        statement, step = f"no gradient reaches {fault.place}", f"{NEXT_STEP}{_GRADIENT_CUT}"
    else:
        found = relation(*_divided(fault, size))
        statement = f"the gradient with respect to {fault.place} is wrong" + (
            f": {found}" if found else ""
        )
        step = f"{REMEMBER}{about}"
    text = f"the gradient with respect to {fault.place}:\n{fault.text}"
    return WrongAnswer(Message(call, text, step, statement, cause=statement))


def _divided(fault: GradientFault, size: float) -> tuple[Any, Any]:
    """Scale both gradients as if the incoming gradient had the magnitude 1."""
    is_tensor = isinstance(fault.got, torch.Tensor) and size != 1
    return (fault.got / size, fault.expected / size) if is_tensor else (fault.got, fault.expected)


def wrong_weights(call: str, fault: AnswerRaised, wanted: Iterable[str]) -> WrongAnswer:
    """Return the failure for weights that can't be set: a name is missing, or a size differs."""
    text = got_expected(str(fault), "weights of these names and shapes")
    if "ValueError" in fault.bases:
        step = "compare the sizes with the docstring's; the weight of `nn.Linear(a, b)` is (b, a)"
    else:
        step = (
            "every layer is an attribute of the module, with the name that the exercise gives; the "
            f"weights are {', '.join(wanted)}"
        )
    cause = _NUMBER.sub("#", str(fault))
    found = Message(call, text, f"{NEXT_STEP}{step}", cause=cause, about=ExpectationKind.WEIGHTS)
    return WrongAnswer(found, fault)


@contextmanager
def explained(call: str, question: str, signature: str = "") -> Iterator[None]:
    """Add the call and advice to the message of a fault that the block raises."""
    try:
        yield
    except AnswerNotImplemented:
        raise
    except AnswerFault as fault:
        problem, likely = str(fault), advice(fault, question, signature)
        step = f"{LIKELY}{likely}" if likely else ""
        fault.args = (str(Message(call, got_expected(problem, NO_ERROR), step)),)
        fault.cause = _NUMBER.sub("#", problem)
        raise


def report_assertion(
    call: str,
    text: str,
    likely: str,
    about: ExpectationKind = ExpectationKind.PROPERTY,
    fault: AnswerFault | None = None,
) -> WrongAnswer:
    """Return the failure for an assertion; `likely` is the test's own explanation.

    If the assertion is about a property, the explanation is shown as something to remember or, if
    it is a question, as the next step, because a wrong value can have many causes. If the assertion
    is about an error or about weights, the explanation is shown as the likely cause.
    """
    kind = LIKELY
    if about is ExpectationKind.PROPERTY:
        kind = NEXT_STEP if likely.endswith("?") else REMEMBER
    return WrongAnswer(Message(call, text, f"{kind}{likely}", about=about), fault)


def changed(call: str, text: str, likely: str) -> WrongAnswer:
    """Return the failure for a call that changed an argument or left something behind."""
    cause = text.partition("\n")[0]
    found = Message(call, text, f"{LIKELY}{likely}", cause=cause, about=ExpectationKind.PROPERTY)
    return WrongAnswer(found)


def check_that(
    call: str, holds: bool, got: str, expected: str, likely: str, value: Any = None
) -> None:
    """Raise `WrongAnswer` if a value lacks a property; if the value contains nan, report that."""
    if holds:
        return
    check_numbers(call, value)
    raise report_assertion(call, got_expected(got, expected), likely)


def check_numbers(call: str, value: Any) -> None:
    """Raise `WrongAnswer` if a value contains nan, because then other properties can't hold."""
    nan = nan_in(*tensors_in(value))
    if not nan:
        return
    count, _, hint = nan.partition(": ")
    text = got_expected(count, "numbers without nan")
    raise WrongAnswer(
        Message(call, text, f"{LIKELY}{hint}", cause="nan", about=ExpectationKind.PROPERTY)
    )


def wrong_refusal(
    call: str, run: Callable[[], Any], error: type[Exception], likely: str, naming: str
) -> WrongAnswer | None:
    """Return the failure for a missing or wrong error, or None if `run` raises the right one."""
    fault = None
    try:
        value = run()
    except AnswerRaised as raised:
        fault, got = raised, str(raised).removesuffix(": ")
        if error.__name__ not in raised.bases:
            expected = error.__name__
            if "AssertionError" in raised.bases and "assert" not in likely:
                likely += _ASSERT.format(error.__name__)
        elif naming and naming not in got:
            expected = f"{naming!r} in the message"
        else:
            return None
    else:
        got, expected = describe(value) if tensors_in(value) else "no error", error.__name__
    return report_assertion(call, got_expected(got, expected), likely, ExpectationKind.ERROR, fault)


def merge_equal_causes(messages: Sequence[tuple[str, str, str]]) -> list[str]:
    """Shorten messages that have the same cause, given (title, message, cause) for each failure.

    The first message with a cause says how many other tests have the same cause, and the other
    messages refer to the first.
    """
    counts: dict[str, int] = {}
    for _, _, cause in messages:
        counts[cause] = counts.get(cause, 0) + 1
    first: dict[str, str] = {}
    texts = []
    for title, text, cause in messages:
        if not cause or counts[cause] < 2:
            texts.append(text)
        elif cause in first:
            texts.append(f"The same as in {first[cause]!r}.\n{short_message(text)}")
        else:
            first[cause] = title
            more = counts[cause] - 1
            texts.append(f"{text}\n(the same in {more} more {'test' if more == 1 else 'tests'})")
    return texts
