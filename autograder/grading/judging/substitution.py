"""Every question is judged on its own, even where one answer calls another that is wrong.

The wrong one is replaced by a right one, which a worker of its own computes, with the limits of
every worker and without a student's text. It stands in for the wrong one from the statement that
defines that, so that all that is made with it below has the right one too: aliases, tables,
defaults, classes. A call that is not allowed is a fault of the question whose code makes it. Of two
wrong answers that call each other only the earlier is substituted: neither can stand on the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from ...errors import AnswerFault, AnswerRaised
from ...records import Exercise, QuestionResult, Verdict
from ...suite.implementation import Implementation
from ...suite.names import definitions_reached

#: what spoke to the grader without being an answer gets no second try
_NOT_JUDGED_AGAIN = (Verdict.CORRECT, Verdict.MISSING, Verdict.PROTOCOL)


class Reference(Implementation, Protocol):
    """The solution, where what a student asks of it is bounded: in a worker of its own."""

    def begin_question(self, question: str) -> None:
        """What is asked next is for this question, and has a question's time."""


class ReferenceSubstitution:
    """Answers a worker's questions to the solution, for some functions of one exercise."""

    def __init__(self, solution: Reference, names: Sequence[str]) -> None:
        self._solution = solution
        self.names = tuple(names)

    def begin_question(self, question: str) -> None:
        """See `Reference.begin_question`."""
        self._solution.begin_question(question)

    def answer(self, request: tuple[Any, ...]) -> tuple[str, Any]:
        """`("ok", value)`, or `("raised", (class name, text))`; the request is hostile."""
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
        return "raised", ("RuntimeError", "this can't be asked of the grader")


def functions_to_substitute(
    exercise: Exercise, text: str, results: Sequence[QuestionResult], result: QuestionResult
) -> tuple[str, ...]:
    """The functions that a failed answer builds on and that are not right themselves."""
    if result.verdict in _NOT_JUDGED_AGAIN:
        return ()
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
