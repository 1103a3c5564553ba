"""Turns a failed check into a message with the actual and expected results, places and advice.

First, the obvious explanations are checked: whether an error was expected, what was returned,
whether equal calls give equal results, and whether there are numbers to compare. The check's own
explanation is shown only if none of these explains the failure.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import BuiltinFunctionType, CoroutineType, FunctionType, GeneratorType, MethodType
from typing import Any

import torch
from torch import nn

from ..errors import AnswerFault, AnswerForbidden, AnswerNotImplemented, AnswerRaised
from ..suite import raised
from ..suite.compare import describe, difference
from ..suite.failures import WrongAnswer, check_numbers
from ..suite.implementation import call_text
from ..suite.message import LIKELY, NO_ERROR, CodeLine, ExpectationKind, Message, got_expected
from ..worker.execution import tensors_in
from .advice import AdviceContext, advice, exception_text
from .check_results import NOT_ALLOWED, SUPERFLUOUS, CheckedTest
from .known_mistakes import is_raised_by_student
from .last_call import RecordedCall
from .own_lines import Locate, locate_cell, places_of
from .pasting import pasteable
from .time_limit import CheckTimeout
from .weights import differing_names, superfluous_names

#: the number of results if a question asks for several
_PAIR = 2
#: matches the error about the shape of a result from which a gradient is to be computed
_WRONG_SHAPE = re.compile(r"the result has shape (.*), expected (.*)")
#: matches a line that contains a `raise` statement, such as `if T > n: raise ValueError`
_RAISE = re.compile(r"(^|:\s*)raise\b")
_DOCSTRING = "what the docstring says"
_NONE = (
    "{} ends without `return`, or the `return` is in a branch that did not run: without it, a "
    "function returns None"
)
#: errors that a check's own code may raise when it uses a wrong result
_NOT_TO_USE = (RuntimeError, ValueError, TypeError, IndexError, KeyError, AttributeError)
_SHAPES = "look at the type and the shape of the result, and of each tensor in it"
#: advice about an error that no other advice fits, raised in a line of the student's code
_STOPS = (
    "the call ends in this line: make the call yourself, and print the type and the shape of "
    "each part of the line just above it"
)
#: advice about such an error if no line of the student's code raised it
_NO_LINE = (
    "no line of your code raises this error: make the call yourself, and look at the type and the "
    "shape of what it returns"
)
_IN_GRADIENT = (
    "the error is raised when the gradient is computed, after your code has returned: does every "
    "operation in your code have a gradient? `//` has none"
)
#: the same for the student's own `raise`
_OWN = "this error ends the call: look at the condition that leads to the line where it is raised"
_BY_CHANCE = (
    "something in your code is random, was never given a value, or depends on an earlier call: "
    "dropout where there should be none, or that is always on (`F.dropout` needs "
    "`training=self.training`), a layer that is built in `forward`, `torch.rand`, `torch.empty`, a "
    "count or a tensor that a call keeps in `self`"
)


@dataclass(frozen=True, slots=True)
class AnswerContext:
    """The facts about answers on which messages depend, such as the names that their file defines.

    `locate` returns the location of a line of code. `retry` is the code that repeats a question's
    failing call, with `{}` for the question.
    """

    namespace: Mapping[str, Any]
    locate: Locate = locate_cell
    signatures: Mapping[str, str] | None = None
    exercises: tuple[str, ...] = ()
    retry: str = 'retry("{}")'

    def context(self, question: str, places: tuple[CodeLine, ...]) -> AdviceContext:
        """Returns the facts on which advice about an error at these `places` depends."""
        names = [name for name in self.namespace if not name.startswith("_")]
        source = places[-1].source if places else ""
        answer = self.namespace.get(question)
        return AdviceContext(question, self.signatures or {}, names, self.exercises, source, answer)

    def places(self, error: BaseException | None) -> tuple[CodeLine, ...]:
        """Returns the outermost and the innermost line of the student's code in a traceback."""
        traceback = error.__traceback__ if error is not None else None
        return places_of(traceback, self.namespace, self.locate)


def explained(
    name: str,
    failure: BaseException,
    step: RecordedCall | None,
    around: AnswerContext,
    by_chance: bool = False,
) -> CheckedTest:
    """Returns the result of a check that failed with `failure`; `step` is the answer's last call.

    `by_chance` is true if correct answers also give random results in this check.
    """
    message = _message(failure, step, around, by_chance)
    if isinstance(failure, AnswerForbidden):
        return CheckedTest(name, False, str(message), "", message.places, NOT_ALLOWED)
    call = ""
    if step is not None:
        call = pasteable(step, around.namespace) or around.retry.format(step.question)
    return CheckedTest(name, False, str(message), call, message.places, message.cause)


