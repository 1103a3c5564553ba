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

    Not allowed: torch's softmax functions (`torch.softmax`, `Tensor.softmax`, `nn.Softmax`,
    `log_softmax`, `softmin` and others) and torch's attention functions and layers
    (`F.scaled_dot_product_attention`, `nn.MultiheadAttention` and others), because they hide the
    sum that is needed. `torch.logsumexp`, `torch.logaddexp` and `torch.sigmoid` are allowed.
    Threads and processes are not allowed either.

    Source: Dao 2023 (arXiv 2307.08691), section 3.1.
    """
    raise NotImplementedError


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

    Not allowed: torch's softmax functions (`torch.softmax`, `Tensor.softmax`, `nn.Softmax`,
    `log_softmax`, `softmin` and others) and torch's attention functions and layers
    (`F.scaled_dot_product_attention`, `nn.MultiheadAttention` and others), because they hide the
    sum that is needed. `torch.logsumexp`, `torch.logaddexp` and `torch.sigmoid` are allowed.
    Threads and processes are not allowed either.

    Source: Milakov and Gimelshein 2018 (arXiv 1805.02867), section 3; Dao et al. 2022 (arXiv
    2205.14135), section 3.1.
    """
    raise NotImplementedError


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

    Not allowed: torch's softmax functions (`torch.softmax`, `Tensor.softmax`, `nn.Softmax`,
    `log_softmax`, `softmin` and others) and torch's attention functions and layers
    (`F.scaled_dot_product_attention`, `nn.MultiheadAttention` and others), because they hide the
    sum that is needed. `torch.logsumexp`, `torch.logaddexp` and `torch.sigmoid` are allowed.
    Threads and processes are not allowed either.

    Source: Rabe and Staats 2021 (arXiv 2112.05682), section 2; Dao et al. 2022 (arXiv 2205.14135),
    section 3.1.
    """
    raise NotImplementedError
