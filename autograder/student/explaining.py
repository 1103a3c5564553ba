"""From a failed check to what the student reads: got, expected, where, and what to do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..errors import AnswerFault, AnswerNotImplemented, AnswerRaised
from ..suite import raised
from ..suite.calls import call_text
from ..suite.failures import WrongAnswer
from .advice import Context, advice, said_by
from .pasting import pasteable
from .places import Locate, locate_cell, places_of
from .recording import Asked
from .results import CheckedTest, Place
from .strange_results import what_came_back
from .time_limit import TooSlow
from .weights import differing_names

#: of our own, where a gradient is asked for
_WRONG_SHAPE = re.compile(r"the result has shape (.*), expected (.*)")
_NONE = (
    "the function ends without `return`, or the `return` stands in a branch that did not run: a "
    "function without one gives None"
)
#: raised by a check's own code, when it goes on with what came back
_NOT_TO_USE = (RuntimeError, ValueError, TypeError, IndexError, KeyError, AttributeError)
_SHAPES = "look at the type and the shape of what comes back, and of each tensor in it"
#: where nothing more is known of an error: the student's own `raise`, or any line
_STOPS = (
    "the call ends in this line: make it by yourself, and print the type and the shape of each "
    "part of the line just above it"
)
_OWN = "this error ends the call: look at the condition that leads to the line where it is raised"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where answers come from: their namespace, how its lines are found, what is known of them."""

    namespace: Mapping[str, Any]
    locate: Locate = locate_cell
    signatures: Mapping[str, str] | None = None
    exercises: tuple[str, ...] = ()

    def context(self, question: str) -> Context:
        """What advice needs to know."""
        names = [name for name in self.namespace if not name.startswith("_")]
        return Context(question, self.signatures or {}, names, self.exercises)


def explained(
    name: str, failure: BaseException, step: Asked | None, around: Surroundings
) -> CheckedTest:
    """The result of a check that failed with `failure`, after the answer's last step."""
    call = pasteable(step, around.namespace) if step is not None else ""
    found = CheckedTest(name, False, call=call)
    if isinstance(failure, TooSlow):
        return _too_slow(found, failure, step, around)
    error = origin(failure)
    if error is not None:
        return _raised(found, error, step, around)
    if step is not None and step.returned and step.value is None:
        text = _lines(_called(step), "None", "a result", _NONE)
        return replace(found, message=text, cause="None")
    if step is not None and step.returned and (foreign := what_came_back(step.value)):
        what, advised = foreign
        text = _lines(_called(step), what, "what the docstring says", advised)
        return replace(found, message=text, cause=what)
    if step is not None and isinstance(failure, AnswerRaised):
        hint = raised.advice(failure, step.question)
        text = _lines(_called(step), str(failure), "a result, and no error", hint)
        return replace(found, message=text, cause=str(failure))
    if step is not None and isinstance(failure, _NOT_TO_USE):
        said = f"what the check can't use: {type(failure).__name__}: {failure}"
        text = _lines(_called(step), said, "what the docstring says", _SHAPES)
        return replace(found, message=text, cause=said)
    cause = failure.cause if isinstance(failure, WrongAnswer) else ""
    return replace(found, message=_told(failure), cause=cause)


def _too_slow(
    found: CheckedTest, failure: TooSlow, step: Asked | None, around: Surroundings
) -> CheckedTest:
    cause = failure.__cause__
    traceback = cause.__traceback__ if cause is not None else None
    places = places_of(traceback, around.namespace, around.locate)
    hint = "a loop never ends, or does far too much: does its condition ever become false?"
    text = _lines(_called(step), f"no result: it {failure}", "a result", hint, places)
    return replace(found, message=text, places=places, cause="too slow")


def origin(failure: BaseException) -> BaseException | None:
    """What the answer itself raised, if that is why the check failed."""
    for fault in (failure, failure.__context__):
        if isinstance(fault, AnswerFault) and fault.__cause__ is not None:
            return fault.__cause__
    if isinstance(failure, SystemExit | KeyboardInterrupt):
        return failure
    return None


def is_stub(failure: BaseException) -> bool:
    """Whether a `NotImplementedError` was raised by the student's own code, not by torch."""
    if not isinstance(failure, AnswerNotImplemented) or failure.__cause__ is None:
        return False
    traceback = failure.__cause__.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    module = "" if traceback is None else str(traceback.tb_frame.f_globals.get("__name__"))
    return not module.startswith("torch")


def _raised(
    found: CheckedTest, error: BaseException, step: Asked | None, around: Surroundings
) -> CheckedTest:
    said = said_by(error)
    places = places_of(error.__traceback__, around.namespace, around.locate)
    question = step.question if step is not None else ""
    is_own = bool(places) and places[-1].source.startswith("raise")
    known = advice(error, around.context(question))
    expected, hint = "a result, and no error", known or (_OWN if is_own else _STOPS)
    if step is not None and not step.args and (differing := differing_names(step)):
        said, expected, hint = differing
        places = ()
    if wrong := _WRONG_SHAPE.search(said):
        said, expected = f"shape {wrong[1]}", f"shape {wrong[2]}"
        hint = "the result has another shape than the question asks for: see its docstring"
    text = _lines(_called(step), said, expected, hint, places)
    return replace(found, message=text, places=places, cause=_cause(said, places))


def _cause(said: str, places: tuple[Place, ...]) -> str:
    """Equal for one mistake that met inputs of several sizes."""
    return f"{re.sub(r'[0-9]+', '0', said)} {places[-1:]}"


def place_lines(places: tuple[Place, ...]) -> list[str]:
    """One line for each place: where, in which function, and the source line."""
    words = ["at       "] if len(places) < 2 else ["called at", "raised at"]
    return [
        f"{word} {place.where}{f' in {place.function}' * bool(place.function)}: {place.source}"
        for word, place in zip(words, places, strict=False)
    ]


def _lines(call: str, got: str, expected: str, hint: str, places: tuple[Place, ...] = ()) -> str:
    lines = [f"{call}:"] * bool(call) + [f"got       {got}", *place_lines(places)]
    lines.append(f"expected  {expected}")
    return "\n".join(lines + [f"likely: {hint}"] * bool(hint))


def _called(step: Asked | None) -> str:
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
