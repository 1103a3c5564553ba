"""Every question is judged on its own, even where one answer calls another that is wrong.

The wrong one is replaced by a right one that the grader computes. Only earlier questions
are substituted, so that no two answers can stand on each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from ...errors import AnswerFault, AnswerRaised
from ...records import Exercise, QuestionResult, Verdict
from ...suite.implementation import Implementation
from ...suite.names import definitions_reached
from ...worker.execution import tensors_in

#: of arguments together, of one dimension or number, and of what may come of them
_MAX_ELEMENTS, _MAX_SIZE, _MAX_RESULT = 50_000, 512, 26_000_000
#: what spoke to the grader without being an answer gets no second try
_NOT_JUDGED_AGAIN = (Verdict.CORRECT, Verdict.FORBIDDEN, Verdict.MISSING, Verdict.PROTOCOL)


class ReferenceSubstitution:
    """Answers a worker's questions to the solution, for some functions of one exercise."""

    def __init__(self, solution: Implementation, names: Sequence[str]) -> None:
        self._solution = solution
        self.names = tuple(names)

    def answer(self, request: tuple[Any, ...]) -> tuple[str, Any]:
        """`("ok", value)`, or `("raised", (class name, text))`; the request is hostile."""
        try:
            match request:
                case ("call", str(name), list(args)) if self._is_fair(name, args):
                    return "ok", self._solution.call(name, args).value
                case ("gradients", str(name), list(args), list(seeds)) if self._is_fair(name, args):
                    return "ok", list(self._solution.gradients(name, args, tuple(seeds)).inputs)
        except AnswerRaised as raised:
            return "raised", (raised.type_name, str(raised))
        except AnswerFault as fault:
            return "raised", ("RuntimeError", str(fault))
        return "raised", ("RuntimeError", "this can't be asked of the grader")

    def _is_fair(self, name: str, args: Sequence[Any]) -> bool:
        """Small enough that the grader's own memory and time are safe."""
        tensors = tensors_in(list(args))
        return (
            name in self.names
            and all(tensor.device.type == "cpu" for tensor in tensors)
            and sum(tensor.numel() for tensor in tensors) <= _MAX_ELEMENTS
            and all(size <= _MAX_SIZE for tensor in tensors for size in tensor.shape)
            and all(number <= _MAX_SIZE for number in _whole_numbers(args))
            and _largest_result(tensors) <= _MAX_RESULT
        )


def _whole_numbers(args: Sequence[Any]) -> Iterator[int]:
    """Whatever may become a size: numbers at any depth, and tensors that stand for one."""
    for arg in args:
        if isinstance(arg, int):
            yield arg
        elif isinstance(arg, torch.Tensor):
            if arg.numel() == 1 and not arg.is_floating_point() and not arg.is_complex():
                yield int(arg)
        elif isinstance(arg, tuple | list):
            yield from _whole_numbers(arg)


def _largest_result(tensors: Sequence[torch.Tensor]) -> int:
    """Elements of what comes of tensors that are broadcast, and then multiplied as matrices."""
    ranks = max((tensor.dim() for tensor in tensors), default=0)
    shapes = [(1,) * (ranks - tensor.dim()) + tuple(tensor.shape) for tensor in tensors]
    largest: list[int] = [max(sizes) for sizes in zip(*shapes, strict=True)]
    return math.prod(largest) * max(largest[-2:], default=1)


def functions_to_substitute(
    exercise: Exercise, text: str, results: Sequence[QuestionResult], result: QuestionResult
) -> tuple[str, ...]:
    """The earlier functions that a failed answer builds on and that are not right themselves."""
    if result.verdict in _NOT_JUDGED_AGAIN:
        return ()
    functions = {question.name for question in exercise.questions if not question.is_class}
    reached = definitions_reached(text, result.question)
    earlier = results[: results.index(result)]
    return tuple(
        other.question
        for other in earlier
        if other.verdict is not Verdict.CORRECT and other.question in functions & reached
    )
