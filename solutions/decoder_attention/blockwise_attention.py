"""Blockwise attention: exact attention that computes the scores of one block at a time.

Each block of keys gives an output and one number per query, the log-sum-exp of its scores. These
two are enough to combine the results of blocks into the result over all keys.
"""

import math

import torch


def attend_block(
    queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Computes attention over one block of keys, and the number needed to merge it with others.

    Args:
        queries: (..., T, d).
        keys: (..., S, d).
        values: (..., S, d_v).

    Returns:
        The pair (output, lse). output: (..., T, d_v), unmasked attention, with scores divided by
        the square root of d. lse: (..., T), the natural logarithm of the sum over the keys of
        the exponentials of the scaled scores.

    Source: Dao 2023 (arXiv 2307.08691), section 3.1.
    """
    ### BEGIN SOLUTION
    scores = queries @ keys.transpose(-2, -1) / math.sqrt(queries.shape[-1])  # (..., T, S)
    lse = torch.logsumexp(scores, dim=-1)  # (..., T)
    weights = torch.exp(scores - lse.unsqueeze(-1))  # (..., T, S), rows sum to one
    return weights @ values, lse  # (..., T, d_v), (..., T)
    ### END SOLUTION


def merge_blocks(
    output_a: torch.Tensor, lse_a: torch.Tensor, output_b: torch.Tensor, lse_b: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Merges the results of `attend_block` for two blocks into its result for all their keys.

    Args:
        output_a: (..., T, d), the output of the first block.
        lse_a: (..., T), the lse of the first block. A block without keys has output 0 and lse minus
            infinity; at most one of the two blocks has no keys.
        output_b: (..., T, d), the output of the second block.
        lse_b: (..., T), the lse of the second block.

    Returns:
        The pair (output, lse) of (..., T, d), (..., T).

    Source: Milakov and Gimelshein 2018 (arXiv 1805.02867), section 3; Dao et al. 2022 (arXiv
    2205.14135), section 3.1.
    """
    ### BEGIN SOLUTION
    lse = torch.logaddexp(lse_a, lse_b)  # (..., T)
    share_a = torch.exp(lse_a - lse).unsqueeze(-1)  # (..., T, 1)
    share_b = torch.exp(lse_b - lse).unsqueeze(-1)  # (..., T, 1), 1 - share_a
    return share_a * output_a + share_b * output_b, lse
    ### END SOLUTION


def blockwise_attention(
    queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, block_size: int
) -> torch.Tensor:
    """Computes attention over all keys, `block_size` keys at a time.

    The result is the same as that of attention over all keys at once.

    Args:
        queries: (..., T, d).
        keys: (..., S, d).
        values: (..., S, d_v).
        block_size: the number of keys in a block; the last block may be shorter, and
            block_size may be larger than S.

    Returns:
        (..., T, d_v), unmasked attention, with scores divided by the square root of d.

    Source: Rabe and Staats 2021 (arXiv 2112.05682), section 2; Dao et al. 2022 (arXiv 2205.14135),
    section 3.1.
    """
    ### BEGIN SOLUTION
    highest = torch.full_like(queries[..., :1], -torch.inf)  # (..., T, 1), the largest score so far
    total = output = torch.zeros_like(highest)  # sums over the blocks so far
    for start in range(0, keys.shape[-2], block_size):
        block = slice(start, start + block_size)
        scores = queries @ keys[..., block, :].transpose(-2, -1) / math.sqrt(queries.shape[-1])
        higher = torch.maximum(highest, scores.amax(dim=-1, keepdim=True))  # (..., T, 1)
        fade = torch.exp(highest - higher)  # (..., T, 1), 0 at the first block
        weights = torch.exp(scores - higher)  # (..., T, block)
        total = fade * total + weights.sum(dim=-1, keepdim=True)  # (..., T, 1)
        output = fade * output + weights @ values[..., block, :]  # (..., T, d_v)
        highest = higher
    return output / total
    ### END SOLUTION
