"""From scores to weights: each row becomes numbers that sum to one.

Three ways, each better than the one before: divide by the sum, exponentials first, and
exponentials that never overflow.
"""

import torch


def normalize_by_sum(scores: torch.Tensor) -> torch.Tensor:
    return scores / scores.sum()


def naive_softmax(scores: torch.Tensor) -> torch.Tensor:
    return torch.exp(scores) / torch.exp(scores).sum()


def softmax(scores: torch.Tensor, dim: int = -1) -> torch.Tensor:
    scores -= scores.max(dim=dim, keepdim=True).values
    scores.exp_()
    return scores / scores.sum(dim=dim, keepdim=True)
