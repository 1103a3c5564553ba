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
from .raised import advice
from .relations import relation

#: what the last line of a message begins with
STEPS = ("likely: ", "next step: ", "remember: ")

_NO_RETURN = "end the function with `return` and the result"
_NOT_A_TENSOR = "return what the docstring says, and nothing else with it"
_LIST = "make one tensor of the list with `torch.stack`; let its items be tensors, not numbers"
_SHAPE = "write the shape next to each line, and compare the last one with the docstring's"
DTYPE = "what you make yourself (`torch.zeros`, `torch.tensor`) gets the dtype of the input"
_GRADIENT_CUT = (
    "look for `.detach()`, `.data`, `.item()`, `torch.tensor(...)` or `no_grad` between it and the "
    "result"
)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


class WrongAnswer(AssertionError):
    """What an answer gave is not right; `cause` is equal where one message is enough."""

    def __init__(self, text: str, cause: str = "") -> None:
        super().__init__(text)
        self.cause = cause


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


def message(call: str, text: str, step: str, told: str = "") -> str:
    """The form of every failure: a relation, the call, what differs, and how to go on.

    `step` begins with its kind: `likely: ...`, `next step: ...`, `remember: ...`.
    """
    end = "" if told.endswith("?") else "."
    first = f"{told[:1].upper()}{told[1:]}{end}\n" if told else ""
    return f"{first}{call}:\n{text}" + (f"\n{step}" if step else "")


def wrong_value(call: str, text: str, got: Any, expected: Any, about: str) -> WrongAnswer:
    """A value that is not the expected one; `about` says what the test is about."""
    told = relation(got, expected)
    step = _step(got, expected) or (f"remember: {about}" if about else "")
    return WrongAnswer(message(call, text, step, told), told)


def _step(got: Any, expected: Any) -> str:
    """What to do where it is not the numbers that are wrong."""
    if got is None:
        return f"next step: {_NO_RETURN}"
    if not isinstance(expected, torch.Tensor):
        return ""
    if not isinstance(got, torch.Tensor):
        return f"next step: {_LIST if isinstance(got, list) else _NOT_A_TENSOR}"
    if got.shape != expected.shape:
        return f"next step: {_SHAPE}"
    if got.dtype != expected.dtype and expected.is_floating_point():
        return f"next step: {DTYPE}"
    return ""


def wrong_gradient(call: str, fault: GradientFault, about: str) -> WrongAnswer:
    """A gradient that is not the expected one, or none at all."""
    if fault.got is None:
        told, step = f"no gradient reaches {fault.place}", f"next step: {_GRADIENT_CUT}"
    else:
        found = relation(fault.got, fault.expected)
        told = f"the gradient to {fault.place} is not right" + (f": {found}" if found else "")
        step = f"remember: {about}"
    text = f"the gradient to {fault.place}:\n{fault.text}"
    return WrongAnswer(message(call, text, step, told), told)


def wrong_weights(call: str, fault: AnswerRaised, wanted: Iterable[str]) -> WrongAnswer:
    """Weights can't be copied into the answer: a name is not there, or a size is another one."""
    text = f"got       {fault}\nexpected  weights of these names and shapes"
    if "ValueError" in fault.bases:
        step = (
            "next step: compare the sizes with the docstring's; the weight of `nn.Linear(a, b)` "
            "is (b, a)"
        )
    else:
        step = (
            "next step: every layer is an attribute of the module, with the name that the exercise "
            f"gives; the weights are {', '.join(wanted)}"
        )
    return WrongAnswer(message(call, text, step), _NUMBER.sub("#", str(fault)))


def not_a_result(fault: str) -> str:
    """What came in place of a result, and that one was expected."""
    return f"got       {fault}\nexpected  a result, and no error"


@contextmanager
def explained(call: str, question: str, signature: str = "") -> Iterator[None]:
    """Puts the call and what to do into the message of a fault."""
    try:
        yield
    except AnswerNotImplemented:
        raise
    except AnswerFault as fault:
        told, likely = str(fault), advice(fault, question, signature)
        fault.args = (message(call, not_a_result(told), f"likely: {likely}" if likely else ""),)
        fault.cause = _NUMBER.sub("#", told)
        raise


def check_that(call: str, holds: bool, got: str, expected: str, likely: str) -> None:
    """Raises `WrongAnswer` where a property does not hold; what came is its cause."""
    if not holds:
        text = f"got       {got}\nexpected  {expected}"
        raise WrongAnswer(message(call, text, f"likely: {likely}"))


def check_raises(
    run: Callable[[], Any],
    fail: Callable[[str, str], None],
    error: type[Exception],
    likely: str,
    naming: str,
) -> None:
    """`run` raises an `AnswerRaised` of that class whose message holds `naming`."""
    try:
        value = run()
    except AnswerRaised as raised:
        if error.__name__ not in raised.bases:
            fail(f"got       {raised}\nexpected  {error.__name__}", likely)
        if naming and naming not in str(raised):
            fail(f"got       {raised}\nexpected  {naming!r} in the message", likely)
        return
    got = describe(value) if tensors_in(value) else "no error"
    fail(f"got       {got}\nexpected  {error.__name__}", likely)


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


def in_short(text: str) -> str:
    """A message without what relates and without what to do."""
    lines = text.splitlines()
    start = next((number for number, line in enumerate(lines) if line.endswith(":")), 0)
    kept = (line for line in lines[start:] if not line.startswith((*STEPS, "(the same in ")))
    return "\n".join(kept)
