"""Calls a wrong answer again, to find results that depend on chance or on earlier calls."""

from __future__ import annotations

from collections.abc import Iterator

from ...sandbox.replies import Batch
from .known import KnownMistakes
from .probe import MAKING, ProbeReplies, events_of
from .record import answered
from .rows import Row
from .unmatched import BY_CALLS_BEFORE, BY_CHANCE, BY_LAYER

#: the operations that prepare a layer for a call
_PREPARING = (*MAKING, "train", "move")
_FORWARD = "forward"
#: the maximum number of tests to repeat, and of wrong calls to repeat on a new layer; one is not
#: enough, because its results may be equal by chance
_MOST_REPEATED = 3


class AskedAgain:
    """Calls a wrong answer again."""

    def __init__(self, known: KnownMistakes, question: str, asked: ProbeReplies) -> None:
        self._known, self._question, self._asked = known, question, asked
        self._probe = known.probe(question)
        rights = {test: known.right(question, test) for test in known.tests(question)}
        wrong = [t for t in rights if asked.answered(t).has_another_value_than(rights[t])]
        self._wrong = sorted(wrong, key=lambda test: len(self._probe.requests[test]))

    def rows(self) -> list[Row]:
        """Returns a row if the answer's results depend on earlier calls or on chance, else []."""
        if not self._wrong:
            return []
        return [BY_CALLS_BEFORE] if self._depends_on_calls() else self._by_chance()

    def _by_chance(self) -> list[Row]:
        """Returns a row if the random numbers change the answer's results, but not the solution's.

        Only the calls in the shortest tests with wrong values are repeated.
        """
        for test in self._wrong[:_MOST_REPEATED]:
            replies = self._asked.again(test)
            if replies is None:
                return []
            again = self._probe.answered(test, replies)
            rights = (self._known.right(self._question, test, time).calls for time in (0, 1))
            calls = zip(self._asked.answered(test).calls, again.calls, *rights, strict=True)
            for came, repeated, right, other in calls:
                if came.is_wrong(right) and other.equals(right) and not came.equals(repeated):
                    return [BY_LAYER if came.operation == _FORWARD else BY_CHANCE]
        return []

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
            *earlier, asked = self._probe.requests[test][: at + 1]
            # repeat the requests that prepare this layer, too
            ready = [r for r in earlier if r[0] in _PREPARING and asked[1] in r[1:3]]
            alone = [*ready, asked]
            replies = self._asked.ask(Batch.of(alone))
            if replies is None:
                return False
            (*_, call) = answered(events_of(alone, replies)).calls
            if not call.equals(self._known.right(self._question, test).calls[at]):
                return False
        return bool(found)

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
