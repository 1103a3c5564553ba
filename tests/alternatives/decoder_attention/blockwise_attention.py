"""Right but unusual ways to attend to blocks, to merge them, and to process them one by one."""

import math

import torch
from torch.utils.checkpoint import checkpoint

from autograder.suite import alternative


def scores_of(queries, keys):
    return queries @ keys.transpose(-2, -1) / math.sqrt(queries.shape[-1])


# attend_block


@alternative("attend_block")
def shifted_by_the_maximum(queries, keys, values):
    scores = scores_of(queries, keys)
    highest = scores.amax(dim=-1, keepdim=True)
    numbers = torch.exp(scores - highest)
    total = numbers.sum(dim=-1, keepdim=True)
    return (numbers @ values) / total, (highest + torch.log(total)).squeeze(-1)


@alternative("attend_block")
def maximum_without_gradient(queries, keys, values):
    scores = scores_of(queries, keys)
    highest = scores.max(dim=-1, keepdim=True).values.detach()
    numbers = torch.exp(scores - highest)
    total = numbers.sum(dim=-1, keepdim=True)
    return numbers / total @ values, torch.log(total[..., 0]) + highest[..., 0]


@alternative("attend_block")
def logarithms_added_one_by_one(queries, keys, values):
    scores = scores_of(queries, keys)
    lse = scores[..., 0]
    for s in range(1, scores.shape[-1]):
        lse = torch.logaddexp(lse, scores[..., s])
    output = sum(
        torch.exp(scores[..., s] - lse)[..., None] * values[..., s, None, :]
        for s in range(scores.shape[-1])
    )
    return output, lse


@alternative("attend_block")
def einsums(queries, keys, values):
    scores = torch.einsum("...td,...sd->...ts", queries * queries.shape[-1] ** -0.5, keys)
    lse = scores.logsumexp(-1)
    return torch.einsum("...ts,...sv->...tv", (scores - lse[..., None]).exp(), values), lse


@alternative("attend_block")
def scaled_twice_by_the_fourth_root(queries, keys, values):
    root = queries.shape[-1] ** 0.25
    scores = (queries / root) @ (keys / root).mT
    lse = torch.logsumexp(scores, dim=-1, keepdim=True)
    return torch.exp(scores - lse) @ values, lse.squeeze(-1)


@alternative("attend_block")
def float64_inside(queries, keys, values):
    scores = scores_of(queries.double(), keys.double())
    lse = torch.logsumexp(scores, dim=-1)
    output = torch.exp(scores - lse.unsqueeze(-1)) @ values.double()
    return output.to(queries.dtype), lse.to(queries.dtype)


@alternative("attend_block")
def query_by_query(queries, keys, values):
    outputs, sums = [], []
    for t in range(queries.shape[-2]):
        scores = (keys * queries[..., t, None, :]).sum(-1) / math.sqrt(queries.shape[-1])
        sums.append(torch.logsumexp(scores, dim=-1))
        outputs.append((torch.exp(scores - sums[-1][..., None])[..., None] * values).sum(-2))
    return torch.stack(outputs, dim=-2), torch.stack(sums, dim=-1)


# merge_blocks


@alternative("merge_blocks")
def sigmoid_of_the_difference(output_a, lse_a, output_b, lse_b):
    share_a = torch.sigmoid(lse_a - lse_b).unsqueeze(-1)
    share_b = torch.sigmoid(lse_b - lse_a).unsqueeze(-1)
    return share_a * output_a + share_b * output_b, torch.logaddexp(lse_a, lse_b)


@alternative("merge_blocks")
def shifted_by_the_larger(output_a, lse_a, output_b, lse_b):
    highest = torch.maximum(lse_a, lse_b)
    sum_a, sum_b = torch.exp(lse_a - highest), torch.exp(lse_b - highest)
    total = sum_a + sum_b
    output = (sum_a[..., None] * output_a + sum_b[..., None] * output_b) / total[..., None]
    return output, highest + torch.log(total)


@alternative("merge_blocks")
def stacked(output_a, lse_a, output_b, lse_b):
    both = torch.stack([lse_a, lse_b])
    lse = torch.logsumexp(both, dim=0)
    shares = torch.exp(both - lse).unsqueeze(-1)
    return (shares * torch.stack([output_a, output_b])).sum(0), lse


@alternative("merge_blocks")
def between_the_two(output_a, lse_a, output_b, lse_b):
    share = torch.sigmoid(lse_b - lse_a).unsqueeze(-1)
    return torch.lerp(output_a, output_b, share), torch.logaddexp(lse_b, lse_a)


