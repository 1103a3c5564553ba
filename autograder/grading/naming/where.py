"""Describes a property that all correct calls have and no wrong call has.

The description is about calls, and not about code, so it is true of any code with the same results.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any

import torch

from ...suite.traits import Ids, Input, InputPair, OptionalInput, Size, Sizes, Tensor, Traits
from ...suite.traits.inputs import LEADING, letters_of
from .record import OF_GRADIENTS, Call, Request

#: sentences and hints about answers that no known mistake explains
SHOWN: Mapping[str, Any] = tomllib.loads(
    Path(__file__).with_name("shown.toml").read_text(encoding="utf-8")
)
_CALLED: Mapping[str, str] = SHOWN["called"]
_CALLS = ("call", "forward")
_ON_CPU = "on the CPU"
#: letters for the ratio of two sizes, every value of which is equally informative, even 1
_RATIOS = "R"
#: the minimum numbers of different correct calls and different wrong calls that a description needs
_RIGHT, _WRONG = 3, 4
_NO_OTHER = "in no other call that should return a result"
_HIDING = "otherwise only in calls that hide the mistake, with a size of 1 or two equal sizes"


@dataclass(frozen=True, slots=True)
class CallFacts:
    """A call: its sizes by letter, other facts about it, and whether the answer is right.

    `is_raised` is true if an unexpected error was raised, and `is_accepted` is true if the expected
    error was not raised.

    `is_telling` is false for calls in which a wrong answer may be correct by luck: calls that ask
    for gradients, calls on a device without numbers, calls in which a size is 1 (a single key gets
    all the weight), and calls in which a leading size is 1 or equals another size.
    """

    sizes: Mapping[str, int]
    facts: Mapping[str, bool]
    is_right: bool
    is_telling: bool
    is_raised: bool
    is_accepted: bool

    @property
    def key(self) -> object:
        """A key that is the same for all calls with equal sizes and equal facts."""
        return tuple(sorted(self.sizes.items())), tuple(sorted(self.facts.items()))


#: a call's sizes, other facts about it, and its leading sizes
RequestFacts = tuple[Mapping[str, int], Mapping[str, bool], tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class CallDeclaration:
    """A question's declaration of its calls: the shapes in letters, and the optional arguments."""

    traits: Traits
    solution: Any

    def facts(self, requests: Sequence[Request]) -> list[RequestFacts | None]:
        """Returns the sizes and other facts of a test's requests, or None if there are none."""
        built: dict[Any, Sequence[Any]] = {}
        found: list[RequestFacts | None] = []
        for operation, number, *rest in requests:
            if operation == "build":
                built[number] = rest[1]
            elif operation == "restore":
                built[rest[0]] = built.get(number, ())
            is_call = operation in (*_CALLS, *OF_GRADIENTS)
            found.append(self._facts_of(built.get(number, ()), rest[0]) if is_call else None)
        return found

    def _facts_of(self, given: Sequence[Any], args: Sequence[Any]) -> RequestFacts:
        """Returns a call's sizes, facts and leading sizes; its layer was built with `given`."""
        pairs = [*_paired(self.traits.build or (), given), *_paired(self.traits.inputs, args)]
        leading = next(_leading(pairs), None)
        facts = {**_facts(pairs), **dict(self._switches(given, args))}
        if leading is not None:
            facts |= {"without a batch": not leading}
            facts |= {"with exactly one leading dimension": len(leading) == 1}
        return _sizes(pairs), facts, leading or ()

    def _switches(self, given: Sequence[Any], args: Sequence[Any]) -> Iterator[tuple[str, bool]]:
        """Yields facts about the optional arguments and boolean options of a call and its layer."""
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
                elif isinstance(default, float):
                    yield f"where `{name}` is given", at < len(values)
                elif isinstance(default, bool):
                    yield f"with `{name}={default}`", value is default
                    yield f"with `{name}={not default}`", value is not default


def _paired(inputs: Sequence[Input], args: Sequence[Any]) -> Iterator[tuple[Input, Any]]:
    for declared, arg in zip(inputs, args, strict=False):
        item = declared.item if isinstance(declared, OptionalInput) else declared
        if isinstance(item, InputPair) and isinstance(arg, tuple | list) and len(arg) == 2:
            yield from zip((item.first, item.second), arg, strict=True)
        else:
            yield item, arg


def _facts(pairs: Sequence[tuple[Input, Any]]) -> Mapping[str, bool]:
    tensors = [arg for _, arg in pairs if isinstance(arg, torch.Tensor)]
    if not tensors:
        return {}
    dtypes = {tensor.dtype for tensor in tensors if tensor.is_floating_point()}
    return {
        "for tensors that are contiguous": all(tensor.is_contiguous() for tensor in tensors),
        "in float32": dtypes == {torch.float32},
        "in float64": dtypes == {torch.float64},
        _ON_CPU: all(tensor.device.type == "cpu" for tensor in tensors),
    }


