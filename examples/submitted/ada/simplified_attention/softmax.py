"""From scores to weights: each row becomes numbers that sum to one.

Three ways, each better than the one before: divide by the sum, exponentials first, and
exponentials that never overflow.
"""

import torch


def normalize_by_sum(scores: torch.Tensor) -> torch.Tensor:
    total = scores.sum(dim=-1, keepdim=True)
    return scores / total


def naive_softmax(scores: torch.Tensor) -> torch.Tensor:
    e = scores.exp()
    return e / e.sum(dim=-1, keepdim=True)


def softmax(scores: torch.Tensor, dim: int = -1) -> torch.Tensor:
    biggest = scores.max(dim=dim, keepdim=True).values
    e = torch.exp(scores - biggest)
    return e / e.sum(dim=dim, keepdim=True)