def _message(
    failure: BaseException, step: RecordedCall | None, around: AnswerContext, by_chance: bool
) -> Message:
    if isinstance(failure, CheckTimeout):
        return _timeout_message(failure, step, around)
    if (error := origin(failure)) is not None:
        return _error_message(error, step, around)
    wrong = failure if isinstance(failure, WrongAnswer) else None
    if wrong is not None and wrong.fault is not None:
        return _fault_message(wrong, wrong.fault, step, around)
    if wrong is not None and wrong.message.about in (
        ExpectationKind.ERROR,
        ExpectationKind.WEIGHTS,
    ):
        return wrong.message
    if step is not None and step.returned:
        for look in _LOOKS:
            if (message := look(step, by_chance)) is not None:
                return message
    if step is not None and isinstance(failure, AnswerRaised):
        hint = raised.advice(failure, step.question)
        return _step_message(step, str(failure), NO_ERROR, hint)
    if step is not None and isinstance(failure, _NOT_TO_USE):
        problem = f"{_described(step.value)}, which the check can't use: {type(failure).__name__}: "
        return _step_message(step, f"{problem}{failure}", _DOCSTRING, _SHAPES)
    return wrong.message if wrong is not None else Message("", _failure_text(failure))


def _described(value: Any) -> str:
    if isinstance(value, tuple) and len(value) == _PAIR:
        return f"the pair of {' and '.join(describe(item, is_item=True) for item in value)}"
    return describe(value)


def _none_returned(step: RecordedCall, by_chance: bool) -> Message | None:
    if step.value is not None:
        return None
    what = "the function" if step.built is None else "`forward`"
    return _step_message(step, "None", "a result", _NONE.format(what))


def _unexpected_returned(step: RecordedCall, by_chance: bool) -> Message | None:
    foreign = unexpected_result(step.value)
    return _step_message(step, foreign[0], _DOCSTRING, foreign[1]) if foreign else None


def _random_result(step: RecordedCall, by_chance: bool) -> Message | None:
    """Reports that equal calls give different results, unless the check involves chance."""
    if by_chance or step.again is None or not tensors_in(step.value):
        return None
    try:
        one, other = (_with_numbers(step.again()) for _ in range(2))
        text = difference(other, one)
        if text is None and not _has_nan(step.value):
            with _unset_memory_is_nan():  # uninitialized memory may happen to be equal
                text = difference(step.again(), one)
    except AnswerFault:
        return None
    if text is None:
        return None
    text = text.replace("got       ", "then      ").replace("expected  ", "first     ")
    text = text.replace(": got ", ": then ").replace(", expected ", ", first ")
    got = f"two different results of the same call:\n{text}"
    return _step_message(step, got, "the same result, each time", _BY_CHANCE, cause="by chance")


@contextmanager
def _unset_memory_is_nan() -> Iterator[None]:
    """Makes `torch.empty` return nan, or the largest integer, until the block ends."""
    before = torch.get_deterministic_debug_mode()
    # does the same as `use_deterministic_algorithms`, which would import torch's compiler (1 s)
    torch.set_deterministic_debug_mode("warn")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        torch.set_deterministic_debug_mode(before)


def _has_nan(value: Any) -> bool:
    return any(bool(tensor.isnan().any()) for tensor in tensors_in(value) if not tensor.is_meta)


def _with_numbers(value: Any) -> Any:
    """Replaces nan with 0, so that two results with nan in the same places are equal."""
    if isinstance(value, tuple | list):
        return tuple(map(_with_numbers, value))
    is_float = isinstance(value, torch.Tensor) and value.is_floating_point() and not value.is_meta
    return value.detach().masked_fill(value.isnan(), 0.0) if is_float else value


def _no_numbers(step: RecordedCall, by_chance: bool) -> Message | None:
    if _has_nan(step.args):
        return None
    try:
        check_numbers(call_with_shapes(step), step.value)
    except WrongAnswer as wrong:
        return wrong.message
    return None


def _superfluous_weights(step: RecordedCall, by_chance: bool) -> Message | None:
    """Reports weights that the check does not set, because they may have changed the result."""
    names = superfluous_names(step)
    return _step_message(replace(step, args=()), *names, cause=SUPERFLUOUS) if names else None


_LOOKS = (_none_returned, _unexpected_returned, _superfluous_weights, _random_result, _no_numbers)


def _timeout_message(
    failure: CheckTimeout, step: RecordedCall | None, around: AnswerContext
) -> Message:
    hint = "a loop never ends, or takes far too long: does its condition ever become false?"
    places = around.places(failure.__cause__)
    return _step_message(step, f"no result: it {failure}", "a result", hint, places, "too slow")


def cause_of(failure: BaseException, around: AnswerContext) -> str:
    """Describes the mistake that always causes this error, or returns "" if none is known."""
    fault: BaseException | None = failure
    if isinstance(failure, WrongAnswer):
        fault = failure.fault if NO_ERROR in failure.message.differs else None
    error = origin(fault) if fault is not None else None
    places = around.places(error)
    source = places[-1].source if places else ""
    return raised.cause_of(exception_text(error), source) if error is not None else ""


