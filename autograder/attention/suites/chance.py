"""Checks whether zeros are independent, have a given probability, and differ from call to call.

Most functions return None if they find no problem, otherwise a description of the problem. Because
of the bounds in `tails`, a correct answer fails less than once in a million runs, whatever p is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import torch

from ...suite.arguments import Draw
from . import tails
from .echoes import echo_problem

#: two calls repeat each other if their correlation is above this. Two independent calls of 400
#: entries have a correlation of about 0.05, or 0.17 if all items in a batch share a pattern of 36
#: entries. By Bernstein's inequality, a correlation over n entries reaches r with
#: P <= 2 exp(-n r^2 / (2 + 2 M r / 3)), where M = q / p or p / q, which is at most 4 here. For 400
#: entries, P is below 1e-20
_REPEATED = 0.7
#: below this many standard deviations, the bound on the squared deviations need not be computed
_USUAL = 5.0
#: the number of calls that are compared at every offset; each pair costs two Fourier transforms
_ECHOED = 3
#: in calls with fewer entries, repeated parts can't be distinguished from chance
_ENOUGH = 600
_ORDINALS = ("first", "second", "third", "fourth")
#: factors that are often written instead of 1 / (1 - p), and their descriptions
_FACTORS: Mapping[Callable[[float], float], str] = {
    lambda p: 1.0: "as they were",
    lambda p: 1 / p: "divided by p",
    lambda p: 1 - p: "multiplied by 1 - p",
    lambda p: 2.0: "doubled",
}


def drawn_rate(draw: Draw, low: float, high: float) -> float:
    """Draw a rate with three decimals that changes if it is rounded to a whole percentage."""
    for _ in range(100):
        per_mille = draw.integer(round(1000 * low), round(1000 * high))
        if per_mille % 10:
            break
    return per_mille / 1000


def rate_problem(
    dropped: torch.Tensor, p: float, present: torch.Tensor | None = None
) -> str | None:
    """Return None if p explains the share of dropped entries, otherwise the problem in words.

    `dropped` and `present` are bool tensors of the same shape; entries where `present` is False do
    not count. The check needs at least a thousand entries.
    """
    total, zeros = _counts(dropped, present)
    if tails.of_count(zeros, total, p) <= tails.SURE:
        return None
    if tails.of_count(zeros, total, 1 - p) <= tails.SURE:
        meant = "as many as should be kept"
    elif zeros in (0, total):
        meant = "all or nothing"
    elif tails.of_count(zeros, total, 0.5) <= tails.SURE:
        meant = "one half"
    else:
        meant = "too few" if zeros < total * p else "too many"
    return f"{zeros} of {total} entries were dropped, {zeros / total:.1%}: {meant}"


def factor_problem(
    after: torch.Tensor, before: torch.Tensor, p: float, tolerance: float = 1e-4
) -> str | None:
    """Return None if kept entries are multiplied by 1 / (1 - p), otherwise the problem.

    `before` must not contain zeros; `tolerance` is a relative error.
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


def dependence_problem(
    dropped: torch.Tensor, p: float, present: torch.Tensor | None = None
) -> str | None:
    """Return a problem if entries depend on each other along any dimension, otherwise None.

    Counts the dropped entries in each line along a dimension: if lines are dropped as a whole, the
    counts vary too much; if every line drops the same number, they don't vary at all. If the share
    of dropped entries differs from p, which is a separate problem, the check uses the actual share.
    The check needs more than 30 lines along each dimension that has more than one entry, and 200
    lines to notice that every line drops the same number.
    """
    total, zeros = _counts(dropped, present)
    if zeros in (0, total):  # there is no pattern
        return None
    share = p if rate_problem(dropped, p, present) is None else zeros / total
    lines = _of_all_dimensions(dropped, present, share)
    together = _together(lines)
    if together:
        return f"entries along {_dimensions(together, dropped)} are dropped together"
    return _fixed_problem(lines, dropped)


def _of_all_dimensions(
    dropped: torch.Tensor, present: torch.Tensor | None, share: float
) -> dict[int, _Lines]:
    # sums in float32 are exact up to 2 ** 24, and much faster than sums of bools
    ones = (dropped if present is None else dropped & present).float()
    known = None if present is None else present.float()
    return {
        dim: _lines(ones, known, share, dim)
        for dim in range(dropped.dim())
        if dropped.shape[dim] > 1
    }


