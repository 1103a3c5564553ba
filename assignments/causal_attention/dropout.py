"""Dropout: in training, random entries become zero, so that a model relies on no single one."""

import torch


def dropout(x: torch.Tensor, p: float, training: bool = True) -> torch.Tensor:
    """Sets each entry to zero with probability p and scales up the others.

    Args:
        x: any shape, floating point.
        p: the probability that an entry is dropped, from 0 to 1.
        training: if False, nothing is dropped.

    Returns:
        The shape and dtype of x. Each entry is 0 with probability p, independently of the other
        entries and of earlier calls; a kept entry is multiplied by 1 / (1 - p), so that the
        expected value stays the same. The result is x itself if `training` is False or p is 0, and
        all zeros if p is 1.

    Raises:
        ValueError: p lies outside [0, 1], in training or not.

    Not allowed: torch's dropout (`nn.Dropout`, `F.dropout` and others), because it is what this
    question builds. Everything else in torch that draws random numbers is allowed. Threads and
    processes are not allowed either.

    Source: Srivastava et al. 2014, "Dropout" (JMLR 15).
    """
    raise NotImplementedError


def dropout_attention_weights(
    weights: torch.Tensor, values: torch.Tensor, p: float, training: bool = True
) -> torch.Tensor:
    """Computes context vectors after dropout on the attention weights.

    Args:
        weights: (..., T, S), after masking and softmax. Rows need not sum to one.
        values: (..., S, d), with the same leading dimensions.
        p: the probability that a weight is dropped, from 0 to 1.
        training: if False, nothing is dropped.

    Returns:
        (..., T, d), in the dtype of the inputs: row t is the sum of the values, weighted by the
        weights of query t that were kept, each times 1 / (1 - p). The rows of weights are not
        normalized again.

    torch's own dropout is allowed here, and so is the function `dropout` above.
    """
    raise NotImplementedError
