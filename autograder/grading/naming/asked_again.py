"""Calls a wrong answer again, with the same numbers or with smaller ones.

This finds results that depend on chance, on earlier calls, or on the size of the numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from ...sandbox.replies import Batch
from .known import KnownMistakes
from .probe import MAKING, ProbeReplies, events_of
from .record import Call, Request, answered
from .rows import Row
from .unmatched import BY_CALLS_BEFORE, BY_CHANCE, BY_LAYER, NOT_BY_CHANCE, SMALL_NUMBERS

#: the operations that prepare a layer for a call
_PREPARING = (*MAKING, "train", "move")
_FORWARD = "forward"
_CALLS = ("call", _FORWARD)
#: the maximum number of tests to repeat, and of wrong calls to repeat alone; one is not enough,
#: because its results may be equal by chance
_MOST_REPEATED = 3
#: the minimum number of calls that must not be random
_ENOUGH = 3
#: the factor by which the first argument is multiplied
_SMALLER = 1 / 16


class AskedAgain:
    """Calls a wrong answer again."""

    def __init__(self, known: KnownMistakes, question: str, asked: ProbeReplies) -> None:
        self._known, self._question, self._asked = known, question, asked
        self._probe = known.probe(question)
        rights = {test: known.right(question, test) for test in known.tests(question)}
        wrong = [t for t in rights if asked.answered(t).has_another_value_than(rights[t])]
        self._wrong = sorted(wrong, key=lambda test: len(self._probe.requests[test]))

    def rows(self) -> list[Row]:
        """Returns a row if the answer's results depend on one of these three things, else []."""
        if not self._wrong:
            return []
        if self._depends_on_calls():
            return [BY_CALLS_BEFORE]
        if row := self._by_chance():
            return [row]
        return [SMALL_NUMBERS] if self._is_right_for_small_numbers() else []

    def _by_chance(self) -> Row | None:
        """Returns a row if the answer is random where it should not be, or the other way round.

        Only the shortest tests with wrong values are repeated: those in which the solution is never
        random, and those in which it is.
        """
        fixed: list[str] = []
        drawn: list[str] = []
        for test in self._wrong:
            (drawn if self._is_drawn(test) else fixed).append(test)
        for test in fixed[:_MOST_REPEATED]:
            for came, repeated, right, _ in self._repeated(test):
                if came.is_wrong(right) and not came.equals(repeated):
                    return BY_LAYER if came.operation == _FORWARD else BY_CHANCE
        same = [
            came.equals(repeated)
            for test in drawn[:_MOST_REPEATED]
            for came, repeated, right, other in self._repeated(test)
            if came.is_asked and not came.raised and not right.equals(other)
        ]
        return NOT_BY_CHANCE if len(same) >= _ENOUGH and all(same) else None

    def _is_drawn(self, test: str) -> bool:
        """Returns whether the solution's results in a test depend on random numbers."""
        first, second = (self._known.right(self._question, test, time) for time in (0, 1))
        return not first.equals(second)

    def _repeated(self, test: str) -> Iterator[tuple[Call, Call, Call, Call]]:
        """Yields each call in a test: the answer's two results, and the solution's two results.

        The second results are computed with different random numbers.
        """
        replies = self._asked.again(test)
        if replies is not None:
            again = self._probe.answered(test, replies)
            rights = (self._known.right(self._question, test, time).calls for time in (0, 1))
            yield from zip(self._asked.answered(test).calls, again.calls, *rights, strict=True)

    def _depends_on_calls(self) -> bool:
        """Returns whether calls to a layer are wrong only after other calls to the same layer.

        To confirm this, some of the wrong calls are repeated on a new layer, where they must be
        correct.
        """
        found: list[tuple[str, int]] = []
        for test in self._wrong:
            later = [*self._wrong_calls(test)]
            if not all(is_later for _, is_later in later):
                return False
            found += [(test, at) for at, _ in later[:1]]
        for test, at in found[:_MOST_REPEATED]:
            call = self._answer_to(self._alone(test, at))
            if call is None or not call.equals(self._known.right(self._question, test).calls[at]):
                return False
        return bool(found)

    def _is_right_for_small_numbers(self) -> bool:
        """Returns whether wrong calls are right if their first argument is multiplied by 1 / 16.

        One wrong call in each test is repeated.
        """
        found = False
        for test in self._wrong:
            calls = zip(
                self._probe.requests[test],
                self._asked.answered(test).calls,
                self._known.right(self._question, test).calls,
                strict=True,
            )
            wrong = (
                at
                for at, (request, came, right) in enumerate(calls)
                if came.operation in _CALLS and came.is_wrong(right) and _smaller(request)
            )
            at = next(wrong, None)
            if at is None:
                continue
            *ready, last = self._alone(test, at)
            asked = [*ready, _smaller(last) or last]
            call = self._answer_to(asked)
            if call is None or not call.equals(self._known.right_to(asked)):
                return False
            found = True
        return found

    def _alone(self, test: str, at: int) -> list[Request]:
        """Returns a call in a test, after the requests that prepare its layer if there is one."""
        *earlier, asked = self._probe.requests[test][: at + 1]
        ready = [r for r in earlier if r[0] in _PREPARING and asked[1] in r[1:3]]
        return [*ready, asked]

    def _answer_to(self, requests: Sequence[Request]) -> Call | None:
        """Returns the answer's result for the last request, or None if it can't be called."""
        replies = self._asked.ask(Batch.of(requests))
        if replies is None:
            return None
        return answered(events_of(requests, replies)).calls[-1]

    def _wrong_calls(self, test: str) -> Iterator[tuple[int, bool]]:
        """Yields each wrong `forward` call's position, and whether its layer was called before."""
        called: set[object] = set()
        rights = self._known.right(self._question, test).calls
        calls = self._asked.answered(test).calls
        triples = zip(self._probe.requests[test], calls, rights, strict=True)
        for at, ((operation, number, *_), came, right) in enumerate(triples):
            if operation == _FORWARD and came.is_asked and not came.equals(right):
                yield at, number in called
            if operation not in _PREPARING:
                called.add(number)


def _smaller(request: Request) -> Request | None:
    """Returns a call with its first argument multiplied by 1 / 16, or None if it has no numbers."""
    operation, name, (first, *others), *rest = request
    if not isinstance(first, torch.Tensor) or not first.is_floating_point():
        return None
    return operation, name, [first * _SMALLER, *others], *rest
