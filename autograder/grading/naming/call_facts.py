"""The calls of a question: their sizes by letter, other facts, and whether they are right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from itertools import chain, islice, repeat
from typing import Any

import torch

from ...suite.traits import Ids, Input, InputPair, OptionalInput, Size, Sizes, Tensor, Traits
from ...suite.traits.inputs import LEADING, letters_of
from .record import OF_GRADIENTS, Call, Request

_CALLS = ("call", "forward")
_ON_CPU = "on the CPU"
#: letters for the ratio of two sizes: any value, even 1, is as informative as another
_RATIOS = "R"
#: names of letters that no docstring contains
CALLED: Mapping[str, str] = {
    "R": "H / G",
    "F": "the hidden size",
    "c": "the size of the context's tokens",
    "n": "the size of a block",
    "p": "half the size of a head",
    "w": "the window",
}


@dataclass(frozen=True, slots=True)
class CallFacts:
    """One call: its sizes by letter, other facts about it, and whether the answer is right.

    `is_raised` if an unexpected error was raised - the `error`, if its text is known - and
    `is_accepted` if the expected error was not raised.

    A call that is not `is_telling` may be right by luck: calls for gradients, calls on a device
    without numbers, and calls in which a size is 1, such as one key, which gets all the weight, or
    in which a leading size equals another dimension.
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
        """The sizes by their names in a question: a letter, or words; all heads are H."""
        named = {CALLED.get(x, x): size for x, size in self.sizes.items()}
        if {"G", "R"} <= self.sizes.keys():
            named["H"] = self.sizes["G"] * self.sizes["R"]
        return named

    @property
    def key(self) -> object:
        """A value that is equal for calls that are alike."""
        return tuple(sorted(self.sizes.items())), tuple(sorted(self.facts.items()))


@dataclass(frozen=True, slots=True)
class CallDeclaration:
    """A question's declaration of its calls: shapes in letters, and optional arguments."""

    traits: Traits
    solution: Any

    def cases(
        self,
        requests: Sequence[Request],
        answer: Sequence[Call],
        right: Sequence[Call],
        errors: Sequence[str] = (),
    ) -> Iterator[CallFacts]:
        """Yields the calls of one test, with the error of each if that is known."""
        built: dict[Any, Sequence[Any]] = {}
        texts = chain(errors, repeat(""))
        for request, came, asked in zip(requests, answer, right, strict=True):
            error = next(texts)
            operation, number, *rest = request
            if operation == "build":
                built[number] = rest[1]
            elif operation == "restore":
                built[rest[0]] = built.get(number, ())
            elif operation in (*_CALLS, *OF_GRADIENTS) and not _is_refused(came, asked):
                sizes, facts, leading = self._facts_of_call(built.get(number, ()), rest[0])
                is_telling = operation in _CALLS and facts.get(_ON_CPU, True)
                is_telling &= all(n != 1 for letter, n in sizes.items() if letter not in _RATIOS)
                is_telling &= not {1, *sizes.values()} & {*leading}
                is_right, is_accepted = came.equals(asked), bool(asked.raised)
                is_raised = bool(came.raised)
                yield CallFacts(sizes, facts, is_right, is_telling, is_raised, is_accepted, error)

    def _facts_of_call(
        self, given: Sequence[Any], args: Sequence[Any]
    ) -> tuple[Mapping[str, int], Mapping[str, bool], tuple[int, ...]]:
        """Returns sizes, facts and leading sizes of one call; `given` are the layer's arguments."""
        pairs = [*_paired(self.traits.build or (), given), *_paired(self.traits.inputs, args)]
        facts = {**_facts(pairs), **dict(self._switches(given, args))}
        return _sizes(pairs), facts, next(_leading(pairs), ())

    def _switches(self, given: Sequence[Any], args: Sequence[Any]) -> Iterator[tuple[str, bool]]:
        """Yields which arguments of a call are left out, and the switches of a layer."""
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
    """Returns whether the call raised the error that it should."""
    return bool(asked.raised) and came.equals(asked)


def _paired(inputs: Sequence[Input], args: Sequence[Any]) -> Iterator[tuple[Input, Any]]:
    for declared, arg in zip(inputs, args, strict=False):
        item = declared.item if isinstance(declared, OptionalInput) else declared
        if isinstance(item, InputPair) and isinstance(arg, tuple | list) and len(arg) == 2:
            yield from zip((item.first, item.second), arg, strict=True)
        else:
            yield item, arg


def _facts(pairs: Sequence[tuple[Input, Any]]) -> Mapping[str, bool]:
    """Returns facts about the tensors of a call."""
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
    for leading in islice(_leading(pairs), 1):
        found |= {
            "without a batch": not leading,
            "with a batch": bool(leading),
            "with at most one leading dimension": len(leading) <= 1,
            "with exactly one leading dimension": len(leading) == 1,
        }
    return found


def _leading(pairs: Sequence[tuple[Input, Any]]) -> Iterator[tuple[int, ...]]:
    """Yields the leading sizes of each tensor that may have some."""
    for item, arg in pairs:
        if isinstance(item, Tensor) and LEADING in item.shape and isinstance(arg, torch.Tensor):
            yield tuple(arg.shape[: arg.dim() - len(item.shape.split()) + 1])


def _sizes(pairs: Sequence[tuple[Input, Any]]) -> dict[str, int]:
    """Returns the value of each letter in one call, as far as its arguments determine it."""
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
    """Yields expressions in letters with their values, one for each dimension of a tensor."""
    if isinstance(item, Size) and isinstance(arg, int):
        yield item.text, item.letters, arg
    if isinstance(item, Tensor | Ids) and isinstance(arg, torch.Tensor):
        parts = [part for part in item.shape.split() if part != LEADING]
        for part, size in zip(reversed(parts), reversed(arg.shape), strict=False):
            yield part, letters_of(part), size
