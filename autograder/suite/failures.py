"""How a failure reads: what relates the two values, the call, what differs, what to do.

What is said belongs to the failure: an error has texts of its own, so has a result of another
shape, and what a test says about its subject is told where numbers differ and nothing simpler
is true.
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
    About,
    Message,
    got_expected,
    in_short,
)
from .raised import advice
from .relations import nan_in, relation

_NO_RETURN = "end the function with `return` and the result"
_NOT_A_TENSOR = "return what the docstring says, and nothing else with it"
_LIST = "make one tensor of the list with `torch.stack`; let its items be tensors, not numbers"
_SHAPE = "write the shape next to each line, and compare the last one with the docstring's"
DTYPE = "what you make yourself (`torch.zeros`, `torch.tensor`) gets the dtype of the input"
_GRADIENT_CUT = (
    "look for `.detach()`, `.data`, `.item()`, `torch.tensor(...)` or `no_grad` between it and the "
    "result"
)
_ASSERT = "; an `assert` raises an AssertionError, so write `if ...: raise {}(...)`"
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


class WrongAnswer(AssertionError):
    """What an answer gave is not right.

    `fault` is what the answer raised, where the message is about that.
    """

    def __init__(self, message: Message, fault: AnswerFault | None = None) -> None:
        super().__init__(str(message))
        self.message = message
        self.fault = fault

    @property
    def cause(self) -> str:
        """Equal for failures that one message is enough for."""
        return self.message.cause


class Failures:
    """What fails in one test. Soft assertions let the test go on, so that all its calls are made.

    `first` is the failure that counts; without `soft` it is raised at once.
    """

    def __init__(self, soft: bool) -> None:
        self._soft = soft
        self.first: Exception | None = None

    def add(self, failure: Exception) -> None:
        """Takes note of a failure, or raises it."""
        if not self._soft:
            raise failure
        self.first = self.first or failure

    @contextmanager
    def softly(self) -> Iterator[None]:
        """Takes note of what the answer raises; what ends a worker ends the test, too."""
        try:
            yield
        except AnswerRaised as fault:
            self.add(fault)


def wrong_value(
    call: str, text: str, got: Any, expected: Any, about: str, args: Sequence[Any] = ()
) -> WrongAnswer:
    """A value that is not the expected one; `about` says what the test is about."""
    told = relation(got, expected, args)
    step = _step(got, expected) or (f"{REMEMBER}{about}" if about else "")
    return WrongAnswer(Message(call, text, step, told, cause=told))


def _step(got: Any, expected: Any) -> str:
    """What to do where it is not the numbers that are wrong."""
    if got is None:
        return f"{NEXT_STEP}{_NO_RETURN}"
    if not isinstance(expected, torch.Tensor):
        return ""
    if not isinstance(got, torch.Tensor):
        return f"{NEXT_STEP}{_LIST if isinstance(got, list) else _NOT_A_TENSOR}"
    if got.shape != expected.shape:
        return f"{NEXT_STEP}{_SHAPE}"
    if got.dtype != expected.dtype and expected.is_floating_point():
        return f"{NEXT_STEP}{DTYPE}"
    return ""


def wrong_gradient(call: str, fault: GradientFault, about: str, size: float = 1.0) -> WrongAnswer:
    """A gradient that is not the expected one, or none at all; `size` is that of what came in."""
    if fault.got is None:
        told, step = f"no gradient reaches {fault.place}", f"{NEXT_STEP}{_GRADIENT_CUT}"
    else:
        found = relation(*_divided(fault, size))
        told = f"the gradient to {fault.place} is not right" + (f": {found}" if found else "")
        step = f"{REMEMBER}{about}"
    text = f"the gradient to {fault.place}:\n{fault.text}"
    return WrongAnswer(Message(call, text, step, told, cause=told))


def _divided(fault: GradientFault, size: float) -> tuple[Any, Any]:
    """Both gradients as they are for an incoming gradient of size 1."""
    is_tensor = isinstance(fault.got, torch.Tensor) and size != 1
    return (fault.got / size, fault.expected / size) if is_tensor else (fault.got, fault.expected)


def wrong_weights(call: str, fault: AnswerRaised, wanted: Iterable[str]) -> WrongAnswer:
    """Weights can't be copied into the answer: a name is not there, or a size is another one."""
    text = got_expected(str(fault), "weights of these names and shapes")
    if "ValueError" in fault.bases:
        step = "compare the sizes with the docstring's; the weight of `nn.Linear(a, b)` is (b, a)"
    else:
        step = (
            "every layer is an attribute of the module, with the name that the exercise gives; the "
            f"weights are {', '.join(wanted)}"
        )
    cause = _NUMBER.sub("#", str(fault))
    found = Message(call, text, f"{NEXT_STEP}{step}", cause=cause, about=About.WEIGHTS)
    return WrongAnswer(found, fault)


