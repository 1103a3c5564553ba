"""Causal masking: a token looks at itself and at what came before it, never at what comes after.

Token t is a query; the keys with s > t are its future. Each function forbids them in its own way.
"""

import torch


def causal_mask(num_tokens: int) -> torch.Tensor:
    """Marks which keys each query must not see.

    Args:
        num_tokens: T, the length of the sequence, at least 1.

    Returns:
        (T, T), bool: entry [t, s] is True where token s lies in the future of token t (s > t).
        The diagonal is False, because a token may look at itself.
    """
    raise NotImplementedError


def mask_and_renormalize(weights: torch.Tensor) -> torch.Tensor:
    """Takes the future out of finished attention weights and makes each row sum to one again.

    Args:
        weights: (..., T, T), not negative. Rows need not sum to one, but in each row something
            that is not future must be above zero.

    Returns:
        (..., T, T), in the dtype of the weights: zero above the diagonal, every row sums to one.
    """
    raise NotImplementedError


def mask_scores(scores: torch.Tensor) -> torch.Tensor:
    """Makes future scores so low that softmax turns them into weights of zero.

    Args:
        scores: (..., T, T), scaled or not; |score| < 50.

    Returns:
        (..., T, T), in the dtype of the scores: future scores are minus infinity (the lowest number
        of the dtype does as well), the others are as they were. Judged after softmax.
    """
    raise NotImplementedError


def causal_attention_weights(queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    """Attention weights of tokens that see no future: softmax(mask(Q K^T) / sqrt(d)).

    Args:
        queries: (..., T, d).
        keys: (..., T, d), with the same leading dimensions.

    Returns:
        (..., T, T), in the dtype of the inputs: zero above the diagonal, every row sums to one.

    Source: Vaswani et al. 2017 (arXiv 1706.03762), sections 3.2.1 and 3.2.3.
    """
    raise NotImplementedError
