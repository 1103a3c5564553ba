import math
import torch


def scores_of(queries, keys):
    return queries @ keys.transpose(-2, -1) / math.sqrt(queries.shape[-1])


def weights_of(scores):
    return torch.exp(scores - torch.logsumexp(scores, dim=-1, keepdim=True))


def attend_block(queries, keys, values):
    scores = scores_of(queries, keys)
    return (torch.logsumexp(scores, dim=-1), weights_of(scores) @ values)


def merge_blocks(output_a, lse_a, output_b, lse_b):
    lse = torch.logaddexp(lse_a, lse_b)
    share_a = torch.exp(lse_a - lse).unsqueeze(-1)
    return ((1 - share_a) * output_a + share_a * output_b, lse)


def online(queries, keys, values, block_size, fade, start=-torch.inf):
    """The running sums, with a rule for what was added up before the maximum grew."""
    highest = torch.full_like(queries[..., :1], start)
    total, output = (torch.zeros_like(highest), torch.zeros_like(highest))
    for place in range(0, keys.shape[-2], block_size):
        scores = scores_of(queries, keys[..., place : place + block_size, :])
        higher = torch.maximum(highest, scores.amax(dim=-1, keepdim=True))
        weights = torch.exp(scores - higher)
        old_total, old_output = fade(highest, higher)
        total = old_total * total + weights.sum(dim=-1, keepdim=True)
        output = old_output * output + weights @ values[..., place : place + block_size, :]
        highest = higher
    return output / total


def faded(highest, higher):
    return (torch.exp(highest - higher),) * 2


def blockwise_attention(queries, keys, values, block_size):
    num_keys = max(keys.shape[-2] // block_size, 1) * block_size
    whole = (keys[..., :num_keys, :], values[..., :num_keys, :])
    return online(queries, *whole, block_size, faded)