def _fixed_problem(lines: Mapping[int, _Lines], dropped: torch.Tensor) -> str | None:
    fixed = [dim for dim, found in lines.items() if found.too_even > tails.SURE]
    if fixed:
        along = _dimensions(fixed, dropped)
        return f"the same number of entries is dropped in every line along {along}"
    return None


def _counts(dropped: torch.Tensor, present: torch.Tensor | None) -> tuple[int, int]:
    """Return the number of entries that count, and how many of them were dropped."""
    if present is None:
        return dropped.numel(), int(dropped.sum())
    return int(present.sum()), int((dropped & present).sum())


def _together(lines: Mapping[int, _Lines]) -> list[int]:
    """Return the dimensions along which whole lines are dropped."""
    # fewer independent draws also make the other dimensions look slightly dependent
    far = max((found.spread for found in lines.values()), default=0.0) / 3
    return [
        dim for dim, found in lines.items() if found.too_uneven > tails.SURE and found.spread > far
    ]


def _dimensions(dims: Sequence[int], tensor: torch.Tensor) -> str:
    words = " and ".join(f"the {_ORDINALS[dim]}" for dim in dims)
    return f"{words} of {tensor.dim()} dimensions"


def shared_or_rate_problem(
    dropped: torch.Tensor, p: float, names: Sequence[str], present: torch.Tensor | None = None
) -> str | None:
    """Return None if entries are dropped independently with probability p.

    Otherwise, return the problem: entries are dropped together along some dimensions (`names`
    contains the dimensions' names), the share of dropped entries is wrong, or every line drops the
    same number of entries.
    """
    lines = _of_all_dimensions(dropped, present, p)
    together = [names[dim] for dim in _together(lines)]
    if together:
        return f"dropped together: along the {' and the '.join(together)}"
    if text := rate_problem(dropped, p, present):
        return text
    total, zeros = _counts(dropped, present)
    return None if zeros in (0, total) else _fixed_problem(lines, dropped)


@dataclass(frozen=True, slots=True)
class _Lines:
    """Statistics of the number of dropped entries in each line along a dimension.

    `spread` says by how many standard deviations the sum of the squared deviations differs from its
    mean. `too_uneven` and `too_even` say, in nats, how improbable such a large or small sum is;
    they are 0 if the sum is not unusual.
    """

    spread: float
    too_uneven: float
    too_even: float


def _lines(dropped: torch.Tensor, present: torch.Tensor | None, p: float, dim: int) -> _Lines:
    if present is None:
        counts = dropped.sum(dim).double().flatten()
        lengths = torch.full_like(counts, dropped.shape[dim])
    else:
        lengths = present.sum(dim).double().flatten()
        counts = dropped.sum(dim).double().flatten()[lengths > 0]
        lengths = lengths[lengths > 0]
    variance = lengths * p * (1 - p)
    squares = (counts - lengths * p) ** 2 / variance
    expected = (2 + (1 - 6 * p * (1 - p)) / variance).sum().sqrt()
    spread = float((squares - 1).sum() / expected)
    if abs(spread) < _USUAL:
        return _Lines(spread, 0.0, 0.0)
    return _Lines(spread, *tails.of_squares(counts, lengths, p))


def neighbours_problem(
    dropped: torch.Tensor, p: float, present: torch.Tensor | None = None
) -> str | None:
    """Return a problem if two or three neighbors in memory are dropped together, otherwise None.

    The groups don't overlap, so their outcomes, such as "all dropped", are independent draws.
    Groups of three are needed because two entries together may determine a third one, which pairs
    alone can't show.
    """
    flat = dropped.flatten()
    known = None if present is None else present.flatten()
    for size in (2, 3):
        for start in range(size):
            end = start + (len(flat) - start) // size * size
            groups = flat[start:end].view(-1, size)
            if known is not None:
                groups = groups[known[start:end].view(-1, size).all(1)]
            if text := groups_problem(groups, p):
                return f"adjacent entries: {text}"
    return None


