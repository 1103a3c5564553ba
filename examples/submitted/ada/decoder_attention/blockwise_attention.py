import math
import torch


def scores_of(queries, keys):
    return queries @ keys.transpose(-2, -1) / math.sqrt(queries.shape[-1])


def attend_block(queries, keys, values):
    scores = scores_of(queries, keys)
    highest = scores.amax(dim=-1, keepdim=True)
    numbers = torch.exp(scores - highest)
    total = numbers.sum(dim=-1, keepdim=True)
    return (numbers @ values / total, (highest + torch.log(total)).squeeze(-1))


def merge_blocks(output_a, lse_a, output_b, lse_b):
    highest = torch.maximum(lse_a, lse_b)
    sum_a, sum_b = (torch.exp(lse_a - highest), torch.exp(lse_b - highest))
    total = sum_a + sum_b
    output = (sum_a[..., None] * output_a + sum_b[..., None] * output_b) / total[..., None]
    return (output, highest + torch.log(total))


def blockwise_attention(queries, keys, values, block_size):
    blocks = list(zip(keys.split(block_size, -2), values.split(block_size, -2), strict=True))
    highest = torch.stack([scores_of(queries, key).amax(-1, keepdim=True) for key, _ in blocks])
    highest = highest.amax(0)
    weights = [torch.exp(scores_of(queries, key) - highest) for key, _ in blocks]
    total = sum((part.sum(-1, keepdim=True) for part in weights))
    return sum((part @ value for part, (_, value) in zip(weights, blocks, strict=True))) / total
