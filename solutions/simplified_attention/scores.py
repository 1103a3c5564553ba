"""Attention scores: how well a query fits each input.

Every score is a dot product. A large one says that two vectors point the same way.
"""

import torch


def query_scores(inputs: torch.Tensor, query: torch.Tensor) -> torch.Tensor:
    """Scores one query against every input.

    Args:
        inputs: (T, d), one row per token.
        query: (d,).

    Returns:
        (T,), in the dtype of the inputs: entry i is the dot product of `inputs[i]` and `query`.

    Source: document 000, line 63.
    """
    ### BEGIN SOLUTION
    return inputs @ query  # (T, d) @ (d,) -> (T,)
    ### END SOLUTION


def attention_scores(queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    """Scores every query against every key.

    Args:
        queries: (..., T, d).
        keys: (..., S, d), with the same leading dimensions.

    Returns:
        (..., T, S): entry [t, s] is the dot product of query t and key s.

    Source: Vaswani et al. 2017, section 3.2.1 (before scaling); document 000, line 151.
    """
    ### BEGIN SOLUTION
    return queries @ keys.transpose(-2, -1)  # (..., T, d) @ (..., d, S) -> (..., T, S)
    ### END SOLUTION