@contextmanager
def explained(call: str, question: str, signature: str = "") -> Iterator[None]:
    """Puts the call and what to do into the message of a fault."""
    try:
        yield
    except AnswerNotImplemented:
        raise
    except AnswerFault as fault:
        told, likely = str(fault), advice(fault, question, signature)
        step = f"{LIKELY}{likely}" if likely else ""
        fault.args = (str(Message(call, got_expected(told, NO_ERROR), step)),)
        fault.cause = _NUMBER.sub("#", told)
        raise


def not_so(
    call: str,
    text: str,
    likely: str,
    about: About = About.PROPERTY,
    fault: AnswerFault | None = None,
) -> WrongAnswer:
    """Something that a test says of an answer does not hold.

    What the test says of its subject is the likely cause where an error is missing. Elsewhere it is
    something to remember, or to ask: a wrong value has many causes.
    """
    kind = LIKELY
    if about is About.PROPERTY:
        kind = NEXT_STEP if likely.endswith("?") else REMEMBER
    return WrongAnswer(Message(call, text, f"{kind}{likely}", about=about), fault)


def changed(call: str, text: str, likely: str) -> WrongAnswer:
    """An argument is not what it was before the call."""
    cause = text.partition("\n")[0]
    found = Message(call, text, f"{LIKELY}{likely}", cause=cause, about=About.PROPERTY)
    return WrongAnswer(found)


def check_that(
    call: str, holds: bool, got: str, expected: str, likely: str, value: Any = None
) -> None:
    """Raises `WrongAnswer` where a property of a value does not hold, or of nan can't."""
    if holds:
        return
    check_numbers(call, value)
    raise not_so(call, got_expected(got, expected), likely)


def check_numbers(call: str, value: Any) -> None:
    """Raises `WrongAnswer` where something in a value is nan: of that, nothing else holds."""
    nan = next(filter(None, map(nan_in, tensors_in(value))), "")
    if not nan:
        return
    count, _, hint = nan.partition(": ")
    text = got_expected(count, "numbers; nan is none")
    raise WrongAnswer(Message(call, text, f"{LIKELY}{hint}", cause="nan", about=About.PROPERTY))


def wrong_refusal(
    call: str, run: Callable[[], Any], error: type[Exception], likely: str, naming: str
) -> WrongAnswer | None:
    """None if `run` raises an `AnswerRaised` of that class whose message holds `naming`."""
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
    return not_so(call, got_expected(got, expected), likely, About.ERROR, fault)


def told_once(messages: Sequence[tuple[str, str, str]]) -> list[str]:
    """Messages of which equal causes are told once: from (title, message, cause) of each failure.

    The first of a cause says how often it comes again, the others say where it is told.
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
            texts.append(f"The same as in {first[cause]!r}.\n{in_short(text)}")
        else:
            first[cause] = title
            more = counts[cause] - 1
            texts.append(f"{text}\n(the same in {more} more {'test' if more == 1 else 'tests'})")
    return texts
