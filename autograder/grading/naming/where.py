"""Describes which calls are right: the property that these share and the wrong ones do not have.

The description is about the calls, so it is true of any code with the same answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from .call_facts import CALLED, CallFacts

#: the least numbers of different right calls, and of different wrong calls, for a description
_RIGHT, _WRONG = 3, 4
#: the thing that each letter counts
_COUNTED: Mapping[str, str] = {
    "B": "sample",
    "H": "head",
    "G": "head of keys and values",
    "R": "query head for each head of keys and values",
    "T": "token",
    "S": "key",
}


_NO_OTHER = "in no other call that asks for a result"
_ELSEWHERE = "What is different in the other calls? Follow one of them through your code."
#: hints by what is true of the right calls
_LEADS: tuple[tuple[str, str], ...] = (
    (
        r"with one (token|key)$",
        "Take two of them, and follow each row through your code.",
    ),
    (
        r"with one (head|query head|head of)\b",
        "Take two of them, and print the shape of each step.",
    ),
    (r"with one sample$", "Take a batch of two: is each result the one of that sample alone?"),
    (r"where .* is 1$", "Take 2 for it, and follow one number through all that runs along it."),
    (
        r"without a batch|leading dimension",
        "Call it with and without a batch, and print the shape after each step: which one should "
        "be another?",
    ),
    (r"`past` is left out", "Compare it, step by step, with one call on the whole sequence."),
    (r"` is left out", "What happens to it where it is given?"),
    (r"` is given", "What happens where it is left out?"),
    (r" are equal$", "Take two that differ: at which step is one taken for the other?"),
    (r"float(32|64)$|on the CPU", "What do you make yourself? Print its dtype and its device."),
    (r"contiguous", "Give it a transposed tensor: which step depends on the order of memory?"),
)


def where_right(cases: Sequence[CallFacts]) -> str:
    """Returns what is true of the right calls only, in words.

    The condition that explains the most calls is returned. Empty if several do, because each would
    be a guess, or if something that must be refused was not, which is a different mistake.
    """
    if any(case.is_accepted for case in cases):
        return ""
    if len({case.key for case in cases if not case.is_right}) < _WRONG:
        return ""
    found = {words: _explained(cases, holds) for words, holds in _conditions(cases)}
    most = max(found.values(), default=0)
    likely = [words for words, right in found.items() if right == most]
    if most < _RIGHT or len(likely) != 1:
        return ""
    errors = all(case.is_right or case.is_raised for case in cases)
    return f"{'it works' if errors else 'it is right'} {likely[0]} only"


def where_sentence(words: str, cases: Sequence[CallFacts]) -> tuple[str, str]:
    """Returns the sentence for a student from `where_right`, and a hint.

    It is about the calls of the tests; uninformative ones may be right as well.
    """
    what = words.removesuffix(" only")
    holds = next(held for found, held in _conditions(cases) if what.endswith(f" {found}"))
    others = any(case.is_right > held for case, held in zip(cases, holds, strict=True))
    rest = (
        "otherwise only in calls that would hide the mistake, with a size of 1 or two equal sizes"
        if others
        else _NO_OTHER
    )
    lead = next((lead for pattern, lead in _LEADS if re.search(pattern, what)), _ELSEWHERE)
    return f"in the tests {what}, and {rest}", lead


def _explained(cases: Sequence[CallFacts], holds: Sequence[bool]) -> int:
    """Returns how many different right calls meet a condition; 0 if a wrong call does.

    Also 0 if an informative call is right without it, or if another size is 1 in all of these
    calls, because that may be the reason instead.
    """
    pairs = list(zip(cases, holds, strict=True))
    if any(
        held > case.is_right or (case.is_right and case.is_telling) > held for case, held in pairs
    ):
        return 0
    right = [case for case, held in pairs if held]
    letters = right[0].sizes if right else ()
    for x in (x for x in letters if all(case.sizes.get(x) == 1 for case in right)):
        if any((case.sizes.get(x) == 1) != held for case, held in pairs):
            return 0
    return len({case.key for case in right})


def _conditions(cases: Sequence[CallFacts]) -> Iterator[tuple[str, list[bool]]]:
    """Yields conditions in words, with the calls that meet each."""
    for fact in dict.fromkeys(fact for case in cases for fact in case.facts):
        yield fact, [case.facts.get(fact, False) for case in cases]
    for x in (x for x in cases[0].sizes if all(x in case.sizes for case in cases)):
        sizes, one = [case.sizes[x] for case in cases], CALLED.get(x, x)
        yield f"where {one} is even", [size % 2 == 0 for size in sizes]
        yield f"where {one} is 0", [size == 0 for size in sizes]
        yield f"where {one} is not 0", [size != 0 for size in sizes]
        counted = _COUNTED.get(x)
        yield f"with one {counted}" if counted else f"where {one} is 1", [n == 1 for n in sizes]
        yield f"with more than one {counted or one}", [n > 1 for n in sizes]
        for y in (y for y in cases[0].sizes if y != x and all(y in case.sizes for case in cases)):
            yield from _of_two(cases, x, y)


def _of_two(cases: Sequence[CallFacts], x: str, y: str) -> Iterator[tuple[str, list[bool]]]:
    """Yields conditions on two sizes.

    An answer that is right if they are equal need not be right if one is smaller, or twice the
    other: so a right call has to show it.
    """
    one, other = CALLED.get(x, x), CALLED.get(y, y)
    pairs = [(case.sizes[x], case.sizes[y]) for case in cases]
    right = {pair for case, pair in zip(cases, pairs, strict=True) if case.is_right}
    if x < y:
        yield f"where {one} and {other} are equal", [a == b for a, b in pairs]
        yield f"where {one} and {other} differ", [a != b for a, b in pairs]
    if any(a < b for a, b in right):
        yield f"where {one} is at most {other}", [a <= b for a, b in pairs]
    if any(1 < b < a and a % b == 0 for a, b in right):
        multiple = [b > 0 and a % b == 0 for a, b in pairs]
        yield f"where {one} is a multiple of {other}", multiple
