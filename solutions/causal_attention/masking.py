"""Causal masking: a token attends to itself and to earlier tokens, never to later ones.

The future of token t is every token s > t. There are several ways to hide it.
"""

import torch


def causal_mask(num_tokens: int) -> torch.Tensor:
    """Marks which keys each query must not see.

    Args:
        num_tokens: T, the length of the sequence, at least 1.

    Returns:
        (T, T), bool: entry [t, s] is True if token s comes after token t (s > t). The
        diagonal is False, because a token may attend to itself.
    """
    ### BEGIN SOLUTION
    # from document 000, line 421; document 004, line 508
    everywhere = torch.ones(num_tokens, num_tokens, dtype=torch.bool)  # (T, T)
    return everywhere.triu(diagonal=1)  # (T, T), True above the diagonal
    ### END SOLUTION


def mask_and_renormalize(weights: torch.Tensor) -> torch.Tensor:
    """Sets future attention weights to zero and normalizes each row to sum to one again.

    Args:
        weights: (..., T, T), not negative. Rows need not sum to one, but each row has a
            positive weight that is not in the future.

    Returns:
        (..., T, T), in the dtype of the weights: zero above the diagonal, and every row sums to
        one.
    """
    ### BEGIN SOLUTION
    # from document 000, lines 367 to 406
    visible = weights.tril()  # (..., T, T), zero above the diagonal
    row_sums = visible.sum(dim=-1, keepdim=True)  # (..., T, 1)
    return visible / row_sums  # (..., T, T)
    ### END SOLUTION


def mask_scores(scores: torch.Tensor) -> torch.Tensor:
    """Makes future scores so low that softmax turns them into weights of zero.

    Args:
        scores: (..., T, T), scaled or not; |score| < 50.

    Returns:
        (..., T, T), in the dtype of the scores: future scores are minus infinity (the lowest number
        of the dtype is also allowed), the others are unchanged. The result is judged after
        softmax.
    """
    ### BEGIN SOLUTION
    # from document 000, line 421
    future = torch.ones_like(scores, dtype=torch.bool).triu(diagonal=1)  # (..., T, T)
    return scores.masked_fill(future, -torch.inf)  # (..., T, T)
    ### END SOLUTION


def causal_attention_weights(queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    """Computes causal attention weights: softmax(mask(Q K^T) / sqrt(d)).

    Args:
        queries: (..., T, d).
        keys: (..., T, d), with the same leading dimensions.

    Returns:
        (..., T, T), in the dtype of the inputs: zero above the diagonal, and every row sums to
        one.

    Source: Vaswani et al. 2017 (arXiv 1706.03762), sections 3.2.1 and 3.2.3.
    """
    ### BEGIN SOLUTION
    # from document 000, line 445; document 004, lines 508 to 538
    scores = queries @ keys.transpose(-2, -1)  # (..., T, d) @ (..., d, T) -> (..., T, T)
    future = torch.ones_like(scores, dtype=torch.bool).triu(diagonal=1)  # (..., T, T)
    scores = scores.masked_fill(future, -torch.inf)  # (..., T, T)
    return torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)  # (..., T, T)
    ### END SOLUTION
