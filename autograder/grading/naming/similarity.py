"""Whether answers by chance may be draws of the same mistake: no two draws are ever equal.

A mistake that drops at random is asked the same many times. What its draws have in common (which
calls were made, what was raised, types, the words of the test's message) an answer must have with
one of them; what varies is compared by figures: sizes, shares of zeros, means, distances from
the draws' mean (of single values, and of whole lines), how much of the call before comes again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch

from ...worker.execution import tensors_in
from ..judging.recorder import Event

#: a figure may lie as far outside the range of the draws as that range is wide: 4.3 standard
#: deviations from the mean for 8 draws of a normal figure, 6.5 for 40
_MARGIN = 1.0
#: rounding, relative and absolute
_ROUNDING = 1e-4
#: with fewer draws of a figure its range says nothing
_ENOUGH = 5
#: characters of what is neither a tensor nor made of tensors
_LONGEST_VALUE = 200


@dataclass(frozen=True, slots=True)
class Kind:
    """What draws of the same mistake have in common: the words of the test, the form of answers."""

    words: str
    calls: tuple[str, ...]


def kind_of(words: str, events: Sequence[Event]) -> Kind:
    """The kind of one draw; `words` are the test's message without its numbers."""
    return Kind(words, tuple(map(_form, events)))


def _form(event: Event) -> str:
    return f"{event.operation} {event.raised} {_outline(event.value)}"


def _outline(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"{value.dtype} of {value.dim()} dimensions on {value.device}"
    if isinstance(value, tuple | list):
        return f"({', '.join(map(_outline, value))})"
    if isinstance(value, dict):
        pairs = (f"{_outline(key)}: {_outline(item)}" for key, item in value.items())
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, SimpleNamespace):
        return _outline(vars(value))
    return str(value)[:_LONGEST_VALUE]


def within(answer: Sequence[Event], draws: Sequence[Sequence[Event]]) -> bool:
    """Whether each figure of an answer lies in or near the range of the draws' own."""
    return all(
        _near(figures)
        for number, event in enumerate(answer)
        for index in range(len(tensors_in(event.value)))
        for figures in _figures([*draws, answer], number, index)
    )


def _near(figures: torch.Tensor) -> bool:
    """Whether the last row of (draws + 1, figures) is near the range of the others."""
    drawn, figure = figures[:-1], figures[-1]
    if len(drawn) < _ENOUGH:
        return True
    low, high = drawn.amin(0), drawn.amax(0)
    size = torch.maximum(low.abs(), high.abs()).clamp(min=1e-2)
    margin = _MARGIN * (high - low) + _ROUNDING * size
    return bool(((low - margin <= figure) & (figure <= high + margin)).all())


def _figures(draws: Sequence[Sequence[Event]], number: int, index: int) -> Iterator[torch.Tensor]:
    """The figures of one tensor, a row for each draw that has it; the last draw is the answer."""
    tensors = [found for draw in draws if (found := _tensor(draw, number, index)) is not None]
    yield torch.tensor([[float(size) for size in tensor.shape] for tensor in tensors])
    if tensors[-1].device.type == "meta" or tensors[-1].numel() == 0:
        return
    yield torch.stack([_plain(tensor) for tensor in tensors if tensor.numel() > 0])
    alike = [tensor for tensor in tensors if tensor.shape == tensors[-1].shape]
    if len(alike) > _ENOUGH and alike[0].numel() > 1:
        yield torch.stack(
            list(_measured(torch.stack([_finite(tensor) for tensor in alike]))), dim=1
        )
    before = _number_before(draws[-1], number)
    last = [_tensor(draw, before, index) for draw in draws] if before is not None else []
    same = [
        (one == other).double().mean()
        for one, other in zip(last, (_tensor(draw, number, index) for draw in draws), strict=False)
        if one is not None and other is not None and one.shape == other.shape
    ]
    if len(same) == len(draws):
        yield torch.stack(same).unsqueeze(1)


def _tensor(draw: Sequence[Event], number: int, index: int) -> torch.Tensor | None:
    tensors = tensors_in(draw[number].value) if number < len(draw) else []
    return tensors[index] if index < len(tensors) else None


def _number_before(draw: Sequence[Event], number: int) -> int | None:
    """The last call of the same operation before this one."""
    operation = draw[number].operation
    return next((n for n in reversed(range(number)) if draw[n].operation == operation), None)


def _finite(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.double().nan_to_num(0.0, 0.0, 0.0)


def _plain(tensor: torch.Tensor) -> torch.Tensor:
    values = _finite(tensor)
    return torch.stack(
        [
            tensor.isfinite().double().mean(),
            (values == 0).double().mean(),
            values.mean(),
            values.abs().mean(),
            values.square().mean().sqrt(),
        ]
    )


def _measured(values: torch.Tensor) -> Iterator[torch.Tensor]:
    """How far the values are from the draws' mean, and how far whole lines are together.

    Each draw is measured by all others, and the answer by as many.
    """
    drawn, rounding = values[:-1], 1e-12
    left_out = torch.cat([drawn, drawn[:1]])
    mean = (drawn.sum(0) - left_out) / (len(drawn) - 1)
    size = (drawn.abs().sum(0) - left_out.abs()) / (len(drawn) - 1)
    everything = tuple(range(1, values.dim()))
    off = (values - mean) / (size + size.mean(everything, keepdim=True) + rounding)
    yield off.square().mean(everything).sqrt()
    yield (values * mean).sum(everything) / (mean.square().sum(everything) + rounding)
    for dim in everything:
        if values.shape[dim] > 1:
            yield off.mean(dim).square().reshape(len(off), -1).mean(1).sqrt()
            yield off.square().mean(dim).reshape(len(off), -1).std(1, correction=0)
