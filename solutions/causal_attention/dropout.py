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

    Source: Srivastava et al. 2014, "Dropout" (JMLR 15).
    """
    ### BEGIN SOLUTION
    # from document 000, lines 466 to 481
    if not 0 <= p <= 1:
        raise ValueError(f"the dropout probability lies between 0 and 1, got {p}")
    if not training or p == 0:
        return x
    if p == 1:  # nothing is kept, and 1 / (1 - p) does not exist
        return torch.zeros_like(x)
    kept = torch.rand_like(x) >= p  # the shape of x, True with probability 1 - p
    return x * kept / (1 - p)  # the shape of x
    ### END SOLUTION


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
    ### BEGIN SOLUTION
    # from document 000, lines 481 and 545
    kept = torch.nn.functional.dropout(weights, p, training)  # (..., T, S)
    return kept @ values  # (..., T, S) @ (..., S, d) -> (..., T, d)
    ### END SOLUTION
