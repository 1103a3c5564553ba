"""Known mistakes in attending to blocks, merging them, and blockwise attention."""

import math

import torch

from autograder.suite import misconception


def scores_of(queries, keys):
    return queries @ keys.transpose(-2, -1) / math.sqrt(queries.shape[-1])


def weights_of(scores):
    return torch.exp(scores - torch.logsumexp(scores, dim=-1, keepdim=True))


# attend_block


@misconception(
    "attend_block",
    confuses="the definition with a stable computation: exp of a large score is infinite",
    hint="What is exp(1000)? Which number could be subtracted from all scores of a query first?",
)
def overflows_for_large_scores(queries, keys, values):
    numbers = torch.exp(scores_of(queries, keys))
    total = numbers.sum(dim=-1, keepdim=True)
    return (numbers / total) @ values, torch.log(total.squeeze(-1))


@misconception(
    "attend_block",
    confuses="a stable output with a stable log-sum-exp: for large scores, the log-sum-exp is "
    "infinite",
    hint="The output stays finite for large scores. Does the second result stay finite, too?",
)
def log_sum_exp_by_definition(queries, keys, values):
    scores = scores_of(queries, keys)
    return weights_of(scores) @ values, torch.log(torch.exp(scores).sum(dim=-1))


@misconception(
    "attend_block",
    confuses="the logarithm of the sum of exponentials with the sum itself: the second result is "
    "the sum of the exponentials, not its logarithm",
    hint="A logarithm can be negative. Can your second result be negative?",
)
def sum_without_logarithm(queries, keys, values):
    scores = scores_of(queries, keys)
    return weights_of(scores) @ values, torch.exp(scores).sum(dim=-1)


@misconception(
    "attend_block",
    confuses="one number per query with a column of numbers: the second result has an extra "
    "dimension of size one",
    hint="The second result is (..., T). What is the shape of yours?",
)
def kept_dimension(queries, keys, values):
    scores = scores_of(queries, keys)
    return weights_of(scores) @ values, torch.logsumexp(scores, dim=-1, keepdim=True)


@misconception(
    "attend_block",
    confuses="the natural logarithm with the base-2 logarithm, which kernels use: the second "
    "result is a base-2 logarithm",
    hint="For one key with a score of 1, the log-sum-exp is 1. What is yours?",
)
def logarithm_to_base_two(queries, keys, values):
    scores = scores_of(queries, keys)
    return weights_of(scores) @ values, torch.logsumexp(scores, dim=-1) / math.log(2)


@misconception(
    "attend_block",
    confuses="the first result with the second: the log-sum-exp comes before the output",
    hint="Which of the two comes first: the output or the log-sum-exp?",
)
def log_sum_exp_first(queries, keys, values):
    scores = scores_of(queries, keys)
    return torch.logsumexp(scores, dim=-1), weights_of(scores) @ values


@misconception(
    "attend_block",
    confuses="the log-sum-exp with the largest score: the second result is the largest score, not "
    "the log-sum-exp",
    hint="For two keys with a score of 0, the sum of the exponentials is 2. What is its logarithm?",
)
def largest_score_returned(queries, keys, values):
    scores = scores_of(queries, keys)
    return weights_of(scores) @ values, scores.amax(dim=-1)


@misconception(
    "attend_block",
    confuses="plain scores with scaled scores: the log-sum-exp is computed from unscaled scores",
    hint="Both results come from the same scores. Do you divide by the square root of d for both?",
)
def log_sum_exp_of_unscaled_scores(queries, keys, values):
    unscaled = queries @ keys.transpose(-2, -1)
    return weights_of(scores_of(queries, keys)) @ values, torch.logsumexp(unscaled, dim=-1)


@misconception(
    "attend_block",
    confuses="plain scores with scaled ones: the scores are not scaled",
    hint="What are the scores divided by before softmax?",
)
def scores_not_divided(queries, keys, values):
    scores = queries @ keys.transpose(-2, -1)
    return weights_of(scores) @ values, torch.logsumexp(scores, dim=-1)


@misconception(
    "attend_block",
    confuses="keys with queries: the sum runs over the queries",
    hint="Which dimension of (..., T, S) holds the keys? The weights of each query sum to one.",
)
def summed_over_queries(queries, keys, values):
    scores = scores_of(queries, keys)
    lse = torch.logsumexp(scores, dim=-2, keepdim=True)
    shares = torch.exp(scores - lse)
    return shares @ values, lse.squeeze(-2).mean(-1, keepdim=True).expand(scores.shape[:-1])


@misconception(
    "attend_block",
    confuses="a weighted mean with a weighted sum: the output is not divided by the sum of the "
    "exponentials",
    hint="If all values are one, every output must be one. What is yours?",
)
def output_not_divided(queries, keys, values):
    scores = scores_of(queries, keys)
    lse = torch.logsumexp(scores, dim=-1)
    shifted = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
    return shifted @ values, lse


