"""Where an answer is wrong: what its right calls have in common, and its wrong ones have not.

It is said of the calls themselves, so it is true of any code that answers them so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from itertools import chain, repeat
from typing import Any

import torch

from ...suite.traits import Ids, Input, Pair, Size, Sizes, Tensor, Traits
from ...suite.traits.inputs import LEADING, letters_of
from .answered import OF_GRADIENTS, Call
from .events import Request

#: calls of as many different sizes say it, right ones and wrong ones
_RIGHT, _WRONG = 3, 4
_CALLS = ("call", "forward")
_ON_CPU = "on the CPU"
#: letters that no docstring has
_CALLED: Mapping[str, str] = {
    "R": "H / G",
    "F": "the hidden size",
    "c": "the size of the context's tokens",
    "n": "the size of a block",
    "p": "half the size of a head",
    "w": "the window",
}
#: what letters count
_COUNTED: Mapping[str, str] = {
    "B": "sample",
    "H": "head",
    "G": "head of keys and values",
    "R": "query head for each head of keys and values",
    "T": "token",
    "S": "key",
}


_NO_OTHER = "in no other call that was made"
_ELSEWHERE = "What is different in the other calls? Follow one of them through your code."
#: what leads on from what holds of the right calls
_LEADS: tuple[tuple[str, str], ...] = (
    (
        r"with one (token|key)$",
        "Take two of them, and follow each row through your code, and what is hidden from it.",
    ),
    (
        r"with one (head|query head|head of)\b",
        "Take two of them, and print the shape of each step.",
    ),
    (r"with one sample$", "Take a batch of two: is each result the one of that sample alone?"),
    (r"where .* is 1$", "Take 2 for it, and follow one number through all that runs along it."),
    (
        r"without a batch|leading dimension",
        "Which step counts dimensions from the left, or runs over the first one?",
    ),
    (r"`past` is left out", "Compare it, step by step, with one call on the whole sequence."),
    (r"` is left out", "What happens to it where it is given?"),
    (r"` is given", "What happens where it is left out?"),
    (r" are equal$", "Take two that differ: at which step is one taken for the other?"),
    (r"float(32|64)$|on the CPU", "What do you make yourself? Print its dtype and its device."),
    (r"contiguous", "Give it a transposed tensor: which step depends on the order of memory?"),
)


@dataclass(frozen=True, slots=True)
class Case:
    """One call: its sizes by letter, what else is known of it, and whether the answer is right.

    It `is_raised` where an error came in the place of a value - the `error`, if its text is known -
    and `is_accepted` where it had to come.

    One that tells nothing may be right where others are wrong: of gradients, of numbers that no
    memory holds, or where a size is 1, as with one key, which has all the weight.
    """

    sizes: Mapping[str, int]
    facts: Mapping[str, bool]
    is_right: bool
    is_telling: bool
    is_raised: bool
    is_accepted: bool
    error: str = ""

    @property
    def named_sizes(self) -> Mapping[str, int]:
        """The sizes as a question calls them: a letter, or in words; all heads are H."""
        named = {_CALLED.get(x, x): size for x, size in self.sizes.items()}
        if {"G", "R"} <= self.sizes.keys():
            named["H"] = self.sizes["G"] * self.sizes["R"]
        return named

    @property
    def key(self) -> object:
        """Equal for calls that are alike."""
        return tuple(sorted(self.sizes.items())), tuple(sorted(self.facts.items()))


def where_right(cases: Sequence[Case]) -> str:
    """What holds of the calls that are answered right, and of no other that tells, in words.

    What holds of the most. Nothing where several things would do, each would be a guess, and where
    what has to be refused was not: that is another mistake.
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


def told_of(words: str, cases: Sequence[Case]) -> tuple[str, str]:
    """What a student reads of `where_right`: the sentence, and what leads on from it.

    Calls that tell little may be right as well.
    """
    what = words.removesuffix(" only")
    holds = next(held for found, held in _conditions(cases) if what.endswith(f" {found}"))
    others = any(case.is_right > held for case, held in zip(cases, holds, strict=True))
    rest = "else only in calls that tell little, as where a size is 1" if others else _NO_OTHER
    lead = next((lead for pattern, lead in _LEADS if re.search(pattern, what)), _ELSEWHERE)
    return f"{what}, and {rest}", lead


def _explained(cases: Sequence[Case], holds: Sequence[bool]) -> int:
    """Of how many right calls, all different, something holds; 0 where it does of a wrong one.

    Or where one is right without it that tells.
    """
    pairs = list(zip(cases, holds, strict=True))
    if any(
        held > case.is_right or (case.is_right and case.is_telling) > held for case, held in pairs
    ):
        return 0
    return len({case.key for case, held in pairs if held})


def _conditions(cases: Sequence[Case]) -> Iterator[tuple[str, list[bool]]]:
    """What may hold of some calls, in words, and of which it does."""
    for fact in dict.fromkeys(fact for case in cases for fact in case.facts):
        yield fact, [case.facts.get(fact, False) for case in cases]
    for x in (x for x in cases[0].sizes if all(x in case.sizes for case in cases)):
        sizes, one = [case.sizes[x] for case in cases], _CALLED.get(x, x)
        yield f"where {one} is even", [size % 2 == 0 for size in sizes]
        yield f"where {one} is 0", [size == 0 for size in sizes]
        yield f"where {one} is not 0", [size != 0 for size in sizes]
        counted = _COUNTED.get(x)
        yield f"with one {counted}" if counted else f"where {one} is 1", [n == 1 for n in sizes]
        yield f"with more than one {counted or one}", [n > 1 for n in sizes]
        for y in (y for y in cases[0].sizes if y != x and all(y in case.sizes for case in cases)):
            yield from _of_two(cases, x, y)


