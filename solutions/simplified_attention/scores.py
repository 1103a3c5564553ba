"""Attention scores: how well a query matches each input.

Each score is the dot product of two vectors: one belongs to the word that asks, the other to a word
that answers.
"""

import torch


def query_scores(inputs: torch.Tensor, query: torch.Tensor) -> torch.Tensor:
    """Scores one query against every input.

    Args:
        inputs: (T, d), one row per token.
        query: (d,), any vector of that length; it need not be a row of `inputs`.

    Returns:
        (T,): entry i is the dot product of `inputs[i]` and `query`, neither scaled nor
        normalized. The result has the dtype of the inputs. Gradients flow to both arguments, which
        are not changed.
    """
    ### BEGIN SOLUTION
    # from document 000, line 63; document 003, line 59
    return inputs @ query  # (T, d) @ (d,) -> (T,)
    ### END SOLUTION


def attention_scores(queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    """Scores every query against every key.

    Args:
        queries: (..., T, d), with any number of leading dimensions.
        keys: (..., S, d), with the same leading dimensions. S may differ from T.

    Returns:
        (..., T, S): entry [..., t, s] is the dot product of query t and key s, neither scaled nor
        normalized. The result has the dtype of the inputs. Gradients flow to both arguments, which
        are not changed.

    Source: Vaswani et al. 2017 (arXiv 1706.03762), section 3.2.1 (the product before scaling).
    """
    ### BEGIN SOLUTION
    # from document 000, line 151; document 004, line 487
    return queries @ keys.transpose(-2, -1)  # (..., T, d) @ (..., d, S) -> (..., T, S)
    ### END SOLUTION
