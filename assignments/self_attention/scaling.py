"""Scaled dot-product attention: scores of a size that suits softmax, then the context."""

import torch


def scale_scores(scores: torch.Tensor, d_k: int) -> torch.Tensor:
    """Divides attention scores by the square root of the size of queries and keys.

    Args:
        scores: (..., T, S).
        d_k: the size of a query or key; any positive integer, even if it is not a perfect square.

    Returns:
        (..., T, S), in the dtype of the scores.

    Source: Vaswani et al. 2017 (arXiv 1706.03762), section 3.2.1.
    """
    raise NotImplementedError


def attention_weights(queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    """Computes how much each query attends to each key: softmax of the scaled scores over keys.

    Args:
        queries: (..., T, d).
        keys: (..., S, d), with the same leading dimensions.

    Returns:
        (..., T, S), in the dtype of the queries: row t holds the weights of query t: none
        is negative, and they sum to one. There is no mask.

    Source: Vaswani et al. 2017 (arXiv 1706.03762), equation 1.
    """
    raise NotImplementedError


def scaled_dot_product_attention(
    queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor
) -> torch.Tensor:
    """Mixes the values for every query, weighted by how well the query matches each key.

    Args:
        queries: (..., T, d).
        keys: (..., S, d), with the same leading dimensions.
        values: (..., S, d_v), one row per key; d_v may differ from d.

    Returns:
        (..., T, d_v), in the dtype of the inputs: the context vector of every query. There is no
        mask and no dropout.

    Not allowed: torch's own `scaled_dot_product_attention`, because this question builds it.
    Threads and processes are not allowed either.

    Source: Vaswani et al. 2017 (arXiv 1706.03762), equation 1.
    """
    raise NotImplementedError