def origin(failure: BaseException) -> BaseException | None:
    """Returns the error that the answer raised, or None if the check failed for another reason."""
    if isinstance(failure, AnswerFault) and failure.__cause__ is not None:
        return failure.__cause__
    return failure if isinstance(failure, SystemExit | KeyboardInterrupt) else None


def is_stub(failure: BaseException) -> bool:
    """Returns whether the student's own code, and not torch, raised "not implemented"."""
    if not isinstance(failure, AnswerNotImplemented) or failure.__cause__ is None:
        return False
    return is_raised_by_student(failure.__cause__)


def _fault_message(
    wrong: WrongAnswer, fault: AnswerFault, step: RecordedCall | None, around: AnswerContext
) -> Message:
    """Returns the check's message, with the student's lines where the error was raised."""
    message, places = wrong.message, around.places(fault.__cause__)
    if (
        step is not None
        and message.about is ExpectationKind.WEIGHTS
        and (differing := differing_names(step))
    ):
        got, expected, hint = differing
        return _step_message(step, got, expected, hint)
    return replace(message, places=places, cause=message.cause or _cause(message.differs, places))


def _error_message(
    error: BaseException, step: RecordedCall | None, around: AnswerContext
) -> Message:
    got, places = exception_text(error), around.places(error)
    known = advice(error, around.context(step.question if step is not None else "", places))
    expected, hint = NO_ERROR, known or _unknown(places, step)
    if wrong := _WRONG_SHAPE.search(got):
        got, expected = f"shape {wrong[1]}", f"shape {wrong[2]}"
    return _step_message(step, got, expected, hint, places, _cause(got, places))


def _unknown(places: tuple[CodeLine, ...], step: RecordedCall | None) -> str:
    """Returns advice about an error that no other advice fits."""
    if places:
        return _OWN if _RAISE.search(places[-1].source) else _STOPS
    return _IN_GRADIENT if step is not None and step.gradients else _NO_LINE


def _cause(got: str, places: tuple[CodeLine, ...]) -> str:
    """Describes a failure's cause in words that do not depend on the sizes of the inputs."""
    return f"{re.sub(r'[0-9]+', '0', got)} {places[-1:]}"


def _step_message(
    step: RecordedCall | None,
    got: str,
    expected: str,
    hint: str,
    places: tuple[CodeLine, ...] = (),
    cause: str = "",
) -> Message:
    """Returns a message about a recorded call; by default, its `cause` is the text of `got`."""
    step_to_take = f"{LIKELY}{hint}" if hint else ""
    differs = got_expected(got, expected)
    return Message(call_with_shapes(step), differs, step_to_take, places=places, cause=cause or got)


def call_with_shapes(step: RecordedCall | None) -> str:
    """Returns a recorded call as text, with shapes instead of tensors."""
    if step is None:
        return ""
    built = step.question if step.built is None else call_text(step.question, step.built)
    if step.built is not None and not step.args:
        return built
    mode = ".eval()" * step.is_eval
    name = built if step.built is None else f"{built}{mode}.forward"
    return ("the gradient of " * step.gradients) + call_text(name, step.args)


def _failure_text(failure: BaseException) -> str:
    if isinstance(failure, AssertionError | AnswerFault):
        return str(failure)
    return exception_text(failure)


_STRANGE: tuple[tuple[type | tuple[type, ...], str, str], ...] = (
    (
        GeneratorType,
        "a generator",
        "`yield` makes the function a generator: collect the parts in a list, and return them "
        "together (`torch.stack`)",
    ),
    (CoroutineType, "a coroutine", "delete `async` in front of `def`"),
    (
        (FunctionType, BuiltinFunctionType, MethodType),
        "a function",
        "a function was returned instead of its result: its parentheses `()` are missing",
    ),
    (nn.Module, "a layer", "a layer was returned instead of its result: call it with the input"),
    (type, "a class", "a class was returned instead of a value: its parentheses `()` are missing"),
)
#: recognized by its module's name, to avoid importing NumPy
_NUMPY = (
    "a NumPy value",
    "a tensor is required: stay with torch, since NumPy can't carry a gradient. Torch's "
    "functions have the same or similar names: `torch.dot`, `torch.exp`, `torch.sum`",
)


def unexpected_result(value: Any) -> tuple[str, str] | None:
    """Describes a result that can't be correct, such as a function, and gives advice.

    Returns None for any other value.
    """
    for kind, what, hint in _STRANGE:
        if isinstance(value, kind):
            if isinstance(value, CoroutineType):
                value.close()  # prevent the warning that it was never awaited
            return what, hint
    return _NUMPY if type(value).__module__.partition(".")[0] == "numpy" else None
