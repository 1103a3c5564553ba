"""From a failed check to what the student reads: got, expected, where, and what to do.

Before anything is explained, the failure is asked what it is: whether an error was expected, what
came back, whether the answer agrees with itself, and whether there are numbers to speak of. What a
check says of its subject is told where none of these is the cause.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch

from ..errors import AnswerFault, AnswerForbidden, AnswerNotImplemented, AnswerRaised
from ..suite import raised
from ..suite.calls import call_text
from ..suite.compare import difference
from ..suite.failures import WrongAnswer, check_numbers
from ..suite.message import LIKELY, NO_ERROR, About, Message, Place, got_expected
from ..worker.execution import tensors_in
from .advice import Context, advice, said_by
from .pasting import pasteable
from .places import Locate, locate_cell, places_of
from .recording import Asked
from .results import CheckedTest
from .strange_results import what_came_back
from .time_limit import TooSlow
from .weights import differing_names

#: of our own, where a gradient is asked for
_WRONG_SHAPE = re.compile(r"the result has shape (.*), expected (.*)")
_DOCSTRING = "what the docstring says"
_NONE = (
    "the function ends without `return`, or the `return` is in a branch that did not run: a "
    "function without one gives None"
)
#: raised by a check's own code, when it goes on with what came back
_NOT_TO_USE = (RuntimeError, ValueError, TypeError, IndexError, KeyError, AttributeError)
_SHAPES = "look at the type and the shape of the result, and of each tensor in it"
#: where nothing more is known of an error: the student's own `raise`, or any line
_STOPS = (
    "the call ends in this line: make it yourself, and print the type and the shape of each part "
    "of the line just above it"
)
_OWN = "this error ends the call: look at the condition that leads to the line where it is raised"
_BY_CHANCE = (
    "something in it is random, or was never given a value: dropout that is always on "
    "(`F.dropout` needs `training=self.training`), `torch.rand`, `torch.empty`"
)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where answers come from: their namespace, how its lines are found, what is known of them.

    `retry` is how the failing call of a question is made again, with the name in place of `{}`.
    """

    namespace: Mapping[str, Any]
    locate: Locate = locate_cell
    signatures: Mapping[str, str] | None = None
    exercises: tuple[str, ...] = ()
    retry: str = 'retry("{}")'

    def context(self, question: str, places: tuple[Place, ...]) -> Context:
        """What advice needs to know of an error that was raised at these places."""
        names = [name for name in self.namespace if not name.startswith("_")]
        source = places[-1].source if places else ""
        answer = self.namespace.get(question)
        return Context(question, self.signatures or {}, names, self.exercises, source, answer)

    def places(self, error: BaseException | None) -> tuple[Place, ...]:
        """The student's own lines that an error passed through."""
        traceback = error.__traceback__ if error is not None else None
        return places_of(traceback, self.namespace, self.locate)


def explained(
    name: str,
    failure: BaseException,
    step: Asked | None,
    around: Surroundings,
    by_chance: bool = False,
) -> CheckedTest:
    """The result of a check that failed with `failure`, after the answer's last step.

    `by_chance` says that a right answer is random in this check.
    """
    told = _message(failure, step, around, by_chance)
    call = ""
    if step is not None and not isinstance(failure, AnswerForbidden):
        call = pasteable(step, around.namespace) or around.retry.format(step.question)
    return CheckedTest(name, False, str(told), call, told.places, told.cause)


def _message(
    failure: BaseException, step: Asked | None, around: Surroundings, by_chance: bool
) -> Message:
    if isinstance(failure, TooSlow):
        return _too_slow(failure, step, around)
    if (error := origin(failure)) is not None:
        return _raised(error, step, around)
    wrong = failure if isinstance(failure, WrongAnswer) else None
    if wrong is not None and wrong.fault is not None:
        return _told_of_a_fault(wrong, wrong.fault, step, around)
    if wrong is not None and wrong.message.about in (About.ERROR, About.WEIGHTS):
        return wrong.message
    if step is not None and step.returned:
        for look in (_nothing, _strange, _itself, _no_numbers):
            if (message := look(step, by_chance)) is not None:
                return message
    if step is not None and isinstance(failure, AnswerRaised):
        hint = raised.advice(failure, step.question)
        return _of(step, str(failure), NO_ERROR, hint)
    if step is not None and isinstance(failure, _NOT_TO_USE):
        said = f"what the check can't use: {type(failure).__name__}: {failure}"
        return _of(step, said, _DOCSTRING, _SHAPES)
    return wrong.message if wrong is not None else Message("", _told(failure))


def _nothing(step: Asked, by_chance: bool) -> Message | None:
    return _of(step, "None", "a result", _NONE) if step.value is None else None


