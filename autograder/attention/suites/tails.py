"""Computes bounds on the probability of extreme counts, for any rate and any number of draws.

Each bound is a Chernoff bound, P(S >= s) <= E[exp(t S)] exp(-t s), which is valid for every t > 0;
the best t is used. A correct answer exceeds `SURE` in one statistic with a probability below 2e-9;
a question has fewer than 500 statistics, so a correct answer fails less than once in a million
runs.
"""

from __future__ import annotations

import math

import torch

#: the improbability, in nats, at which an answer counts as wrong: -ln(1e-9)
SURE = -math.log(1e-9)


def of_count(count: float, total: int, p: float) -> float:
    """Return the improbability, in nats, of `count` successes in `total` draws of probability p.

    For a binomial count, the best t gives P <= exp(-total * KL(count / total || p)) for the tail on
    the count's side of p.
    """
    if total == 0:
        return 0.0
    share = count / total
    return total * (_part(share, p) + _part(1 - share, 1 - p))


def _part(share: float, p: float) -> float:
    if share == 0:
        return 0.0
    return share * math.log(share / p) if p > 0 else math.inf


def of_squares(counts: torch.Tensor, lengths: torch.Tensor, p: float) -> tuple[float, float]:
    """Return, in nats, how improbable it is that counts deviate at least, and at most, this much.

    The counts are binomial: line i has `lengths[i]` draws. With
    Z_i = (c_i - n_i p)^2 / (n_i p (1 - p)), E[exp(t Z_i)] is computed exactly, as a sum over the
    n_i + 1 values of c_i; only the best t is approximated, by the best of 48.
    """
    deviations = (counts - lengths * p) ** 2 / (lengths * p * (1 - p))
    total = float(deviations.sum())
    kinds, how_many = torch.unique(lengths, return_counts=True)
    scales = torch.logspace(-4, 0.5, 48, dtype=torch.float64)  # candidates for the best t
    return tuple(
        max(0.0, float((t * total - _log_moments(t, kinds, how_many, p)).max()))
        for t in (scales, -scales)
    )  # type: ignore[return-value]


def _log_moments(
    t: torch.Tensor, lengths: torch.Tensor, how_many: torch.Tensor, p: float
) -> torch.Tensor:
    """Return ln E[exp(t sum Z_i)] for each t."""
    result = torch.zeros_like(t)
    for length, times in zip(lengths.tolist(), how_many.tolist(), strict=True):
        n = int(length)
        k = torch.arange(n + 1, dtype=torch.float64)
        log_chance = (
            math.lgamma(n + 1)
            - torch.lgamma(k + 1)
            - torch.lgamma(n - k + 1)
            + k * math.log(p)
            + (n - k) * math.log(1 - p)
        )
        squares = (k - n * p) ** 2 / (n * p * (1 - p))
        result += times * torch.logsumexp(log_chance + t[:, None] * squares, dim=1)
    return result


def farthest_sum(largest: float, sums: int, variance: float) -> float:
    """Return a bound that any of `sums` sums of independent terms exceeds with probability <= 1e-9.

    The terms have mean 0 and are at most `largest` in magnitude; `variance` is the variance of a
    sum. The bound is Bernstein's inequality solved for s:
    P(|S| >= s) <= 2 exp(-s^2 / (2 (variance + largest s / 3))).
    """
    nats = SURE + math.log(2 * sums)
    linear = largest * nats / 3
    return linear + math.sqrt(linear**2 + 2 * variance * nats)
