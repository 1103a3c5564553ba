"""Recognizes answers that give a later call the result of an earlier one.

Such answers keep results in a dictionary with shapes as keys, in an attribute that is computed only
once, or with `functools.lru_cache`, which compares tensors by identity.
"""

from __future__ import annotations

import torch
from torch.utils._pytree import tree_map_only

from .families.words import id_of
from .known import KnownMistakes
from .probe import ProbeReplies
from .record import Call, Request
from .rows import Row
from .where import SHOWN

#: the operations that make several calls
STEPS = ("steps", "layer_steps")
#: the minimum number of calls, and the share of them, that must have the result of an earlier call
_ENOUGH, _MOSTLY = 3, 0.8
#: the rows for an answer that keeps results by the shapes of tensors, or by the tensors themselves
_BY_SHAPE, _BY_TENSOR = (Row.shown(id_of(words), words, lead) for words, lead in SHOWN["kept"])


def of_kept_results(known: KnownMistakes, question: str, answers: ProbeReplies) -> list[Row]:
    """Returns a row for an answer that gives later calls the results of earlier ones.

    If results are kept by shape, calls with equal shapes have equal results even where the
    solution's results differ, except after a caller has changed a result in place. Results without
    any number but 0 say little.
    """
    wrong: list[Request] = []
    equal: list[bool] = []
    before: dict[str, tuple[Call, Call]] = {}
    for test in known.tests(question):
        right, again = (known.right(question, test, time) for time in (0, 1))
        is_drawn = not right.equals(again)
        calls = answers.answered(test).calls, right.calls
        for request, own, asked in zip(known.probe(question).requests[test], *calls, strict=True):
            if not own.equals(asked):
                wrong.append(request)
            has_numbers = any(own.figures) and not own.raised and not asked.raised
            if is_drawn or request[0] != "call" or not has_numbers:
                continue
            own_before, asked_before = before.get(shapes := _shapes_of(request), (own, asked))
            before[shapes] = own, asked
            if not asked.equals(asked_before):
                equal.append(own.form == own_before.form and own.figures == own_before.figures)
    if wrong and all(map(_has_same_objects, wrong)):
        return [_BY_TENSOR]
    return [_BY_SHAPE] if sum(equal) >= max(_ENOUGH, len(equal) * _MOSTLY) else []


def _has_same_objects(request: Request) -> bool:
    """Returns whether a request makes several calls with the same objects as arguments."""
    return request[0] in STEPS and all(after is None for _, after in request[2])


def _shapes_of(request: Request) -> str:
    """Returns a request as text, with the shape of each tensor instead of its numbers."""
    return str(tree_map_only(torch.Tensor, lambda tensor: (tensor.shape, tensor.dtype), request))
