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
    ### BEGIN SOLUTION
    # from document 000, lines 481 and 545
    kept = torch.nn.functional.dropout(weights, p, training)  # (..., T, S)
    return kept @ values  # (..., T, S) @ (..., S, d) -> (..., T, d)
    ### END SOLUTION