@misconception(
    "attend_block",
    confuses="results that need a gradient with constants: the log-sum-exp has no gradient",
    hint="The second result depends on queries and keys, and gradients flow back through it when "
    "blocks are merged. Does it have a gradient?",
)
def statistics_detached(queries, keys, values):
    scores = scores_of(queries, keys)
    return weights_of(scores) @ values, torch.logsumexp(scores.detach(), dim=-1)


@misconception(
    "attend_block",
    confuses="an unmasked block with causal attention: later keys are hidden",
    hint="Every query sees all keys of the block. Does your first query see the last key?",
)
def masked_like_causal(queries, keys, values):
    scores = scores_of(queries, keys)
    future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    scores = scores.masked_fill(future, -torch.inf)
    return weights_of(scores) @ values, torch.logsumexp(scores, dim=-1)


@misconception(
    "attend_block",
    confuses="the whole log-sum-exp with the shifted one: the largest score is not added back to "
    "the logarithm",
    hint="For one key with a score of 1, the log-sum-exp is 1. What is yours?",
)
def shift_not_added_back(queries, keys, values):
    scores = scores_of(queries, keys)
    shifted = scores - scores.amax(dim=-1, keepdim=True)
    return weights_of(scores) @ values, torch.log(torch.exp(shifted).sum(dim=-1))


# merge_blocks


@misconception(
    "merge_blocks",
    confuses="two blocks with two equal halves: the plain mean of the outputs is returned",
    hint="Should a block whose sum of exponentials is ten times as large count only as much as the "
    "other?",
)
def outputs_averaged(output_a, lse_a, output_b, lse_b):
    return (output_a + output_b) / 2, torch.logaddexp(lse_a, lse_b)


@misconception(
    "merge_blocks",
    confuses="the definition with a stable computation: exp of a large log-sum-exp is infinite",
    hint="What is exp(1000)? The shares depend only on the difference of the two log-sum-exps.",
)
def exponentials_without_a_shift(output_a, lse_a, output_b, lse_b):
    sum_a, sum_b = torch.exp(lse_a), torch.exp(lse_b)
    share_a = (sum_a / (sum_a + sum_b)).unsqueeze(-1)
    return share_a * output_a + (1 - share_a) * output_b, torch.log(sum_a + sum_b)


@misconception(
    "merge_blocks",
    confuses="the merged log-sum-exp with the running maximum: the larger of the two log-sum-exps "
    "is returned",
    hint="If two blocks each have a log-sum-exp of 0, their sums of exponentials add up to 2. What "
    "is the logarithm of 2?",
)
def larger_one_returned(output_a, lse_a, output_b, lse_b):
    lse = torch.logaddexp(lse_a, lse_b)
    share_a = torch.exp(lse_a - lse).unsqueeze(-1)
    return share_a * output_a + (1 - share_a) * output_b, torch.maximum(lse_a, lse_b)


@misconception(
    "merge_blocks",
    confuses="a block's own share with the other block's: each output is multiplied by the share "
    "of the other one",
    hint="If the first block is empty, which output must be returned?",
)
def shares_swapped(output_a, lse_a, output_b, lse_b):
    lse = torch.logaddexp(lse_a, lse_b)
    share_a = torch.exp(lse_a - lse).unsqueeze(-1)
    return (1 - share_a) * output_a + share_a * output_b, lse


@misconception(
    "merge_blocks",
    confuses="one share per query with one per column: the shares have no last dimension that "
    "matches the outputs",
    hint="A share has shape (..., T), and an output has shape (..., T, d). Where must you add a "
    "dimension?",
)
def share_without_the_last_axis(output_a, lse_a, output_b, lse_b):
    lse = torch.logaddexp(lse_a, lse_b)
    share_a = torch.exp(lse_a - lse)
    return share_a * output_a + (1 - share_a) * output_b, lse


@misconception(
    "merge_blocks",
    confuses="one factor per query with one per column: the factors that multiply the outputs lack "
    "the last dimension that their sum has",
    hint="A factor has shape (..., T), and an output has shape (..., T, d). Where must you add a "
    "dimension?",
)
def factors_without_the_last_axis(output_a, lse_a, output_b, lse_b):
    larger = torch.maximum(lse_a, lse_b)
    factor_a, factor_b = torch.exp(lse_a - larger), torch.exp(lse_b - larger)
    total = factor_a + factor_b
    output = (factor_a * output_a + factor_b * output_b) / total.unsqueeze(-1)
    return output, larger + torch.log(total)


@misconception(
    "merge_blocks",
    confuses="the merged log-sum-exp with that of the first block: the second result is the "
    "log-sum-exp of the first block alone",
    hint="The second result describes the keys of both blocks. Does it change with lse_b?",
)
def first_log_sum_exp_returned(output_a, lse_a, output_b, lse_b):
    share_a = torch.exp(lse_a - torch.logaddexp(lse_a, lse_b)).unsqueeze(-1)
    return share_a * output_a + (1 - share_a) * output_b, lse_a


