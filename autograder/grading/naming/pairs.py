"""Which two mistakes an answer may have made at once, by what is known of each.

Where one of the two changes nothing, both together answer as the other does, but for few calls. So
a pair is likely if the answer equals each of them where the other one is right; and few are left to
be asked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from operator import itemgetter

from .answered import OF_GRADIENTS, Answered, Call
from .figures import SUMS
from .mistake import Mistake

#: pairs that are asked
_MOST = 100


@dataclass(frozen=True, slots=True)
class Evidence:
    """Calls, one bit each, that return a value: where a mistake is right, where it answers so.

    `behaviour` is equal for mistakes that answer alike.
    """

    right: int
    alike: int
    behaviour: Hashable

    def supports(self, other: Evidence, wrong: int) -> tuple[int, int]:
        """How likely both are, a tuple to compare: both explain wrong calls, more than they miss.

        Each is asked of the calls in which the other is right. A call may be neither: where one
        hides what the other one does.
        """
        own, its = (other.right & self.alike & wrong), (self.right & other.alike & wrong)
        missed = self.right & ~other.alike | other.right & ~self.alike
        return int(bool(own and its)), (own | its).bit_count() - missed.bit_count()


def evidence(
    mistake: Sequence[Answered], answer: Sequence[Answered], right: Sequence[Answered]
) -> Evidence:
    """What is known of a mistake and an answer, from all tests."""
    is_right = alike = 0
    behaviour = []
    for number, (own, came, asked) in enumerate(_calls(mistake, answer, right)):
        behaviour.append((own.raised, own.form, tuple(f"{f:.5g}" for f in own.figures[-SUMS:])))
        if own.raised or came.raised or asked.raised or own.operation in OF_GRADIENTS:
            continue
        is_right |= own.equals(asked) << number
        alike |= own.equals(came) << number
    return Evidence(is_right, alike, tuple(behaviour))


def wrong_calls(answer: Sequence[Answered], right: Sequence[Answered]) -> int:
    """Which calls say something wrong, one bit each."""
    calls = enumerate(_calls(answer, right))
    return sum(came.is_wrong(asked) << number for number, (came, asked) in calls)


def likely_pairs(found: Mapping[Mistake, Evidence], wrong: int) -> Iterator[Mistake]:
    """Two mistakes as one, the likeliest first; of equal ones the lowest rank is told."""
    different: defaultdict[int, dict[Hashable, Mistake]] = defaultdict(dict)
    for mistake, own in sorted(found.items(), key=lambda item: item[0].rank):
        if mistake.change:
            different[id(mistake.change.definition)].setdefault(own.behaviour, mistake)
    pairs = [
        (found[one].supports(found[other], wrong), one, other)
        for mistakes in different.values()
        for one, other in combinations(mistakes.values(), 2)
    ]
    likely = sorted((p for p in pairs if p[0][1] > 0), key=itemgetter(0), reverse=True)
    for _, one, other in likely[:_MOST]:
        both = one.with_(other)
        if both:
            yield both


def _calls(*of_tests: Sequence[Answered]) -> Iterator[tuple[Call, ...]]:
    """The calls of all tests, side by side."""
    for of_test in zip(*of_tests, strict=True):
        yield from zip(*(answered.calls for answered in of_test), strict=False)
