"""Judges random zeros: are they independent draws of one probability, fresh in every call?

Each function returns None where they look like it, else what was seen, in words. The bounds lie so
far out that a right answer is refused less than once in a million runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import TypeVar

import torch

from .echoes import echo_problem

T = TypeVar("T")

#: standard deviations that a sum over hundreds of draws stays within
_FAR = 6.5
#: the same for sums over few lines, whose squares are skewed
_FAR_SQUARES = 9.0
#: correlation of two calls of which one repeats the other; two that don't, of 400 entries, have
#: one of 0.05, and a pattern of 36 entries that all items of a batch share, one of 0.17
_REPEATED = 0.7
#: entries of a call below which parts that repeat can't be told from chance
_ENOUGH = 600
#: rates at which there are enough dropped and kept entries to see a pattern
_PATTERNED = (0.2, 0.8)
_ORDINALS = ("first", "second", "third", "fourth")
#: what is often written in place of 1 / (1 - p), and how it is told
_FACTORS: Mapping[Callable[[float], float], str] = {
    lambda p: 1.0: "as they were",
    lambda p: 1 / p: "divided by p",
    lambda p: 1 - p: "multiplied by 1 - p",
    lambda p: 2.0: "doubled",
}


def rate_problem(
    dropped: torch.Tensor, p: float, present: torch.Tensor | None = None
) -> str | None:
    """None if the share of dropped entries fits p.

    `dropped` is bool; where `present`, of the same shape, is False an entry does not count. Wants
    a thousand entries or more.
    """
    counted = dropped if present is None else dropped[present]
    total, zeros = counted.numel(), int(counted.sum())
    spread = (total * p * (1 - p)) ** 0.5
    if abs(zeros - total * p) <= _FAR * spread:
        return None
    if abs(zeros - total * (1 - p)) <= _FAR * spread:
        meant = "as many as should be kept"
    elif zeros in (0, total):
        meant = "all or nothing"
    elif abs(zeros - total / 2) <= _FAR * total**0.5 / 2:
        meant = "one half"
    else:
        meant = "too few" if zeros < total * p else "too many"
    return f"{zeros} of {total} entries were dropped, {zeros / total:.1%}: {meant}"


def factor_problem(
    after: torch.Tensor, before: torch.Tensor, p: float, tolerance: float = 1e-4
) -> str | None:
    """None if entries that were kept are multiplied by 1 / (1 - p), else by what, in words.

    `before` holds no zeros; `tolerance` is relative.
    """
    factors = (after / before).double()
    if not bool(factors.isfinite().all()):
        return "kept entries are not finite"

    def all_are(factor: float) -> bool:
        return bool(((factors - factor).abs() <= tolerance * factor).all())

    if all_are(1 / (1 - p)):
        return None
    for factor, words in _FACTORS.items():
        if all_are(factor(p)):
            return f"kept entries are {words}"
    low, high = float(factors.min()), float(factors.max())
    if high - low <= tolerance * abs(high):
        return f"kept entries are multiplied by {high:.4g}"
    return f"kept entries are multiplied by different numbers, from {low:.4g} to {high:.4g}"


def dependence_problem(dropped: torch.Tensor, present: torch.Tensor | None = None) -> str | None:
    """None if entries are dropped on their own along every dimension, whatever their share is.

    Counts the dropped entries of each line along a dimension: if a line falls together, its counts
    spread too widely; if a fixed number falls in each, they don't spread. Wants more than 30 lines
    in each dimension of more than one entry, and 200 where a fixed number shall be noticed.
    """
    present = torch.ones_like(dropped) if present is None else present
    share = float(dropped[present].double().mean())
    if share in (0.0, 1.0):  # no pattern
        return None
    spreads = {
        dim: _line_spread(dropped & present, present, share, dim)
        for dim in range(dropped.dim())
        if dropped.shape[dim] > 1
    }
    together = _together(spreads)
    fixed = [dim for dim, far in spreads.items() if far < -_FAR_SQUARES]
    if together:
        return f"entries along {_dimensions(together, dropped)} are dropped together"
    if fixed:
        return f"the same number is dropped in every line along {_dimensions(fixed, dropped)}"
    return None


def _together(spreads: Mapping[T, float]) -> list[T]:
    """The dimensions along which lines fall together."""
    # fewer independent draws make the other dimensions look a little dependent, too
    far = max(_FAR_SQUARES, max(spreads.values(), default=0.0) / 3)
    return [dim for dim, spread in spreads.items() if spread > far]


def _dimensions(dims: Sequence[int], tensor: torch.Tensor) -> str:
    words = " and ".join(f"the {_ORDINALS[dim]}" for dim in dims)
    return f"{words} of {tensor.dim()} dimensions"


def together_problem(
    dropped: torch.Tensor, p: float, names: Sequence[str], present: torch.Tensor | None = None
) -> str | None:
    """None if entries fall on their own along every dimension, else the names of the others."""
    present = torch.ones_like(dropped) if present is None else present
    spreads = {
        name: _line_spread(dropped, present, p, dim)
        for dim, name in enumerate(names)
        if dropped.shape[dim] > 1
    }
    together = _together(spreads)
    return f"dropped together: along the {' and the '.join(together)}" if together else None


def _line_spread(dropped: torch.Tensor, present: torch.Tensor, p: float, dim: int) -> float:
    """How far the squared deviations of the lines' counts are from their mean, in its spread."""
    squares, variance = _line_squares(dropped, present, p, dim)
    spread = (2 + (1 - 6 * p * (1 - p)) / variance).sum().sqrt()
    return float((squares - 1).sum() / spread)