def groups_problem(groups: torch.Tensor, p: float) -> str | None:
    """Return None if the entries in each row are dropped independently, otherwise the problem."""
    total, size = groups.shape
    kinds = torch.zeros(total, dtype=torch.uint8)
    for place in range(size):
        kinds += groups[:, place].to(torch.uint8) << place
    for kind, count in enumerate(torch.bincount(kinds, minlength=2**size).tolist()):
        members = [bool(kind >> place & 1) for place in range(size)]
        chance = math.prod(p if member else 1 - p for member in members)
        if tails.of_count(count, total, chance) > tails.SURE:
            words = ", ".join("dropped" if member else "kept" for member in members)
            by_chance = f"by chance, it would be about {chance * total:.0f}"
            return f"{count} of {total} groups of {size} are {words}; {by_chance}"
    return None


def repeat_problem(calls: Sequence[torch.Tensor]) -> str | None:
    """Return a problem if calls drop the same entries or always the same number, otherwise None.

    `calls` contains a bool tensor for each call, all of the same shape. Needs six calls that drop
    between a fifth and four fifths of 400 entries.
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
                f"chance, it would be about {by_chance:.0f}"
            )
    numbers = {int(call.sum()) for call in calls}
    # P(all counts are equal) <= P(the likeliest count) ** (calls - 1)
    likeliest = (2 * math.pi * calls[0].numel() * share * (1 - share)) ** -0.5
    if len(numbers) == 1 and (len(calls) - 1) * -math.log(likeliest) > tails.SURE:
        return f"each of {len(calls)} calls dropped exactly {numbers.pop()} entries"
    return echo_problem(calls[:_ECHOED]) if calls[0].numel() >= _ENOUGH else None


def copied_problem(calls: Sequence[torch.Tensor]) -> str | None:
    """Return a problem if two calls, however far apart, have the same pattern, otherwise None.

    Two calls of n entries agree with probability (p^2 + (1 - p)^2)^n, which is below 1e-40 for 400
    entries and rates from 0.1 to 0.9.
    """
    seen: dict[bytes, int] = {}
    for number, call in enumerate(calls, start=1):
        first = seen.setdefault(call.flatten().to(torch.uint8).numpy().tobytes(), number)
        if first != number:
            return f"call {number} drops exactly the entries that call {first} drops"
    return None


def causal_dropout_problem(weights: torch.Tensor, p: float, error: float = 1e-5) -> str | None:
    """Return a problem if dropout of equal causal attention weights is wrong, otherwise None.

    `weights` contains the weights after dropout, of shape (calls, B, H, T, T), each with an error
    of at most `error`. Before dropout, row t has the weight 1 / (t + 1) for token t and for each
    token before it. After dropout, each of these weights must be 0 or divided by 1 - p,
    independently of all other weights.
    """
    weights = weights.detach()
    past = torch.ones_like(weights).tril().bool()
    before = 1 / torch.arange(1, weights.shape[-1] + 1, dtype=weights.dtype).unsqueeze(-1)
    dropped = (weights.abs() <= error) & past
    problem = _changed_problem(weights, torch.where(past, before, 0.0), dropped, p, error)
    if problem is not None:
        return problem
    return (
        shared_or_rate_problem(dropped, p, ("calls", "samples", "heads", "queries", "keys"), past)
        or neighbours_problem(dropped, p, past)
        or (groups_problem(dropped[:3][:, past[0]].T, p) if len(dropped) > 2 else None)
        or echo_problem(list(dropped[:_ECHOED]), past[0])
    )


def _changed_problem(
    weights: torch.Tensor, before: torch.Tensor, dropped: torch.Tensor, p: float, error: float
) -> str | None:
    """Return None if every weight is 0 or divided by 1 - p, otherwise the problem."""

    def near(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        # False if one of them is nan; the second term is the default tolerance
        return (one - other).abs() <= error + 1e-4 * other.abs()

    wrong = ~near(weights, torch.where(dropped, 0.0, before / (1 - p)))
    if not bool(wrong.any()):
        return None
    if bool(near(weights, before).all()):
        return "no weight was dropped"
    if not bool(dropped.any()):
        return "the weights were changed, but none of them is 0"
    if bool(near(weights, torch.where(dropped, 0.0, before)).all()):
        return "the weights that were kept are as they were before dropout"
    sums = weights.sum(-1)
    if bool((near(sums, torch.ones_like(sums)) | near(sums, torch.zeros_like(sums))).all()):
        return "each row of weights sums to one after dropout, as it did before"
    *_, row, column = (int(index) for index in wrong.nonzero()[0])
    return (
        f"token {row} gave token {column} the weight {float(before[wrong][0]):.4f}; with dropout "
        f"of {p} it became {float(weights[wrong][0]):.4f}"
    )