def _of_two(cases: Sequence[Case], x: str, y: str) -> Iterator[tuple[str, list[bool]]]:
    """What may hold of two sizes.

    Who is right where they are equal need not be right where one is less, or twice the other: so a
    right call has to show it.
    """
    one, other = _CALLED.get(x, x), _CALLED.get(y, y)
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


@dataclass(frozen=True, slots=True)
class Calls:
    """What a question says of its calls: shapes in letters, and what may be left out or set."""

    traits: Traits
    solution: Any

    def cases(
        self,
        requests: Sequence[Request],
        answer: Sequence[Call],
        right: Sequence[Call],
        errors: Sequence[str] = (),
    ) -> Iterator[Case]:
        """The calls of one test, and what each one raised, if that is known."""
        built: dict[Any, Sequence[Any]] = {}
        texts = chain(errors, repeat(""))
        for request, came, asked in zip(requests, answer, right, strict=True):
            error = next(texts)
            operation, number, *rest = request
            if operation == "build":
                built[number] = rest[1]
            elif operation in ("copy", "restore"):
                built[rest[0]] = built.get(number, ())
            elif operation in (*_CALLS, *OF_GRADIENTS) and not _is_refused(came, asked):
                sizes, facts = self._told(built.get(number, ()), rest[0])
                is_telling = operation in _CALLS and facts.get(_ON_CPU, True)
                is_telling &= all(size != 1 for size in sizes.values())
                is_right, is_accepted = came.equals(asked), bool(asked.raised)
                is_raised = came.is_failing(asked)
                yield Case(sizes, facts, is_right, is_telling, is_raised, is_accepted, error)

    def _told(
        self, given: Sequence[Any], args: Sequence[Any]
    ) -> tuple[Mapping[str, int], Mapping[str, bool]]:
        """Sizes and facts of one call; `given` is what a layer was built with."""
        pairs = [*_paired(self.traits.build or (), given), *_paired(self.traits.inputs, args)]
        return _sizes(pairs), {**_facts(pairs), **dict(self._switches(given, args))}

    def _switches(self, given: Sequence[Any], args: Sequence[Any]) -> Iterator[tuple[str, bool]]:
        """What is left out of a call, and how a layer was built."""
        is_layer = isinstance(self.solution, type)
        called = self.solution.forward if is_layer else self.solution
        for function, values in ((called, args), (self.solution, given if is_layer else ())):
            parameters = [p for p in signature(function).parameters.values() if p.name != "self"]
            for at, parameter in enumerate(parameters if values else ()):
                name, default = parameter.name, parameter.default
                value = values[at] if at < len(values) else default
                if default is None:
                    yield f"where `{name}` is given", value is not None
                    yield f"where `{name}` is left out", value is None
                elif isinstance(default, bool):
                    yield f"with `{name}={default}`", value is default
                    yield f"with `{name}={not default}`", value is not default


def _is_refused(came: Call, asked: Call) -> bool:
    """Whether an error came that is asked for."""
    return bool(asked.raised) and came.equals(asked)


def _paired(inputs: Sequence[Input], args: Sequence[Any]) -> Iterator[tuple[Input, Any]]:
    for item, arg in zip(inputs, args, strict=False):
        if isinstance(item, Pair) and isinstance(arg, tuple | list) and len(arg) == 2:
            yield from zip((item.first, item.second), arg, strict=True)
        else:
            yield item, arg


def _facts(pairs: Sequence[tuple[Input, Any]]) -> Mapping[str, bool]:
    """What holds of the tensors of a call."""
    tensors = [arg for _, arg in pairs if isinstance(arg, torch.Tensor)]
    if not tensors:
        return {}
    dtypes = {tensor.dtype for tensor in tensors if tensor.is_floating_point()}
    found = {
        "for tensors that are contiguous": all(tensor.is_contiguous() for tensor in tensors),
        "in float32": dtypes == {torch.float32},
        "in float64": dtypes == {torch.float64},
        _ON_CPU: all(tensor.device.type == "cpu" for tensor in tensors),
    }
    leading = [
        arg.dim() - len(item.shape.split()) + 1
        for item, arg in pairs
        if isinstance(item, Tensor) and LEADING in item.shape and isinstance(arg, torch.Tensor)
    ]
    if leading:
        found |= {
            "without a batch": leading[0] == 0,
            "with a batch": leading[0] > 0,
            "with at most one leading dimension": leading[0] <= 1,
            "with exactly one leading dimension": leading[0] == 1,
        }
    return found


def _sizes(pairs: Sequence[tuple[Input, Any]]) -> dict[str, int]:
    """What each letter is in one call, as far as its arguments tell."""
    equations = [found for item, arg in pairs for found in _equations(item, arg)]
    known: dict[str, int] = {}
    while True:
        before = len(known)
        for text, letters, value in equations:
            unknown = [x for x in letters if x not in known]
            if len(unknown) == 1:
                base, one = (Sizes({**known, unknown[0]: n}).of(text) for n in (0, 1))
                if one > base:
                    known[unknown[0]] = (value - base) // (one - base)
        if len(known) == before:
            return known


def _equations(item: Input, arg: Any) -> Iterator[tuple[str, list[str], int]]:
    """Texts in letters and what they are: of a tensor one for each dimension."""
    if isinstance(item, Size) and isinstance(arg, int):
        yield item.text, item.letters, arg
    if isinstance(item, Tensor | Ids) and isinstance(arg, torch.Tensor):
        parts = [part for part in item.shape.split() if part != LEADING]
        for part, size in zip(reversed(parts), reversed(arg.shape), strict=False):
            yield part, letters_of(part), size
