"""Whether answers by chance may be draws of the same mistake: no two draws are ever equal.

A mistake that drops at random is asked the same many times. What its draws have in common (which
calls were made, what was raised, types, the words of the test's message) an answer must have with
one of them; what varies is compared by figures: sizes, shares of zeros, means, distances from
the draws' mean (of single values, and of whole lines), how much of the call before comes again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ..inside.execution import tensors_in
from .recorder import Event

#: a figure may lie as far outside the range of the draws as that range is wide: 4.3 standard
#: deviations from the mean for 8 draws of a normal figure, 6.5 for 40
_MARGIN = 1.0
#: rounding, relative and absolute
_ROUNDING = 1e-4
#: with fewer draws of a figure its range says nothing
_ENOUGH = 5


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
    return str(value)


def figures_of(events: Sequence[Event], others: Sequence[Sequence[Event]]) -> Mapping[str, float]:
    """Every figure of a draw by its name; `others` are draws that its values are measured by."""
    figures: dict[str, float] = {}
    before: dict[str, list[torch.Tensor]] = {}
    for number, event in enumerate(events):
        tensors = tensors_in(event.value)
        places = [tensors_in(other[number].value) for other in others if number < len(other)]
        earlier = before.get(event.operation, [])
        for index, tensor in enumerate(tensors):
            last = earlier[index] if index < len(earlier) else None
            beside = [place[index] for place in places if index < len(place)]
            found = {**_plain(tensor, last), **_measured(tensor, beside)}
            figures.update({f"{number}.{index} {name}": value for name, value in found.items()})
        before[event.operation] = tensors
    return figures


def _plain(tensor: torch.Tensor, last: torch.Tensor | None) -> dict[str, float]:
    figures = {"size": float(tensor.numel())}
    if tensor.device.type == "meta" or tensor.numel() == 0:
        return figures
    if last is not None and last.shape == tensor.shape:
        figures["as before"] = float((tensor == last).double().mean())
    values = _finite(tensor)
    figures["finite"] = float(tensor.isfinite().double().mean())
    figures["zeros"] = float((values == 0).double().mean())
    figures["mean"] = float(values.mean())
    figures["mean size"] = float(values.abs().mean())
    figures["root mean square"] = float(values.square().mean().sqrt())
    return figures


def _measured(tensor: torch.Tensor, others: Sequence[torch.Tensor]) -> dict[str, float]:
    """How far the values are from the others' mean, and how far whole lines are together."""
    others = [other for other in others if other.shape == tensor.shape]
    if len(others) < _ENOUGH - 1 or tensor.device.type == "meta" or tensor.numel() < 2:
        return {}
    drawn = torch.stack([_finite(other) for other in others])
    mean, size = drawn.mean(0), drawn.abs().mean(0)
    if not bool(size.any()):
        return {}
    values = _finite(tensor)
    off = (values - mean) / (size + size.mean())
    figures = {"distance": float(off.square().mean().sqrt())}
    if bool(mean.any()):
        figures["slope"] = float((values * mean).sum() / mean.square().sum())
    for dim in range(tensor.dim()):
        if tensor.shape[dim] > 1:
            figures[f"lines along {dim}"] = float(off.mean(dim).square().mean().sqrt())
            figures[f"unevenness along {dim}"] = float(off.square().mean(dim).std(correction=0))
    return figures


def _finite(tensor: torch.Tensor) -> torch.Tensor:
    return torch.where(tensor.isfinite(), tensor, 0).double()


def within(events: Sequence[Event], draws: Sequence[Sequence[Event]]) -> bool:
    """Whether each figure of an answer lies in or near the range of the draws' own.

    Each draw is measured by all others, and the answer by as many.
    """
    figures = figures_of(events, draws[1:])
    drawn = [
        figures_of(draw, [*draws[:number], *draws[number + 1 :]])
        for number, draw in enumerate(draws)
    ]
    return all(
        _near(figure, [one[name] for one in drawn if name in one])
        for name, figure in figures.items()
    )


def _near(figure: float, drawn: Sequence[float]) -> bool:
    if len(drawn) < _ENOUGH:
        return True
    low, high = min(drawn), max(drawn)
    margin = _MARGIN * (high - low) + _ROUNDING * max(abs(low), abs(high), 1e-2)
    return low - margin <= figure <= high + margin
