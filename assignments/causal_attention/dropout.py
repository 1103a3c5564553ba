"""Dropout: while training, some entries are left out at random, so that none is relied on alone."""

import torch


def dropout(x: torch.Tensor, p: float, training: bool = True) -> torch.Tensor:
    """Sets each entry to zero with probability p and makes the others larger.

    Args:
        x: any shape, floating point.
        p: the probability that an entry is dropped, from 0 to 1.
        training: if False, nothing is dropped.

    Returns:
        The shape and dtype of x. Each entry is 0 with probability p, whatever happens to the others
        and afresh in every call; a kept one is multiplied by 1 / (1 - p), so that the mean stays.
        x itself when `training` is False or p is 0; all zeros when p is 1.

    Raises:
        ValueError: p lies outside [0, 1], in training or not.

    Not allowed: torch's dropout (`nn.Dropout`, `F.dropout` and others), because it is what this
    question builds. Everything in torch that draws random numbers is allowed. Threads and processes
    are not allowed either.

    Source: Srivastava et al. 2014, "Dropout" (JMLR 15).
    """
    raise NotImplementedError


def dropout_attention_weights(
    weights: torch.Tensor, values: torch.Tensor, p: float, training: bool = True
) -> torch.Tensor:
    """Context vectors of attention weights some of which are dropped.

    Args:
        weights: (..., T, S), after softmax and mask. Rows need not sum to one.
        values: (..., S, d), with the same leading dimensions.
        p: the probability that a weight is dropped, from 0 to 1.
        training: if False, nothing is dropped.

    Returns:
        (..., T, d), in the dtype of the inputs: row t is the sum of the values by the weights of
        query t that were kept, each times 1 / (1 - p). The rows of weights are not made to sum
        to one again.

    torch's own dropout is allowed here; so is the function `dropout` above.
    """
    raise NotImplementedError