@alternative("merge_blocks")
def one_step_from_the_first(output_a, lse_a, output_b, lse_b):
    lse = torch.logsumexp(torch.stack([lse_a, lse_b], dim=-1), dim=-1)
    share_b = torch.exp(lse_b - lse)[..., None]
    return output_a * (1 - share_b) + output_b * share_b, lse


@alternative("merge_blocks")
def a_block_of_two_keys(output_a, lse_a, output_b, lse_b):
    scores = torch.stack([lse_a, lse_b], dim=-1).unsqueeze(-2)  # (..., T, 1, 2)
    lse = scores.logsumexp(-1, keepdim=True)
    values = torch.stack([output_a, output_b], dim=-2)  # (..., T, 2, d)
    return ((scores - lse).exp() @ values).squeeze(-2), lse.squeeze(-1).squeeze(-1)


@alternative("merge_blocks")
def softplus_for_the_sum(output_a, lse_a, output_b, lse_b):
    lse = torch.logaddexp(lse_a, lse_b)
    output = torch.exp(lse_a - lse)[..., None] * output_a
    return torch.addcmul(output, torch.exp(lse_b - lse)[..., None], output_b), lse


# blockwise_attention


@alternative("blockwise_attention", is_usual=True)
def first_block_then_the_others(queries, keys, values, block_size):
    output = lse = None
    for start in range(0, keys.shape[-2], block_size):
        block = slice(start, start + block_size)
        some, of_some = keys[..., block, :], values[..., block, :]
        more, more_lse = attend_block(queries, some, of_some)  # noqa: F821
        if output is None:
            output, lse = more, more_lse
        else:
            output, lse = merge_blocks(output, lse, more, more_lse)  # noqa: F821
    return output


@alternative("blockwise_attention")
def blocks_merged_by_the_others(queries, keys, values, block_size):
    shape = (*queries.shape[:-1], values.shape[-1])
    output = torch.zeros(shape, dtype=queries.dtype)
    lse = torch.full(shape[:-1], -torch.inf, dtype=queries.dtype)
    for key, value in zip(keys.split(block_size, -2), values.split(block_size, -2), strict=True):
        output, lse = merge_blocks(output, lse, *attend_block(queries, key, value))  # noqa: F821
    return output


@alternative("blockwise_attention")
def all_at_once(queries, keys, values, block_size):
    scores = scores_of(queries, keys)
    return torch.exp(scores - scores.logsumexp(-1, keepdim=True)) @ values


@alternative("blockwise_attention")
def largest_score_first(queries, keys, values, block_size):
    blocks = list(zip(keys.split(block_size, -2), values.split(block_size, -2), strict=True))
    highest = torch.stack([scores_of(queries, key).amax(-1, keepdim=True) for key, _ in blocks])
    highest = highest.amax(0)
    weights = [torch.exp(scores_of(queries, key) - highest) for key, _ in blocks]
    total = sum(part.sum(-1, keepdim=True) for part in weights)
    return sum(part @ value for part, (_, value) in zip(weights, blocks, strict=True)) / total


@alternative("blockwise_attention")
def divided_and_multiplied_back(queries, keys, values, block_size):
    highest = torch.full_like(queries[..., :1], -torch.inf)
    total, output = torch.zeros_like(highest), torch.zeros_like(highest)
    for start in range(0, keys.shape[-2], block_size):
        scores = scores_of(queries, keys[..., start : start + block_size, :])
        higher = torch.maximum(highest, scores.amax(-1, keepdim=True))
        numbers = torch.exp(scores - higher)
        grown = torch.exp(highest - higher) * total + numbers.sum(-1, keepdim=True)
        new = numbers @ values[..., start : start + block_size, :]
        output = (torch.exp(highest - higher) * total * output + new) / grown
        highest, total = higher, grown
    return output


@alternative("blockwise_attention")
def shares_of_all_blocks(queries, keys, values, block_size):
    outputs, sums = [], []
    for start in range(0, keys.shape[-2], block_size):
        scores = scores_of(queries, keys.narrow(-2, start, min(block_size, keys.shape[-2] - start)))
        sums.append(scores.logsumexp(-1))
        part = torch.exp(scores - sums[-1][..., None])
        outputs.append(part @ values[..., start : start + block_size, :])
    lse = torch.stack(sums, dim=-1)  # (..., T, blocks)
    shares = torch.exp(lse - lse.logsumexp(-1, keepdim=True))
    return (shares.unsqueeze(-2) @ torch.stack(outputs, dim=-2)).squeeze(-2)


