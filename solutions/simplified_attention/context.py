"""Context vectors: each token's mixture of all values.

The weights say how much of each value goes into the mixture.
"""

import torch


def context_vector(weights: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """Mixes all values into the context vector of one query.

    Args:
        weights: (S,), one per value; they need not sum to one.
        values: (S, d), one row per token.

    Returns:
        (d,): the sum over s of `weights[s]` times `values[s]`. The result has the dtype of the
        values. Gradients flow to both arguments, which are not changed.
    """
    ### BEGIN SOLUTION
    # from document 000, line 135; document 003, line 119; document 002, line 346
    return weights @ values  # (S,) @ (S, d) -> (d,)
    ### END SOLUTION


def context_vectors(weights: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """Mixes all values into one context vector per query.

    Args:
        weights: (..., T, S), one row per query; rows need not sum to one. There may be any number
            of leading dimensions.
        values: (..., S, d), with the same leading dimensions.

    Returns:
        (..., T, d): row t is the sum over s of `weights[..., t, s]` times `values[..., s, :]`. The
        result has the dtype of the values. Gradients flow to both arguments, which are not
        changed.

    Source: Vaswani et al. 2017 (arXiv 1706.03762), equation 1 (the product with V).
    """
    ### BEGIN SOLUTION
    # from document 000, line 182; document 003, line 192; document 004, line 562
    return weights @ values  # (..., T, S) @ (..., S, d) -> (..., T, d)
    ### END SOLUTION


def simplified_self_attention(inputs: torch.Tensor) -> torch.Tensor:
    """Lets every token attend to all tokens, without learned weights.

    Args:
        inputs: (..., T, d), one row per token, with any number of leading dimensions. Different
            sequences do not see each other.

    Returns:
        (..., T, d): row t is the mixture of all rows, weighted by the softmax over the dot
        products of row t with each of them. There are no weight matrices and no scaling. The
        result has the dtype of the inputs. Gradients flow, and `inputs` is not changed.
    """
    ### BEGIN SOLUTION
    # from document 000, lines 151 to 182; document 003, lines 135 to 192
    scores = inputs @ inputs.transpose(-2, -1)  # (..., T, d) @ (..., d, T) -> (..., T, T)
    weights = torch.softmax(scores, dim=-1)  # (..., T, T), each row sums to one
    return weights @ inputs  # (..., T, T) @ (..., T, d) -> (..., T, d)
    ### END SOLUTION
