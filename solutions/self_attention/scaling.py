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
    ### BEGIN SOLUTION
    # from documents 003, line 291, and 004, line 524
    return scores / d_k**0.5  # (..., T, S)
    ### END SOLUTION


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
    ### BEGIN SOLUTION
    # from documents 000, line 350, 003, line 291, and 002, line 313
    scores = queries @ keys.transpose(-2, -1)  # (..., T, d) @ (..., d, S) -> (..., T, S)
    scaled = scores / queries.shape[-1] ** 0.5  # (..., T, S)
    return torch.softmax(scaled, dim=-1)  # (..., T, S), each row sums to one
    ### END SOLUTION


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

    Source: Vaswani et al. 2017 (arXiv 1706.03762), equation 1.
    """
    ### BEGIN SOLUTION
    # from documents 003, line 302, and 000, line 253
    scores = queries @ keys.transpose(-2, -1)  # (..., T, d) @ (..., d, S) -> (..., T, S)
    weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)  # (..., T, S)
    return weights @ values  # (..., T, S) @ (..., S, d_v) -> (..., T, d_v)
    ### END SOLUTION