def _strange(step: Asked, by_chance: bool) -> Message | None:
    foreign = what_came_back(step.value)
    return _of(step, foreign[0], _DOCSTRING, foreign[1]) if foreign else None


def _itself(step: Asked, by_chance: bool) -> Message | None:
    """Two equal calls, if they differ where chance has no part: nothing else can be said then."""
    if by_chance or step.again is None or not tensors_in(step.value):
        return None
    try:
        one, other = (_with_numbers(step.again()) for _ in range(2))
    except AnswerFault:
        return None
    if (text := difference(other, one)) is None:
        return None
    text = text.replace("got       ", "then      ").replace("expected  ", "first     ")
    text = text.replace(": got ", ": then ").replace(", expected ", ", first ")
    told = f"two different results of the same call:\n{text}"
    return _of(step, told, "the same result, each time", _BY_CHANCE, cause="by chance")


def _with_numbers(value: Any) -> Any:
    """A value in which nan equals nan."""
    if isinstance(value, tuple | list):
        return tuple(map(_with_numbers, value))
    is_float = isinstance(value, torch.Tensor) and value.is_floating_point() and not value.is_meta
    return value.detach().nan_to_num(nan=0.0) if is_float else value


def _no_numbers(step: Asked, by_chance: bool) -> Message | None:
    if any(bool(tensor.isnan().any()) for tensor in tensors_in(step.args) if not tensor.is_meta):
        return None
    try:
        check_numbers(called(step), step.value)
    except WrongAnswer as wrong:
        return wrong.message
    return None


def _too_slow(failure: TooSlow, step: Asked | None, around: Surroundings) -> Message:
    hint = "a loop never ends, or does far too much: does its condition ever become false?"
    places = around.places(failure.__cause__)
    return _of(step, f"no result: it {failure}", "a result", hint, places, "too slow")


def origin(failure: BaseException) -> BaseException | None:
    """What the answer itself raised, if that is why the check failed."""
    if isinstance(failure, AnswerFault) and failure.__cause__ is not None:
        return failure.__cause__
    return failure if isinstance(failure, SystemExit | KeyboardInterrupt) else None


def is_stub(failure: BaseException) -> bool:
    """Whether a `NotImplementedError` was raised by the student's own code, not by torch."""
    if not isinstance(failure, AnswerNotImplemented) or failure.__cause__ is None:
        return False
    traceback = failure.__cause__.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    module = "" if traceback is None else str(traceback.tb_frame.f_globals.get("__name__"))
    return not module.startswith("torch")


def _told_of_a_fault(
    wrong: WrongAnswer, fault: AnswerFault, step: Asked | None, around: Surroundings
) -> Message:
    """What a check says of an error keeps its words: it knows which error was expected."""
    told, places = wrong.message, around.places(fault.__cause__)
    if step is not None and told.about is About.WEIGHTS and (differing := differing_names(step)):
        got, expected, hint = differing
        return _of(step, got, expected, hint)
    return replace(told, places=places, cause=told.cause or _cause(told.differs, places))


def _raised(error: BaseException, step: Asked | None, around: Surroundings) -> Message:
    said, places = said_by(error), around.places(error)
    is_own = bool(places) and places[-1].source.startswith("raise")
    known = advice(error, around.context(step.question if step is not None else "", places))
    expected, hint = NO_ERROR, known or (_OWN if is_own else _STOPS)
    if wrong := _WRONG_SHAPE.search(said):
        said, expected = f"shape {wrong[1]}", f"shape {wrong[2]}"
        hint = "the result has another shape than the question asks for: see its docstring"
    return _of(step, said, expected, hint, places, _cause(said, places))


def _cause(said: str, places: tuple[Place, ...]) -> str:
    """Equal for one mistake that met inputs of several sizes."""
    return f"{re.sub(r'[0-9]+', '0', said)} {places[-1:]}"


def _of(
    step: Asked | None,
    got: str,
    expected: str,
    hint: str,
    places: tuple[Place, ...] = (),
    cause: str = "",
) -> Message:
    """The message of a step; what came is its cause, where there is no other."""
    step_to_take = f"{LIKELY}{hint}" if hint else ""
    differs = got_expected(got, expected)
    return Message(called(step), differs, step_to_take, places=places, cause=cause or got)


def called(step: Asked | None) -> str:
    """The call of a step, with shapes for tensors."""
    if step is None:
        return ""
    built = step.question if step.built is None else call_text(step.question, step.built)
    if step.built is not None and not step.args:
        return built
    name = built if step.built is None else f"{built}.forward"
    return ("the gradient of " * step.gradients) + call_text(name, step.args)


def _told(failure: BaseException) -> str:
    if isinstance(failure, AssertionError | AnswerFault):
        return str(failure)
    return said_by(failure)