@alternative("blockwise_attention")
def halves_of_the_keys(queries, keys, values, block_size):
    def attend(keys, values):
        if keys.shape[-2] <= block_size:
            scores = scores_of(queries, keys)
            lse = scores.logsumexp(-1, keepdim=True)
            return torch.exp(scores - lse) @ values, lse
        middle = keys.shape[-2] // 2
        one, lse_one = attend(keys[..., :middle, :], values[..., :middle, :])
        other, lse_other = attend(keys[..., middle:, :], values[..., middle:, :])
        lse = torch.logaddexp(lse_one, lse_other)
        return one * torch.exp(lse_one - lse) + other * torch.exp(lse_other - lse), lse

    return attend(keys, values)[0]


@alternative("blockwise_attention")
def queries_in_blocks_too(queries, keys, values, block_size):
    rows = []
    for part in queries.split(block_size, dim=-2):
        scores = torch.cat([scores_of(part, key) for key in keys.split(block_size, -2)], dim=-1)
        rows.append(torch.exp(scores - scores.logsumexp(-1, keepdim=True)) @ values)
    return torch.cat(rows, dim=-2)


@alternative("attend_block")
def checkpointed_block(queries, keys, values):
    def attend(q, k, v):
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        lse = torch.logsumexp(scores, -1)
        return torch.exp(scores - lse[..., None]) @ v, lse

    return checkpoint(attend, queries, keys, values, use_reentrant=False)


@alternative("blockwise_attention")
def blocks_of_queries_as_well(queries, keys, values, block_size):
    def attend(block):
        scores = [block @ k.mT / math.sqrt(block.shape[-1]) for k in keys.split(block_size, -2)]
        lse = torch.stack([torch.logsumexp(s, -1) for s in scores]).logsumexp(0).unsqueeze(-1)
        parts = zip(scores, values.split(block_size, -2), strict=True)
        return sum(torch.exp(s - lse) @ v for s, v in parts)

    return torch.cat([attend(block) for block in queries.split(block_size, -2)], -2)


class _Block(torch.autograd.Function):
    """Returns the output and the log-sum-exp, and defines its own backward pass."""

    @staticmethod
    def forward(ctx, queries, keys, values):
        scores = queries @ keys.mT / queries.shape[-1] ** 0.5
        lse = scores.logsumexp(-1)
        weights = (scores - lse[..., None]).exp()
        ctx.save_for_backward(queries, keys, values, weights)
        return weights @ values, lse

    @staticmethod
    def backward(ctx, to_output, to_lse):
        queries, keys, values, weights = ctx.saved_tensors
        to_weights = to_output @ values.mT
        mean = (weights * to_weights).sum(-1, keepdim=True)
        to_scores = weights * (to_weights - mean + to_lse[..., None]) / queries.shape[-1] ** 0.5
        return to_scores @ keys, to_scores.mT @ queries, weights.mT @ to_output


@alternative("attend_block")
def backward_of_its_own(queries, keys, values):
    return _Block.apply(queries, keys, values)


@alternative("blockwise_attention")
def merged_as_a_tree(queries, keys, values, block_size):
    blocks = [
        _Block.apply(queries, *block)
        for block in zip(keys.split(block_size, -2), values.split(block_size, -2), strict=True)
    ]
    while len(blocks) > 1:
        rest = blocks[len(blocks) // 2 * 2 :]
        blocks = [_merged(*pair) for pair in zip(blocks[::2], blocks[1::2])] + rest
    return blocks[0][0]


def _merged(one, other):
    share = torch.sigmoid(one[1] - other[1])[..., None]
    return share * one[0] + (1 - share) * other[0], torch.logaddexp(one[1], other[1])


@alternative("merge_blocks")
def merged_one_by_one(out_a, lse_a, out_b, lse_b):
    if out_a.dim() > 1:
        parts = [merged_one_by_one(*part) for part in zip(out_a, lse_a, out_b, lse_b, strict=True)]
        return torch.stack([out for out, _ in parts]), torch.stack([lse for _, lse in parts])
    lse = torch.logaddexp(lse_a, lse_b)
    a, b = torch.exp(lse_a - lse), torch.exp(lse_b - lse)
    return torch.stack([a * x + b * y for x, y in zip(out_a, out_b, strict=True)]), lse