def _line_squares(
    dropped: torch.Tensor, present: torch.Tensor, p: float, dim: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Squared deviations of the lines' counts, of mean 1 each, and the variances of the counts."""
    lengths = present.sum(dim).double().flatten()
    counts = (dropped & present).sum(dim).double().flatten()[lengths > 0]
    lengths = lengths[lengths > 0]
    variance = lengths * p * (1 - p)
    return (counts - lengths * p) ** 2 / variance, variance


def repeat_problem(calls: Sequence[torch.Tensor]) -> str | None:
    """None if calls dropped entries afresh, and not the same number in each.

    `calls` holds one bool tensor of the same shape for each call. Wants six calls of 400 entries,
    of which a fifth to four fifths are dropped.
    """
    if any(call.all() or not call.any() for call in calls):
        return "a call dropped all of its entries, or none"
    share = float(torch.stack(list(calls)).double().mean())
    for (i, one), (j, other) in combinations(enumerate(calls), 2):
        products = (one.double() - share) * (other.double() - share)
        if abs(float(products.mean())) / (share * (1 - share)) > _REPEATED:
            alike, by_chance = (
                int((one == other).sum()),
                one.numel() * (share**2 + (1 - share) ** 2),
            )
            return (
                f"calls {i + 1} and {j + 1} treat {alike} of {one.numel()} entries alike; by "
                f"chance it is about {by_chance:.0f}"
            )
    numbers = {int(call.sum()) for call in calls}
    if len(calls) > 5 and len(numbers) == 1:
        return f"each of {len(calls)} calls dropped exactly {numbers.pop()} entries"
    return echo_problem(calls) if calls[0].numel() >= _ENOUGH else None


def causal_dropout_problem(weights: torch.Tensor, p: float) -> str | None:
    """None if equal causal attention weights were dropped out as they should be.

    `weights` are (calls, B, H, T, T) after dropout. Row t had the weight 1 / (t + 1) for token t
    and each before it. Each of them is now 0 or divided by 1 - p, on its own along every dimension;
    of rates below a fifth or above four fifths only the share is judged.
    """
    weights = weights.detach()
    past = torch.ones_like(weights).tril().bool()
    before = 1 / torch.arange(1, weights.shape[-1] + 1, dtype=weights.dtype).unsqueeze(-1)
    dropped = (weights.abs() < 1e-6) & past
    problem = _changed_problem(weights, torch.where(past, before, 0.0), dropped, p)
    if problem is not None:
        return problem
    if not _PATTERNED[0] <= p <= _PATTERNED[1]:
        return rate_problem(dropped, p, past)
    together = together_problem(dropped, p, ("calls", "samples", "heads", "queries", "keys"), past)
    return (
        together
        or rate_problem(dropped, p, past)
        or dependence_problem(dropped, past)
        or echo_problem([call[past[0]] for call in dropped])
    )


def _changed_problem(
    weights: torch.Tensor, before: torch.Tensor, dropped: torch.Tensor, p: float
) -> str | None:
    """None if every weight is 0 or divided by 1 - p, else how the weights were changed instead."""
    wrong = ~_near(weights, torch.where(dropped, 0.0, before / (1 - p)))
    if not bool(wrong.any()):
        return None
    if bool(_near(weights, before).all()):
        return "no weight was dropped"
    if not bool(dropped.any()):
        return "the weights were changed, but none of them is 0"
    if bool(_near(weights, torch.where(dropped, 0.0, before)).all()):
        return "the weights that were kept are as they were before dropout"
    sums = weights.sum(-1)
    if bool((_near(sums, torch.ones_like(sums)) | _near(sums, torch.zeros_like(sums))).all()):
        return "each row of weights sums to one after dropout, as it did before"
    *_, row, column = (int(index) for index in wrong.nonzero()[0])
    return (
        f"token {row} gave token {column} the weight {float(before[wrong][0]):.4f}; with dropout "
        f"of {p} it became {float(weights[wrong][0]):.4f}"
    )


def _near(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    return (one - other).abs() <= 1e-4  # False where one of them is no number