@misconception(
    "merge_blocks",
    confuses="shares that need a gradient with constants: no gradient flows through the shares "
    "into the log-sum-exps",
    hint="The output depends on both log-sum-exps, which depend on queries and keys. Where does "
    "your code cut the gradient?",
)
def shares_without_gradient(output_a, lse_a, output_b, lse_b):
    lse = torch.logaddexp(lse_a, lse_b)
    share_a = torch.exp(lse_a - lse).detach().unsqueeze(-1)
    return share_a * output_a + (1 - share_a) * output_b, lse


@misconception(
    "merge_blocks",
    confuses="the logarithm of a sum with the sum of logarithms: the two log-sum-exps are added",
    hint="log(a) + log(b) is the logarithm of a product. Which operation merges two sums?",
)
def logarithms_added(output_a, lse_a, output_b, lse_b):
    share_a = torch.sigmoid(lse_a - lse_b).unsqueeze(-1)
    return share_a * output_a + (1 - share_a) * output_b, lse_a + lse_b


@misconception(
    "merge_blocks",
    confuses="shares with log-sum-exps: the outputs are weighted by lse_a / (lse_a + lse_b)",
    hint="A log-sum-exp can be negative. Can a share be negative?",
)
def logarithms_as_shares(output_a, lse_a, output_b, lse_b):
    share_a = (lse_a / (lse_a + lse_b)).unsqueeze(-1)
    return share_a * output_a + (1 - share_a) * output_b, torch.logaddexp(lse_a, lse_b)


@misconception(
    "merge_blocks",
    confuses="shares with factors: both outputs are scaled, but not divided by the sum of the "
    "factors",
    hint="If all values are one, both outputs are one. What is your merged output?",
)
def factors_as_shares(output_a, lse_a, output_b, lse_b):
    largest = torch.maximum(lse_a, lse_b)
    factor_a, factor_b = torch.exp(lse_a - largest), torch.exp(lse_b - largest)
    output = factor_a[..., None] * output_a + factor_b[..., None] * output_b
    return output, torch.logaddexp(lse_a, lse_b)


@misconception(
    "merge_blocks",
    confuses="finished outputs with sums that still have to be divided: the finished outputs are "
    "added",
    hint="If all values are one, both outputs are one. What is your merged output?",
)
def outputs_added(output_a, lse_a, output_b, lse_b):
    return output_a + output_b, torch.logaddexp(lse_a, lse_b)


@misconception(
    "merge_blocks",
    confuses="the block that counts more with the only block that counts: the block with the "
    "smaller log-sum-exp is dropped",
    hint="If two blocks have nearly the same log-sum-exp, should only one of them count?",
)
def the_larger_block_wins(output_a, lse_a, output_b, lse_b):
    first = (lse_a >= lse_b).unsqueeze(-1)
    return torch.where(first, output_a, output_b), torch.logaddexp(lse_a, lse_b)


@misconception(
    "merge_blocks",
    confuses="minus infinity with a finite number: an empty first block gives nan",
    hint="What is `-inf - (-inf)`? Which number do you subtract when a block is empty?",
)
def shifted_by_the_first(output_a, lse_a, output_b, lse_b):
    sum_b = torch.exp(lse_b - lse_a)
    share_b = (sum_b / (1 + sum_b)).unsqueeze(-1)
    return (1 - share_b) * output_a + share_b * output_b, lse_a + torch.log1p(sum_b)


@misconception(
    "merge_blocks",
    confuses="minus infinity with a large negative number: minus infinity is replaced with a large "
    "negative number, which is then returned as a log-sum-exp",
    hint="If all other scores are -1000, how low must a number be to have no effect?",
)
def minus_infinity_cut_at_minus_a_hundred(output_a, lse_a, output_b, lse_b):
    lse_a, lse_b = lse_a.clamp(min=-100.0), lse_b.clamp(min=-100.0)
    share_a = torch.sigmoid(lse_a - lse_b).unsqueeze(-1)
    return share_a * output_a + (1 - share_a) * output_b, torch.logaddexp(lse_a, lse_b)


@misconception(
    "merge_blocks",
    confuses="one share per query with one share for all queries: the share of the first block is "
    "the same for all queries",
    hint="Each query has its own two log-sum-exps. What is the shape of your shares?",
)
def one_share_for_all_queries(output_a, lse_a, output_b, lse_b):
    lse = torch.logaddexp(lse_a, lse_b)
    share_a = torch.exp(lse_a - lse).mean(dim=-1)[..., None, None]
    return share_a * output_a + (1 - share_a) * output_b, lse


@misconception(
    "merge_blocks",
    confuses="the first result with the second: the log-sum-exp comes before the output",
    hint="Which of the two comes first: the output or the log-sum-exp?",
)
def merged_log_sum_exp_first(output_a, lse_a, output_b, lse_b):
    lse = torch.logaddexp(lse_a, lse_b)
    share_a = torch.exp(lse_a - lse).unsqueeze(-1)
    return lse, share_a * output_a + (1 - share_a) * output_b


# blockwise_attention


