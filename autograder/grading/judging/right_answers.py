"""Judges every question by its own code, even if an answer calls another answer that is wrong.

The wrong answer is replaced with the solution, which a separate worker runs with the usual limits
and without any student's text. The replacement takes effect at the statement that defines the wrong
answer, so aliases, tables, defaults and classes that are made later also use the solution. A call
that is not allowed counts against the question whose code makes it. If two wrong answers call each
other, only the earlier answer is replaced.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from ...errors import AnswerFault, AnswerRaised
from ...records import Exercise, QuestionResult, Verdict
from ...suite.implementation import Implementation
from ...suite.names import definitions_reached

#: verdicts after which a question is not judged again; PROTOCOL means an invalid message to the
#: grader
NOT_JUDGED_AGAIN = (Verdict.CORRECT, Verdict.MISSING, Verdict.PROTOCOL)


class Reference(Implementation, Protocol):
    """The solution in a separate worker, which limits what a student's code can request from it."""

    def begin_question(self, question: str) -> None:
        """Begins a question, whose requests have a full time budget."""


class ReferenceSubstitution:
    """Answers requests from a worker that uses the solution's versions of some functions."""

    def __init__(self, solution: Reference, names: Sequence[str]) -> None:
        self._solution = solution
        self.names = tuple(names)

    def begin_question(self, question: str) -> None:
        self._solution.begin_question(question)

    def answer(self, request: tuple[Any, ...]) -> tuple[str, Any]:
        """Returns `("ok", value)` or `("raised", (class name, text))`; checks the request."""
        try:
            match request:
                case ("call", str(name), list(args)) if name in self.names:
                    return "ok", self._solution.call(name, args).value
                case ("gradients", str(name), list(args), list(seeds)) if name in self.names:
                    return "ok", list(self._solution.gradients(name, args, tuple(seeds)).inputs)
        except AnswerRaised as raised:
            return "raised", (raised.type_name, str(raised))
        except AnswerFault as fault:
            return "raised", ("RuntimeError", str(fault))
        return "raised", ("RuntimeError", "the grader does not accept this request")


def functions_to_substitute(
    exercise: Exercise, text: str, results: Sequence[QuestionResult], result: QuestionResult
) -> tuple[str, ...]:
    """Returns the functions that a failed answer uses and that are themselves wrong."""
    functions = {question.name for question in exercise.questions if not question.is_class}
    reached = definitions_reached(text, result.question)
    place = results.index(result)
    return tuple(
        other.question
        for number, other in enumerate(results)
        if other.verdict is not Verdict.CORRECT
        and other.question != result.question
        and other.question in functions & reached
        and (number < place or result.question not in definitions_reached(text, other.question))
    )