def _leading(pairs: Sequence[tuple[Input, Any]]) -> Iterator[tuple[int, ...]]:
    """Yields the leading sizes in each tensor that may have leading dimensions."""
    for item, arg in pairs:
        if isinstance(item, Tensor) and LEADING in item.shape and isinstance(arg, torch.Tensor):
            yield tuple(arg.shape[: arg.dim() - len(item.shape.split()) + 1])


def _sizes(pairs: Sequence[tuple[Input, Any]]) -> dict[str, int]:
    """Returns the value of each letter in a call, as far as the arguments determine it."""
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
    """Yields, for each dimension, an expression with letters, these letters, and its value."""
    if isinstance(item, Size) and isinstance(arg, int):
        yield item.text, item.letters, arg
    if isinstance(item, Tensor | Ids) and isinstance(arg, torch.Tensor):
        parts = [part for part in item.shape.split() if part != LEADING]
        for part, size in zip(reversed(parts), reversed(arg.shape), strict=False):
            yield part, letters_of(part), size


def cases_of(
    known: Sequence[RequestFacts | None], answer: Sequence[Call], right: Sequence[Call]
) -> Iterator[CallFacts]:
    """Yields the calls in a test, except those that raise an expected error."""
    for found, came, asked in zip(known, answer, right, strict=True):
        is_right = came.equals(asked)
        if found and not (asked.raised and is_right):
            sizes, facts, leading = found
            is_telling = came.operation in _CALLS and facts.get(_ON_CPU, True)
            is_telling &= all(n != 1 for letter, n in sizes.items() if letter not in _RATIOS)
            is_telling &= not {1, *sizes.values()} & {*leading}
            raised = bool(came.raised), bool(asked.raised)
            yield CallFacts(sizes, facts, is_right, is_telling, *raised)


# functions about conditions that hold for the correct calls


def where_right(cases: Sequence[CallFacts]) -> tuple[str, str, str]:
    """Returns a description of what correct calls share, a sentence for students, and a hint.

    Uses the condition that explains the most calls. Returns empty strings if several conditions
    explain equally many calls, because any choice would be a guess. Also returns empty strings if a
    call that must raise an error was accepted, because this is a different mistake. The sentence is
    about the calls in the tests; calls that reveal little may be correct without meeting the
    condition.
    """
    nothing = "", "", ""
    wrong = {case.key for case in cases if not case.is_right}
    if len(wrong) < _WRONG or any(case.is_accepted for case in cases):
        return nothing
    conditions = dict(_conditions(cases))
    explained = {words: _explained(cases, holds) for words, holds in conditions.items()}
    most = max(explained.values(), default=0)
    likely = [words for words, right in explained.items() if right == most]
    if most < _RIGHT or len(likely) != 1:
        return nothing
    errors = all(case.is_right or case.is_raised for case in cases)
    what = f"{'it works' if errors else 'it is right'} {likely[0]}"
    holds = conditions[likely[0]]
    others = any(case.is_right > held for case, held in zip(cases, holds, strict=True))
    lead = next(lead for pattern, lead in SHOWN["where"] if re.search(pattern, what))
    return f"{what} only", f"in the tests, {what}, and {_HIDING if others else _NO_OTHER}", lead


def _explained(cases: Sequence[CallFacts], holds: Sequence[bool]) -> int:
    """Returns how many different correct calls meet a condition, or 0 if a wrong call meets it.

    Also returns 0 if a call that reveals much is correct without meeting the condition, or if some
    other size is 1 in all correct calls that meet the condition, because that size may be the real
    reason.
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
    """Yields conditions as text, each with a list that says which calls meet the condition.

    An answer that is right for equal sizes need not be right if one size is smaller than the other,
    or a multiple of it. Therefore, conditions about smaller sizes and multiples need a correct call
    with different sizes.
    """
    for fact in dict.fromkeys(fact for case in cases for fact in case.facts):
        yield fact, [case.facts.get(fact, False) for case in cases]
    letters = [x for x in cases[0].sizes if all(x in case.sizes for case in cases)]
    for x in letters:
        sizes, one = [case.sizes[x] for case in cases], _CALLED.get(x, x)
        counted = SHOWN["counted"].get(x)
        yield f"with one {counted}" if counted else f"where {one} is 1", [n == 1 for n in sizes]
        yield f"where {one} is 0", [n == 0 for n in sizes]
        yield f"where {one} is even", [n % 2 == 0 for n in sizes]
        for y in (y for y in letters if y != x):
            other, pairs = _CALLED.get(y, y), [(case.sizes[x], case.sizes[y]) for case in cases]
            right = {pair for case, pair in zip(cases, pairs, strict=True) if case.is_right}
            if x < y:
                yield f"where {one} and {other} are equal", [a == b for a, b in pairs]
            if any(a < b for a, b in right):
                yield f"where {one} is at most {other}", [a <= b for a, b in pairs]
            if any(1 < b < a and a % b == 0 for a, b in right):
                multiple = [b > 0 and a % b == 0 for a, b in pairs]
                yield f"where {one} is a multiple of {other}", multiple