def online(queries, keys, values, block_size, fade, start=-torch.inf):
    """Computes blockwise attention; `fade` says how sums change when the maximum grows."""
    highest = torch.full_like(queries[..., :1], start)
    total, output = torch.zeros_like(highest), torch.zeros_like(highest)
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


def merged(queries, keys, values, block_size, carry):
    """Merges the outputs of blocks one by one; `carry` makes the next log-sum-exp."""
    output, lse = (
        torch.zeros_like(values[..., :1, :]),
        torch.full_like(queries[..., :1], -torch.inf),
    )
    for place in range(0, keys.shape[-2], block_size):
        scores = scores_of(queries, keys[..., place : place + block_size, :])
        new = torch.logsumexp(scores, dim=-1, keepdim=True)
        both = torch.logaddexp(lse, new)
        block = weights_of(scores) @ values[..., place : place + block_size, :]
        output = torch.exp(lse - both) * output + torch.exp(new - both) * block
        lse = carry(lse, new) if place else new
    return output


@misconception(
    "blockwise_attention",
    confuses="the log-sum-exp of no keys with 0: the running log-sum-exp starts at 0, as if there "
    "were a key with score 0 before the first block",
    hint="What is the sum of the exponentials of no scores, and what is its logarithm?",
)
def log_sum_starts_at_zero(queries, keys, values, block_size):
    output, lse = torch.zeros_like(values[..., :1, :]), torch.zeros_like(queries[..., :1])
    for place in range(0, keys.shape[-2], block_size):
        scores = scores_of(queries, keys[..., place : place + block_size, :])
        new = torch.logsumexp(scores, dim=-1, keepdim=True)
        both = torch.logaddexp(lse, new)
        block = weights_of(scores) @ values[..., place : place + block_size, :]
        output = torch.exp(lse - both) * output + torch.exp(new - both) * block
        lse = both
    return output


@misconception(
    "blockwise_attention",
    confuses="sums with different shifts: the old output is not rescaled when the maximum grows",
    hint="The sums so far were shifted by the old maximum. Which factor converts them to the new "
    "one?",
)
def old_output_not_rescaled(queries, keys, values, block_size):
    def fade(highest, higher):
        return torch.exp(highest - higher), torch.ones_like(higher)

    return online(queries, keys, values, block_size, fade)


@misconception(
    "blockwise_attention",
    confuses="both running sums with the output alone: the old sum of exponentials is not rescaled",
    hint="Two running sums are kept besides the maximum. Which of them do you multiply by the "
    "factor?",
)
def old_sum_not_rescaled(queries, keys, values, block_size):
    def fade(highest, higher):
        return torch.ones_like(higher), torch.exp(highest - higher)

    return online(queries, keys, values, block_size, fade)


@misconception(
    "blockwise_attention",
    confuses="the new maximum with the old one: nothing is rescaled when the maximum grows",
    hint="The sums so far were shifted by the old maximum. Which factor converts them to the new "
    "one?",
)
def nothing_rescaled(queries, keys, values, block_size):
    return online(queries, keys, values, block_size, lambda old, new: (1.0, 1.0))


@misconception(
    "blockwise_attention",
    confuses="old minus new with new minus old: the old sum is rescaled in the wrong direction",
    hint="The new maximum is larger. Must the old sum become larger or smaller?",
)
def rescaled_the_wrong_way_round(queries, keys, values, block_size):
    def fade(highest, higher):
        factor = torch.exp(torch.where(highest.isinf(), 0.0, higher - highest))
        return factor, factor

    return online(queries, keys, values, block_size, fade)


