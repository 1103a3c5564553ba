"""From scores to weights: each row becomes numbers that sum to one.

There are three ways, each better than the one before: divide by the sum, take exponentials first,
and take exponentials that never overflow.
"""

import torch


def normalize_by_sum(scores: torch.Tensor) -> torch.Tensor:
    """Divides each row by its sum.

    Args:
        scores: (..., S), with any number of leading dimensions; no row sums to zero.

    Returns:
        (..., S): every row along the last dimension sums to one. A negative score is divided like
        any other. The result has the dtype of the scores. Gradients flow, and `scores` is not
        changed.
    """
    raise NotImplementedError


def naive_softmax(scores: torch.Tensor) -> torch.Tensor:
    """Divides the exponential of each score by the sum of its row's exponentials.

    Args:
        scores: (..., S) of moderate size: exp(scores) must not overflow.

    Returns:
        (..., S): positive, and every row along the last dimension sums to one. The result has the
        dtype of the scores. Gradients flow, and `scores` is not changed.
    """
    raise NotImplementedError


def softmax(scores: torch.Tensor, dim: int = -1) -> torch.Tensor:
    """Computes softmax along any dimension, finite even for large scores and minus infinity.

    Args:
        scores: any shape. Scores may be as large as 1e3 or as low as -1e3, and single entries may
            be `-inf`; along `dim`, at least one entry is finite.
        dim: the dimension along which the result sums to one; negative numbers count from the end.

    Returns:
        The shape and dtype of `scores`: non-negative, with sums of one along `dim`, and exactly 0
        where a score is `-inf`. Gradients flow, and `scores` is not changed.

    Not allowed: torch's softmax functions (`torch.softmax`, `Tensor.softmax`, `nn.Softmax`,
    `log_softmax`, `softmin` and others) and torch's attention functions and layers
    (`F.scaled_dot_product_attention`, `nn.MultiheadAttention` and others), because you build one
    yourself here. `torch.logsumexp` is allowed. Threads and processes are not allowed either.
    """
    raise NotImplementedError