@misconception(
    "blockwise_attention",
    confuses="the number of blocks with S // block_size: if the last block is shorter, it is "
    "dropped",
    hint="How many blocks of three do seven keys need?",
)
def last_short_block_dropped(queries, keys, values, block_size):
    num_keys = max(keys.shape[-2] // block_size, 1) * block_size
    whole = (keys[..., :num_keys, :], values[..., :num_keys, :])
    return online(queries, *whole, block_size, faded)


@misconception(
    "blockwise_attention",
    confuses="no score so far with a score of zero: for low scores, all exponentials vanish",
    hint="If all scores are below -1000, what is exp(score - 0)? Which starting value is lower "
    "than every score?",
)
def maximum_starts_at_zero(queries, keys, values, block_size):
    return online(queries, keys, values, block_size, faded, start=0.0)


@misconception(
    "blockwise_attention",
    confuses="the maximum so far with that of the first block: the shift is the maximum of the "
    "first block",
    hint="What happens if a score in the second block is 1000 larger than the maximum of the first "
    "block?",
)
def maximum_of_the_first_block_kept(queries, keys, values, block_size):
    shift = scores_of(queries, keys[..., :block_size, :]).amax(dim=-1, keepdim=True)
    weights = torch.exp(scores_of(queries, keys) - shift)
    return (weights @ values) / weights.sum(dim=-1, keepdim=True)


@misconception(
    "blockwise_attention",
    confuses="a dimension counted from the end with one counted from the front: keys and values "
    "are split along dimension 1, which holds the keys only in three-dimensional inputs",
    hint="Call it with matrices, and then with inputs that have a dimension for heads. Which "
    "dimension, counted from the end, holds the keys?",
)
def split_along_dimension_one(queries, keys, values, block_size):
    outputs, sums = [], []
    for key, value in zip(keys.split(block_size, 1), values.split(block_size, 1), strict=False):
        scores = scores_of(queries, key)
        outputs.append(weights_of(scores) @ value)
        sums.append(torch.logsumexp(scores, dim=-1, keepdim=True))
    shares = torch.exp(torch.stack(sums) - torch.logsumexp(torch.stack(sums), dim=0))
    return (shares * torch.stack(outputs)).sum(dim=0)


@misconception(
    "blockwise_attention",
    confuses="attention to all keys with separate attention to each block: softmax is applied in "
    "each block, and the outputs are averaged",
    hint="Should a block whose scores are all low count as much as the other blocks?",
)
def blocks_averaged(queries, keys, values, block_size):
    blocks = zip(keys.split(block_size, dim=-2), values.split(block_size, dim=-2), strict=True)
    outputs = [weights_of(scores_of(queries, key)) @ value for key, value in blocks]
    return torch.stack(outputs).mean(dim=0)


@misconception(
    "blockwise_attention",
    confuses="attention to all keys with separate attention to each block: the outputs of the "
    "blocks are added",
    hint="If all values are one, every output must be one. What is yours for two blocks?",
)
def blocks_added(queries, keys, values, block_size):
    blocks = zip(keys.split(block_size, dim=-2), values.split(block_size, dim=-2), strict=True)
    outputs = [weights_of(scores_of(queries, key)) @ value for key, value in blocks]
    return torch.stack(outputs).sum(dim=0)


@misconception(
    "blockwise_attention",
    confuses="blocks of keys with local attention: the queries of a block see only the keys of "
    "that block",
    hint="Every query sees all keys. Do yours see the keys of more than one block?",
)
def local_attention(queries, keys, values, block_size):
    scores = scores_of(queries, keys)
    rows = torch.arange(scores.shape[-2])[:, None] // block_size
    columns = torch.arange(scores.shape[-1]) // block_size
    mask = rows.clamp(max=int(columns.max())) != columns
    return weights_of(scores.masked_fill(mask, -torch.inf)) @ values


@misconception(
    "blockwise_attention",
    confuses="the dtype of the inputs with float32, which kernels use for sums: the result has "
    "only the precision of float32",
    hint="Print the dtype of every tensor for inputs in float64.",
)
def float32_accumulators(queries, keys, values, block_size):
    inputs = (tensor.float() for tensor in (queries, keys, values))
    return online(*inputs, block_size, faded).to(queries.dtype)


@misconception(
    "blockwise_attention",
    confuses="one division at the end with one in every block: an output that has already been "
    "divided is treated as a sum",
    hint="After the first block, your output has already been divided by a sum. What must you do "
    "before you add the next block?",
)
def divided_in_every_block(queries, keys, values, block_size):
    highest = torch.full_like(queries[..., :1], -torch.inf)
    total, output = torch.zeros_like(highest), torch.zeros_like(highest)
    for place in range(0, keys.shape[-2], block_size):
        scores = scores_of(queries, keys[..., place : place + block_size, :])
        higher = torch.maximum(highest, scores.amax(dim=-1, keepdim=True))
        weights, fade = torch.exp(scores - higher), torch.exp(highest - higher)
        total = fade * total + weights.sum(dim=-1, keepdim=True)
        output = fade * output + weights @ values[..., place : place + block_size, :]
        output, highest = output / total, higher
    return output


@misconception(
    "blockwise_attention",
    confuses="the largest score so far with that of each block: each block is shifted by its own "
    "maximum",
    hint="The second block has lower scores than the first. What is the largest score so far?",
)
def maximum_of_this_block_alone(queries, keys, values, block_size):
    total, output = 0.0, 0.0
    for place in range(0, keys.shape[-2], block_size):
        scores = scores_of(queries, keys[..., place : place + block_size, :])
        weights = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
        total = total + weights.sum(dim=-1, keepdim=True)
        output = output + weights @ values[..., place : place + block_size, :]
    return output / total


@misconception(
    "blockwise_attention",
    confuses="all keys so far with those of the last block: each new block is weighted against "
    "only the block before it",
    hint="Three blocks have equal scores. What share of the result comes from the last block?",
)
def last_log_sum_exp_carried_on(queries, keys, values, block_size):
    return merged(queries, keys, values, block_size, lambda old, new: new)


@misconception(
    "blockwise_attention",
    confuses="all keys so far with those of the first block: each new block is weighted against "
    "only the first block",
    hint="Three blocks have equal scores. What share of the result comes from the last block?",
)
def first_log_sum_exp_carried_on(queries, keys, values, block_size):
    return merged(queries, keys, values, block_size, lambda old, new: old)


@misconception(
    "blockwise_attention",
    confuses="all keys with those of the last block: the result is divided by the sum of the last "
    "block alone",
    hint="If all values are one, every output must be one. What is yours for two blocks?",
)
def sum_of_the_last_block_alone(queries, keys, values, block_size):
    def fade(highest, higher):
        return torch.zeros_like(higher), torch.exp(highest - higher)

    return online(queries, keys, values, block_size, fade)


@misconception(
    "blockwise_attention",
    confuses="the largest score so far with that of the last block: the shift becomes smaller in a "
    "block with lower scores",
    hint="The first block has scores of 1000, and the second has scores of 0. What is exp(1000 - "
    "0)?",
)
def maximum_of_the_last_block_alone(queries, keys, values, block_size):
    highest = torch.full_like(queries[..., :1], -torch.inf)
    total, output = torch.zeros_like(highest), torch.zeros_like(highest)
    for place in range(0, keys.shape[-2], block_size):
        scores = scores_of(queries, keys[..., place : place + block_size, :])
        shift = scores.amax(dim=-1, keepdim=True)
        weights, fade = torch.exp(scores - shift), torch.exp(highest - shift)
        total = fade * total + weights.sum(dim=-1, keepdim=True)
        output = fade * output + weights @ values[..., place : place + block_size, :]
        highest = shift
    return output / total


@misconception(
    "blockwise_attention",
    confuses="blockwise sums with stable ones: the sums are computed from exponentials of "
    "unshifted scores",
    hint="What is exp(1000)? And what is left for a query whose scores are all -1000?",
)
def plain_exponentials(queries, keys, values, block_size):
    total, output = 0.0, 0.0
    for place in range(0, keys.shape[-2], block_size):
        weights = torch.exp(scores_of(queries, keys[..., place : place + block_size, :]))
        total = total + weights.sum(dim=-1, keepdim=True)
        output = output + weights @ values[..., place : place + block_size, :]
    return output / total


@misconception(
    "blockwise_attention",
    confuses="all blocks with the last one: only the last block has an effect",
    hint="Change the first key. Does your result change?",
)
def last_block_only(queries, keys, values, block_size):
    for place in range(0, keys.shape[-2], block_size):
        block = slice(place, place + block_size)
        output = weights_of(scores_of(queries, keys[..., block, :])) @ values[..., block, :]
    return output


@misconception(
    "blockwise_attention",
    confuses="plain scores with scaled ones: the scores are not scaled",
    hint="What are the scores divided by before softmax?",
)
def blocks_not_divided_by_the_root(queries, keys, values, block_size):
    return online(queries * math.sqrt(queries.shape[-1]), keys, values, block_size, faded)


@misconception(
    "blockwise_attention",
    confuses="results that need a gradient with constants: no gradient flows through the shares of "
    "the blocks",
    hint="The outputs and their shares depend on queries and keys. Where does your code cut the "
    "gradient?",
)
def shares_of_blocks_detached(queries, keys, values, block_size):
    blocks = zip(keys.split(block_size, dim=-2), values.split(block_size, dim=-2), strict=True)
    parts = []
    for key, value in blocks:
        scores = scores_of(queries, key)
        parts.append((weights_of(scores) @ value, torch.logsumexp(scores, dim=-1).detach()))
    lse = torch.stack([one for _, one in parts])
    shares = weights_of(lse.movedim(0, -1)).movedim(-1, 0)
    outputs = torch.stack([output for output, _ in parts])
    return (shares.unsqueeze(-1) * outputs).sum(dim=0)


@misconception(
    "blockwise_attention",
    confuses="every query with the first one: all queries are divided by the sum of the first one",
    hint="Each query has its own sum. What is the shape of your sums?",
)
def one_sum_for_all_queries(queries, keys, values, block_size):
    scores = scores_of(queries, keys)
    highest = scores.amax(dim=(-2, -1), keepdim=True)
    weights = torch.exp(scores - highest)
    return (weights @ values) / weights.sum(dim=-1, keepdim=True)[..., :1, :]


@misconception(
    "attend_block",
    confuses="keys with queries: the log-sum-exp runs over the queries instead of the keys",
    hint="Which shape should the log-sum-exp have: one number for each query or one for each key?",
)
def log_sum_exp_over_queries(queries, keys, values):
    scores = scores_of(queries, keys)
    return weights_of(scores) @ values, torch.logsumexp(scores, dim=-2)


@misconception(
    "attend_block",
    confuses="the largest score of each query with the largest of all: one number is subtracted "
    "from all scores, and queries with much smaller scores are lost",
    hint="Take one query with scores near 1000 and one with scores near 0. What is exp(0 - 1000)?",
)
def largest_of_all_subtracted(queries, keys, values):
    scores = scores_of(queries, keys)
    numbers = torch.exp(scores - scores.max())
    total = numbers.sum(dim=-1, keepdim=True)
    return (numbers / total) @ values, scores.max() + torch.log(total.squeeze(-1))


@misconception(
    "attend_block",
    confuses="the largest score with the smallest: the number that is subtracted is below the "
    "largest score, so large differences overflow",
    hint="What is exp(1000)? Which score must you subtract so that no exponent is above 0?",
)
def smallest_subtracted(queries, keys, values):
    scores = scores_of(queries, keys)
    low = scores.amin(dim=-1, keepdim=True)
    numbers = torch.exp(scores - low)
    total = numbers.sum(dim=-1, keepdim=True)
    return (numbers / total) @ values, (low + torch.log(total)).squeeze(-1)


@misconception(
    "attend_block",
    confuses="the sum over the keys with the sum over everything: all queries are divided by the "
    "same sum",
    hint="Which weights should sum to one? Add up the weights of each query.",
)
def one_sum_for_all(queries, keys, values):
    scores = scores_of(queries, keys)
    high = scores.amax(dim=-1, keepdim=True)
    numbers = torch.exp(scores - high)
    total = numbers.sum()
    return (numbers / total) @ values, (high + torch.log(total)).squeeze(-1)


@misconception(
    "attend_block",
    confuses="the logarithm of a sum with the logarithm of the sum plus one: one is added to the "
    "sum before the logarithm is taken",
    hint="For one key with a score of 1, the log-sum-exp is 1. What is yours?",
)
def one_added_to_the_sum(queries, keys, values):
    scores = scores_of(queries, keys)
    high = scores.amax(dim=-1)
    total = torch.exp(scores - high.unsqueeze(-1)).sum(dim=-1)
    return weights_of(scores) @ values, high + torch.log1p(total)


@misconception(
    "attend_block",
    confuses="one number per query with no dimension of size one: dimensions of size one are "
    "dropped from the second result",
    hint="Try a single query. What is the shape of your second result, and what should it be?",
)
def second_result_squeezed(queries, keys, values):
    scores = scores_of(queries, keys)
    return weights_of(scores) @ values, torch.logsumexp(scores, dim=-1, keepdim=True).squeeze()


@misconception(
    "merge_blocks",
    confuses="the whole log-sum-exp with the shifted one: the larger log-sum-exp is not added back "
    "to the logarithm",
    hint="If both log-sum-exps grow by 1, what should happen to the merged one?",
)
def shift_not_added_back_to_the_merged(output_a, lse_a, output_b, lse_b):
    lse = torch.logaddexp(lse_a, lse_b)
    share_a = torch.exp(lse_a - lse).unsqueeze(-1)
    output = share_a * output_a + (1 - share_a) * output_b
    return output, lse - torch.maximum(lse_a, lse_b)


@misconception(
    "merge_blocks",
    confuses="minus infinity with a finite number: the output is right, but an empty first block "
    "gives nan as log-sum-exp",
    hint="What is `-inf - (-inf)`? What is exp(1000)?",
)
def built_on_the_first_log_sum_exp(output_a, lse_a, output_b, lse_b):
    share_b = torch.sigmoid(lse_b - lse_a).unsqueeze(-1)
    output = (1 - share_b) * output_a + share_b * output_b
    return output, lse_a + torch.log1p(torch.exp(lse_b - lse_a))


@misconception(
    "merge_blocks",
    confuses="the larger log-sum-exp with the smaller one: the smaller of the two log-sum-exps is "
    "subtracted before the exponentials are taken",
    hint="What is `-inf - (-inf)`? Which of the two must you subtract so that no exponent is above "
    "0?",
)
def smaller_one_subtracted(output_a, lse_a, output_b, lse_b):
    low = torch.minimum(lse_a, lse_b)
    sum_a, sum_b = torch.exp(lse_a - low), torch.exp(lse_b - low)
    share_a = (sum_a / (sum_a + sum_b)).unsqueeze(-1)
    return share_a * output_a + (1 - share_a) * output_b, low + torch.log(sum_a + sum_b)


@misconception(
    "merge_blocks",
    confuses="the larger of two log-sum-exps with the largest of all: one number is subtracted for "
    "all queries, and queries with much smaller log-sum-exps are lost",
    hint="Take one query with log-sum-exps near 1000 and one with 0. What is exp(0 - 1000)?",
)
def largest_of_all_queries_subtracted(output_a, lse_a, output_b, lse_b):
    high = torch.maximum(lse_a, lse_b).max()
    sum_a, sum_b = torch.exp(lse_a - high), torch.exp(lse_b - high)
    share_a = (sum_a / (sum_a + sum_b)).unsqueeze(-1)
    share_b = (sum_b / (sum_a + sum_b)).unsqueeze(-1)
    return share_a * output_a + share_b * output_b, high + torch.log(sum_a + sum_b)


@misconception(
    "merge_blocks",
    confuses="the logarithm of a sum with the mean of two logarithms: the second result is the "
    "mean of the two log-sum-exps",
    hint="If two blocks each have a log-sum-exp of 0, their sums of exponentials add up to 2. What "
    "is the logarithm of 2?",
)
def mean_of_the_log_sum_exps(output_a, lse_a, output_b, lse_b):
    share_a = torch.sigmoid(lse_a - lse_b).unsqueeze(-1)
    return share_a * output_a + (1 - share_a) * output_b, (lse_a + lse_b) / 2


@misconception(
    "merge_blocks",
    confuses="the natural logarithm with the base-2 logarithm: the base-2 logarithm of the shifted "
    "sum is taken",
    hint="If two blocks each have a log-sum-exp of 0, their sums of exponentials add up to 2. What "
    "is the natural logarithm of 2?",
)
def merged_logarithm_to_base_two(output_a, lse_a, output_b, lse_b):
    high, lse = torch.maximum(lse_a, lse_b), torch.logaddexp(lse_a, lse_b)
    share_a = torch.exp(lse_a - lse).unsqueeze(-1)
    return share_a * output_a + (1 - share_a) * output_b, high + (lse - high) / math.log(2)


@misconception(
    "merge_blocks",
    confuses="one query with all queries: if the second block is empty for one query, it is "
    "dropped for all queries",
    hint="Take two queries, and let the second block be empty for the first query only. Does the "
    "second query still see both blocks?",
)
def second_block_dropped_for_all(output_a, lse_a, output_b, lse_b):
    if torch.isinf(lse_b).any():
        return output_a, lse_a
    share_a = torch.sigmoid(lse_a - lse_b).unsqueeze(-1)
    return share_a * output_a + (1 - share_a) * output_b, torch.logaddexp(lse_a, lse_b)


@misconception(
    "merge_blocks",
    confuses="one query with all queries: if the first block is empty for one query, it is dropped "
    "for all queries",
    hint="Take two queries, and let the first block be empty for the first query only. Does the "
    "second query still see both blocks?",
)
def first_block_dropped_for_all(output_a, lse_a, output_b, lse_b):
    if torch.isinf(lse_a).any():
        return output_b, lse_b
    share_a = torch.sigmoid(lse_a - lse_b).unsqueeze(-1)
    return share_a * output_a + (1 - share_a) * output_b, torch.logaddexp(lse_a, lse_b)


@misconception(
    "blockwise_attention",
    confuses="a short last block with a full one: the last block is filled up with scores of zero, "
    "which get a share",
    hint="For five keys in blocks of two, how many keys contribute to your sum?",
)
def last_block_filled_up(queries, keys, values, block_size):
    more = -keys.shape[-2] % block_size
    keys, values = (torch.nn.functional.pad(part, (0, 0, 0, more)) for part in (keys, values))
    return weights_of(scores_of(queries, keys)) @ values


@misconception(
    "blockwise_attention",
    confuses="a short last block with a full one: the last block begins earlier, so that some keys "
    "count twice",
    hint="For five keys in blocks of two, which keys are in each block? Is any key in two of them?",
)
def last_block_moved_back(queries, keys, values, block_size):
    size = keys.shape[-2]
    starts = [min(place, max(size - block_size, 0)) for place in range(0, size, block_size)]
    order = [at for start in starts for at in range(start, min(start + block_size, size))]
    return weights_of(scores_of(queries, keys[..., order, :])) @ values[..., order, :]


@misconception(
    "merge_blocks",
    confuses="two blocks with two equal halves: if both blocks have keys, the plain mean of the "
    "outputs is returned",
    hint="Should a block whose sum of exponentials is ten times as large count only as much as the "
    "other?",
)
def outputs_averaged_unless_empty(output_a, lse_a, output_b, lse_b):
    lse = torch.logaddexp(lse_a, lse_b)
    empty_a, empty_b = (own.isinf().unsqueeze(-1) for own in (lse_a, lse_b))
    output = torch.where(empty_b, output_a, (output_a + output_b) / 2)
    return torch.where(empty_a, output_b, output), lse


@misconception(
    "merge_blocks",
    confuses="shares with log-sum-exps: if both blocks have keys, the outputs are weighted by "
    "lse_a / (lse_a + lse_b) and one minus this share",
    hint="For two blocks with log-sum-exps of 1 and -1, what are the shares?",
)
def logarithms_as_shares_unless_empty(output_a, lse_a, output_b, lse_b):
    share = lse_a / (lse_a + lse_b)
    share = share.masked_fill(lse_a.isinf(), 0.0).masked_fill(lse_b.isinf(), 1.0).unsqueeze(-1)
    return share * output_a + (1 - share) * output_b, torch.logaddexp(lse_a, lse_b)


@misconception(
    "merge_blocks",
    confuses="minus infinity with a finite number: an empty second block gives nan",
    hint="What is lse_a - lse_b if the second block has no keys? And what is minus infinity times "
    "0?",
)
def shifted_by_the_second(output_a, lse_a, output_b, lse_b):
    factor = torch.exp(lse_a - lse_b)
    share = (factor / (1 + factor)).unsqueeze(-1)
    return share * output_a + (1 - share) * output_b, lse_b + torch.log(1 + factor)
