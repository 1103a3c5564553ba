"""Known mistakes in dropout."""

import torch
import torch.nn.functional as F

from autograder.suite import misconception


def _checked(p):
    if not 0 <= p <= 1:
        raise ValueError(f"p must lie between 0 and 1, got {p}")


def _plain(x, p, training):
    """Returns the result if p or `training` leave nothing to chance, and None otherwise."""
    _checked(p)
    if not training or p == 0:
        return x
    if p == 1:
        return torch.zeros_like(x)
    return None


# dropout


@misconception(
    "dropout",
    confuses="training with evaluation: nothing is dropped for any p below 1",
    hint="Call it twice with ones and p = 0.5. What do you see?",
)
def never_drops(x, p, training=True):
    _checked(p)
    return torch.zeros_like(x) if training and p == 1 else x


@misconception(
    "dropout",
    confuses="training with evaluation: nothing is dropped if the third argument is left out",
    hint="Call it with ones and p = 0.5, without the third argument. What do you see?",
)
def off_by_default(x, p, training=False):
    plain = _plain(x, p, training)
    return plain if plain is not None else x * (torch.rand_like(x) >= p) / (1 - p)


@misconception(
    "dropout",
    confuses="dropping and scaling with dropping alone: the mean of the result shrinks",
    hint="Take the mean of the result for a large tensor of ones. What should it be?",
)
def kept_as_they_were(x, p, training=True):
    plain = _plain(x, p, training)
    return plain if plain is not None else x * (torch.rand_like(x) >= p)


@misconception(
    "dropout",
    confuses="the probability of keeping with the probability of dropping in the scale: the kept "
    "entries are divided by p",
    hint="If almost nothing is dropped, should the kept entries grow much?",
)
def divided_by_p(x, p, training=True):
    plain = _plain(x, p, training)
    return plain if plain is not None else x * (torch.rand_like(x) >= p) / p


@misconception(
    "dropout",
    confuses="scaling up with scaling down: the kept entries are multiplied by 1 - p",
    hint="Take the mean of the result for a large tensor of ones. What should it be?",
)
def multiplied_by_one_minus_p(x, p, training=True):
    plain = _plain(x, p, training)
    return plain if plain is not None else x * (torch.rand_like(x) >= p) * (1 - p)


@misconception(
    "dropout",
    confuses="the entries to drop with the entries to keep: the entries that should be dropped are "
    "kept, and the others are dropped",
    hint="With p = 0.1, how many of 1000 ones become zero?",
)
def kept_where_to_drop(x, p, training=True):
    plain = _plain(x, p, training)
    return plain if plain is not None else x * (torch.rand_like(x) < p) / (1 - p)


@misconception(
    "dropout",
    confuses="the probability of dropping with the probability of keeping, as in the first paper: "
    "p is used as the probability of keeping",
    hint="With p = 0.1, how many of 1000 ones become zero?",
)
def p_keeps(x, p, training=True):
    plain = _plain(x, p, training)
    return plain if plain is not None else x * (torch.rand_like(x) < p) / p


@misconception(
    "dropout",
    confuses="the probability of dropping with the probability of keeping, and scaled entries with "
    "unscaled ones: p is used as the probability of keeping, and the kept entries are not scaled",
    hint="With p = 0.1, how many of 1000 ones become zero, and what is the mean of the result?",
)
def p_keeps_and_nothing_is_scaled(x, p, training=True):
    plain = _plain(x, p, training)
    return plain if plain is not None else x * (torch.rand_like(x) < p)


@misconception(
    "dropout",
    confuses="entries with rows: whole rows are dropped",
    hint="Print the result for a 6 x 6 matrix of ones. Where are the zeros?",
)
def whole_rows(x, p, training=True):
    plain = _plain(x, p, training)
    return plain if plain is not None else x * (torch.rand_like(x[..., :1]) >= p) / (1 - p)


# other random numbers than `rand_like` draws for float64
@misconception(
    "dropout",
    confuses="entries with rows: whole rows are dropped",
    hint="Print the result for a 6 x 6 matrix of ones. Where are the zeros?",
)
def whole_rows_drawn_in_float32(x, p, training=True):
    plain = _plain(x, p, training)
    if plain is not None:
        return plain
    return torch.where(torch.rand(*x.shape[:-1], 1) >= p, x / (1 - p), torch.zeros_like(x))


@misconception(
    "dropout",
    confuses="entries with columns: whole columns are dropped",
    hint="Print the result for a 6 x 6 matrix of ones. Where are the zeros?",
)
def whole_columns(x, p, training=True):
    plain = _plain(x, p, training)
    if plain is not None:
        return plain
    kept = torch.rand(x.shape[-1], dtype=x.dtype) >= p
    return x * kept / (1 - p)


@misconception(
    "dropout",
    confuses="each item of a batch with the first: all items of a batch get the same dropout "
    "pattern",
    hint="Print the result for ones of shape (2, 3, 3). Are the zeros of both matrices in the same "
    "positions?",
)
def one_pattern_for_the_batch(x, p, training=True):
    plain = _plain(x, p, training)
    return plain if plain is not None else x * (torch.rand_like(x[:1]) >= p) / (1 - p)


@misconception(
    "dropout",
    confuses="a pattern for all entries with a pattern for the last two dimensions: all matrices "
    "of a tensor get the same dropout pattern",
    hint="Print the result for ones of shape (2, 3, 3). Are the zeros of both matrices in the same "
    "positions?",
)
def one_pattern_for_all_matrices(x, p, training=True):
    plain = _plain(x, p, training)
    if plain is not None:
        return plain
    kept = torch.rand(x.shape[-2:] if x.dim() > 1 else x.shape) >= p
    return torch.where(kept, x / (1 - p), torch.zeros_like(x))


@misconception(
    "dropout",
    confuses="a decision for each entry with a single decision: either all entries are dropped or "
    "none",
    hint="How many random numbers does your code draw, and how many entries does x have?",
)
def all_or_nothing(x, p, training=True):
    plain = _plain(x, p, training)
    if plain is not None:
        return plain
    return torch.zeros_like(x) if torch.rand(()) < p else x / (1 - p)


@misconception(
    "dropout",
    confuses="random results with repeatable ones: every call drops the same entries",
    hint="Call it twice in a row. Are the zeros in the same positions?",
)
def seed_set_inside(x, p, training=True):
    plain = _plain(x, p, training)
    if plain is not None:
        return plain
    numbers = torch.rand(x.shape, generator=torch.Generator().manual_seed(0), dtype=x.dtype)
    return x * (numbers >= p) / (1 - p)


@misconception(
    "dropout",
    confuses="new random numbers for each call with those of the first call: tensors of the same "
    "shape always lose the same entries",
    hint="Call it twice in a row. Are the zeros in the same positions?",
)
def pattern_kept(x, p, training=True, patterns={}):
    plain = _plain(x, p, training)
    if plain is not None:
        return plain
    key = (*x.shape, p)
    if key not in patterns:
        patterns[key] = torch.rand(x.shape) >= p
    return x * patterns[key] / (1 - p)


@misconception(
    "dropout",
    confuses="a probability with a share: exactly a fraction p of the entries is dropped in every "
    "call",
    hint="Toss a coin ten times, and then ten more times. Do you get exactly five heads each time?",
)
def exact_number_dropped(x, p, training=True):
    plain = _plain(x, p, training)
    if plain is not None:
        return plain
    kept = torch.ones(x.numel(), dtype=x.dtype)
    kept[torch.randperm(x.numel())[: round(p * x.numel())]] = 0
    return x * kept.view(x.shape) / (1 - p)


@misconception(
    "dropout",
    confuses="a probability with a share of each row: exactly a fraction p of each row is dropped",
    hint="Toss a coin ten times, and then ten more times. Do you get exactly five heads each time?",
)
def exact_number_in_each_row(x, p, training=True):
    plain = _plain(x, p, training)
    if plain is not None:
        return plain
    order = torch.rand_like(x).argsort(dim=-1)
    return x * (order >= round(p * x.shape[-1])) / (1 - p)


@misconception(
    "dropout",
    confuses="evaluation with training: entries are always dropped",
    hint="What does the argument `training` do?",
)
def training_not_asked(x, p, training=True):
    plain = _plain(x, p, True)
    return plain if plain is not None else x * (torch.rand_like(x) >= p) / (1 - p)


@misconception(
    "dropout",
    confuses="training with evaluation: entries are dropped only outside training",
    hint="When should nothing be dropped: in training or in evaluation?",
)
def training_turned_round(x, p, training=True):
    plain = _plain(x, p, not training)
    return plain if plain is not None else x * (torch.rand_like(x) >= p) / (1 - p)


@misconception(
    "dropout",
    confuses="scaling in training with scaling in evaluation: the entries are multiplied by 1 - p "
    "in evaluation, and not divided by it in training",
    hint="According to the docstring, in which of the two modes are entries scaled?",
)
def scaled_outside_training(x, p, training=True):
    _checked(p)
    if not training:
        return x * (1 - p)
    return x * (torch.rand_like(x) >= p)


@misconception(
    "dropout",
    confuses="scaling in one mode with scaling in both: the kept entries are divided by 1 - p in "
    "training, and the entries are also multiplied by 1 - p in evaluation",
    hint="According to the docstring, in which of the two modes are entries scaled?",
)
def scaled_in_training_and_outside(x, p, training=True):
    plain = _plain(x, p, training)
    if not training:
        return x * (1 - p)
    return x * (torch.rand_like(x) >= p) / (1 - p) if plain is None else plain


@misconception(
    "dropout",
    confuses="a scale for training with a scale for both modes: x is scaled in evaluation as well",
    hint="Call it with training=False. Is the result equal to x?",
)
def scaled_in_both_modes(x, p, training=True):
    _checked(p)
    if p in (0, 1):
        return x if p == 0 or not training else torch.zeros_like(x)
    kept = torch.rand_like(x) >= p if training else torch.ones_like(x)
    return x * kept / (1 - p)


@misconception(
    "dropout",
    confuses="p = 1 with smaller probabilities: at p = 1 the result is nan",
    hint="Call it with p = 1. What is 1 / (1 - p) then?",
)
def not_a_number_at_one(x, p, training=True):
    _checked(p)
    if not training:
        return x
    return x * (torch.rand_like(x) >= p) / torch.tensor(1 - p, dtype=x.dtype)


@misconception(
    "dropout",
    confuses="all probabilities with those below one: the scale is computed even for p = 1",
    hint="Call it with p = 1. What is 1 / (1 - p) then?",
)
def division_by_zero_at_one(x, p, training=True):
    _checked(p)
    if not training:
        return x
    scale = 1 / (1 - p)
    return x * (torch.rand_like(x) >= p) * scale


@misconception(
    "dropout",
    confuses="an inclusive limit with an exclusive one: p = 1 is rejected",
    hint="Is 1 a probability?",
)
def one_refused(x, p, training=True):
    if not 0 <= p < 1:
        raise ValueError("p must lie in [0, 1)")
    plain = _plain(x, p, training)
    return plain if plain is not None else x * (torch.rand_like(x) >= p) / (1 - p)


@misconception(
    "dropout",
    confuses="an inclusive limit with an exclusive one: p = 0 is rejected",
    hint="Is 0 a probability?",
)
def zero_refused(x, p, training=True):
    if not 0 < p <= 1:
        raise ValueError("p must lie in (0, 1]")
    plain = _plain(x, p, training)
    return plain if plain is not None else x * (torch.rand_like(x) >= p) / (1 - p)


@misconception(
    "dropout",
    confuses="a probability with any number: a p below 0 or above 1 is not rejected",
    hint="Call it with p = 1.5. What should happen?",
)
def not_checked(x, p, training=True):
    if not training or p == 0:
        return x
    if p == 1:
        return torch.zeros_like(x)
    return x * (torch.rand_like(x) >= p) / (1 - p)


@misconception(
    "dropout",
    confuses="a check of both bounds with a check of the upper one: a p below 0 is accepted",
    hint="Call it with p = -0.1. What should happen?",
)
def only_upper_end_checked(x, p, training=True):
    if p > 1:
        raise ValueError("p must not be larger than 1")
    if not training or p == 0:
        return x
    if p == 1:
        return torch.zeros_like(x)
    return x * (torch.rand_like(x) >= p) / (1 - p)


@misconception(
    "dropout",
    confuses="a check of both bounds with a check of the lower one: a p above 1 is accepted",
    hint="Call it with p = 1.5. What should happen?",
)
def only_lower_end_checked(x, p, training=True):
    if p < 0:
        raise ValueError("p must not be negative")
    if not training or p == 0:
        return x
    if p == 1:
        return torch.zeros_like(x)
    return x * (torch.rand_like(x) >= p) / (1 - p)


@misconception(
    "dropout",
    confuses="a p that is always invalid with one that is invalid only in training: an invalid p "
    "is rejected in training only",
    hint="Call it with p = 1.5 and training=False. What should happen?",
)
def checked_in_training_only(x, p, training=True):
    if not training:
        return x
    plain = _plain(x, p, training)
    return plain if plain is not None else x * (torch.rand_like(x) >= p) / (1 - p)


@misconception(
    "dropout",
    confuses="an error for users with an assertion for programmers: `assert` raises AssertionError",
    hint="Which error does the docstring name?",
)
def assertion_for_the_range(x, p, training=True):
    assert 0 <= p <= 1
    plain = _plain(x, p, training)
    return plain if plain is not None else x * (torch.rand_like(x) >= p) / (1 - p)


@misconception(
    "dropout",
    confuses="any probability with one half: each entry is dropped with probability 0.5, whatever "
    "p is",
    hint="With p = 0.1, how many of 1000 ones become zero?",
)
def always_one_half(x, p, training=True):
    plain = _plain(x, p, training)
    return plain if plain is not None else x * torch.randint_like(x, 2) / (1 - p)


@misconception(
    "dropout",
    confuses="the scale for any p with the scale for p = 0.5: kept entries are always doubled",
    hint="What should a kept 1 become for p = 0.2?",
)
def always_doubled(x, p, training=True):
    plain = _plain(x, p, training)
    return plain if plain is not None else x * (torch.rand_like(x) >= p) * 2


@misconception(
    "dropout",
    confuses="uniform random numbers with normal ones: the random numbers come from a normal "
    "distribution instead of a uniform one",
    hint="How often is a normally distributed number below 0.5, and how often is a number drawn "
    "uniformly between 0 and 1?",
)
def normal_numbers(x, p, training=True):
    plain = _plain(x, p, training)
    return plain if plain is not None else x * (torch.randn_like(x) >= p) / (1 - p)


@misconception(
    "dropout",
    confuses="a new tensor with the caller's: x is changed in place",
    hint="Print x before and after the call.",
)
def caller_changed(x, p, training=True):
    plain = _plain(x, p, training)
    if plain is not None:
        return plain
    x[torch.rand_like(x) < p] = 0
    x /= 1 - p
    return x


@misconception(
    "dropout",
    confuses="the expected number of kept entries with their number in this call: the scale "
    "depends on how many entries were kept in this call",
    hint="What should a kept 1 become for p = 0.2? May it depend on the other entries?",
)
def sum_kept_exactly(x, p, training=True):
    plain = _plain(x, p, training)
    if plain is not None:
        return plain
    kept = torch.rand_like(x) >= p
    return x * kept * (x.numel() / kept.sum())


@misconception(
    "dropout",
    confuses="plain values with values that have a gradient: no gradient flows back to x",
    hint="Does the result have a `grad_fn` when x requires a gradient?",
)
def cut_off(x, p, training=True):
    plain = _plain(x, p, training)
    return plain if plain is not None else x.detach() * (torch.rand_like(x) >= p) / (1 - p)


@misconception(
    "dropout",
    confuses="dropping entries with dropping them only in the result: the gradient flows through "
    "dropped entries",
    hint="If an entry is dropped, can the loss depend on it?",
)
def gradient_to_all(x, p, training=True):
    plain = _plain(x, p, training)
    if plain is not None:
        return plain
    result = x * (torch.rand_like(x) >= p) / (1 - p)
    return x + (result - x).detach()


@misconception(
    "dropout",
    confuses="the dtype of x with float32: the result is always float32",
    hint="Call it with float64. What is the dtype of the result?",
)
def always_float32(x, p, training=True):
    plain = _plain(x, p, training)
    return plain if plain is not None else x.float() * (torch.rand(x.shape) >= p) / (1 - p)


@misconception(
    "dropout",
    confuses="dropping entries with adding noise: entries get noise instead of being dropped",
    hint="Which entries of your result are exactly zero?",
)
def noise(x, p, training=True):
    plain = _plain(x, p, training)
    return plain if plain is not None else x * (1 + torch.randn_like(x) * (p / (1 - p)) ** 0.5)


@misconception(
    "dropout",
    confuses="chance with size: the smallest entries are dropped",
    hint="Call it twice in a row. Are the zeros in the same positions?",
)
def smallest_dropped(x, p, training=True):
    plain = _plain(x, p, training)
    return plain if plain is not None else x * (x.abs() >= x.abs().quantile(p)) / (1 - p)


@misconception(
    "dropout",
    confuses="setting entries to zero with removing them: dropped entries are cut out of the "
    "tensor instead of set to zero",
    hint="Compare the shape of the result with that of x.",
)
def dropped_are_cut_out(x, p, training=True):
    plain = _plain(x, p, training)
    return plain if plain is not None else x[torch.rand_like(x) >= p] / (1 - p)


@misconception(
    "dropout",
    confuses="a scale that grows without bound with one that stops at 10: the scale is never "
    "larger than 10",
    hint="With p = 0.95, what is a kept entry multiplied by? Compare that number with 1 / (1 - p).",
)
def factor_stops_at_ten(x, p, training=True):
    plain = _plain(x, p, training)
    return plain if plain is not None else x * (torch.rand_like(x) >= p) * min(1 / (1 - p), 10)


@misconception(
    "dropout",
    confuses="a probability with a whole percentage: p is rounded to two decimal places",
    hint="Apply it to a large tensor of ones with p = 0.004. How many of them become 0, and how "
    "large are the others?",
)
def rate_in_whole_per_cents(x, p, training=True):
    _checked(p)
    plain = _plain(x, round(p, 2), training)
    p = round(p, 2)
    return plain if plain is not None else x * (torch.rand_like(x) >= p) / (1 - p)


@misconception(
    "dropout",
    confuses="a high probability with certainty: if p is above 0.95, all entries become 0",
    hint="With p = 0.98, how many of a thousand entries should be left?",
)
def everything_dropped_at_high_rates(x, p, training=True):
    plain = _plain(x, 1.0 if p > 0.95 and training else p, training)
    return plain if plain is not None else x * (torch.rand_like(x) >= p) / (1 - p)


# dropout_attention_weights


@misconception(
    "dropout_attention_weights",
    confuses="training with evaluation: no weight is ever dropped",
    hint="Change p. Does the result change?",
)
def no_dropout(weights, values, p, training=True):
    return weights @ values


@misconception(
    "dropout_attention_weights",
    confuses="weights with context vectors: entries of the context vectors are dropped",
    hint="Is dropout applied before or after the product with the values?",
)
def context_dropped(weights, values, p, training=True):
    return F.dropout(weights @ values, p, training)


@misconception(
    "dropout_attention_weights",
    confuses="weights with values: entries of the values are dropped",
    hint="Which tensor has one number for each pair of a query and a key?",
)
def values_dropped(weights, values, p, training=True):
    return weights @ F.dropout(values, p, training)


@misconception(
    "dropout_attention_weights",
    confuses="one dropout with two: weights and context vectors are dropped",
    hint="Count the random decisions behind one context vector.",
)
def both_dropped(weights, values, p, training=True):
    return F.dropout(F.dropout(weights, p, training) @ values, p, training)


@misconception(
    "dropout_attention_weights",
    confuses="one dropout with two: weights and values are dropped",
    hint="Count the random decisions behind one context vector.",
)
def weights_and_values_dropped(weights, values, p, training=True):
    return F.dropout(weights, p, training) @ F.dropout(values, p, training)


@misconception(
    "dropout_attention_weights",
    confuses="dropping and scaling with dropping alone: the kept weights are not scaled up",
    hint="What happens to the mean over many calls?",
)
def weights_not_scaled(weights, values, p, training=True):
    return F.dropout(weights, p, training) @ values * ((1 - p) if training else 1)


@misconception(
    "dropout_attention_weights",
    confuses="scaling by 1 / (1 - p) with renormalizing: after dropout, rows are rescaled to their "
    "earlier sums",
    hint="May a remaining weight depend on how many weights in its row were dropped?",
)
def rows_renormalized(weights, values, p, training=True):
    kept = F.dropout(weights, p, training)
    sums = kept.sum(dim=-1, keepdim=True).clamp(min=1e-9)
    return kept * weights.sum(dim=-1, keepdim=True) / sums @ values


@misconception(
    "dropout_attention_weights",
    confuses="dropped weights with masked ones: after dropout, rows are rescaled to sum to one, "
    "and a row without any remaining weight becomes nan",
    hint="Must rows still sum to one after dropout? Print a row before and after it.",
)
def rows_sum_to_one_after_dropout(weights, values, p, training=True):
    kept = F.dropout(weights, p, training)
    return kept / kept.sum(dim=-1, keepdim=True) @ values


@misconception(
    "dropout_attention_weights",
    confuses="dropped weights with masked ones: after dropout, rows are rescaled to sum to one",
    hint="Must rows still sum to one after dropout? Print a row before and after it.",
)
def kept_weights_sum_to_one(weights, values, p, training=True):
    kept = F.dropout(weights, p, training)
    return kept / kept.sum(dim=-1, keepdim=True).clamp(min=1e-9) @ values


@misconception(
    "dropout_attention_weights",
    confuses="weights with scores: a softmax is applied to the given weights before dropout",
    hint="Which step came before this one? Does softmax leave weights unchanged?",
)
def softmax_before_dropout(weights, values, p, training=True):
    return F.dropout(torch.softmax(weights, dim=-1), p, training) @ values


@misconception(
    "dropout_attention_weights",
    confuses="weights with scores: softmax is applied to the given weights",
    hint="Which step came before this one? Does softmax leave weights unchanged?",
)
def softmax_again(weights, values, p, training=True):
    return torch.softmax(F.dropout(weights, p, training), dim=-1) @ values


@misconception(
    "dropout_attention_weights",
    confuses="any weights with weights that sum to one: rows are divided by their sum",
    hint="Does the docstring ask for rows that sum to one? Print the row sums of the given "
    "weights, and then those of the weights that you multiply by the values.",
)
def rows_made_to_sum_to_one(weights, values, p, training=True):
    weights = weights / weights.sum(dim=-1, keepdim=True)
    return F.dropout(weights, p, training) @ values


@misconception(
    "dropout_attention_weights",
    confuses="evaluation with training: weights are always dropped",
    hint="Call it with training=False. Is the result equal to weights @ values?",
)
def mode_not_passed_on(weights, values, p, training=True):
    return F.dropout(weights, p) @ values


@misconception(
    "dropout_attention_weights",
    confuses="training with evaluation: weights are dropped only outside training",
    hint="When should nothing be dropped: in training or in evaluation?",
)
def mode_turned_round(weights, values, p, training=True):
    return F.dropout(weights, p, not training) @ values


@misconception(
    "dropout_attention_weights",
    confuses="weights with keys: if a key is dropped, it is dropped for all queries",
    hint="How many random numbers do T queries and S keys need?",
)
def keys_dropped(weights, values, p, training=True):
    return weights * F.dropout(torch.ones_like(weights[..., :1, :]), p, training) @ values


@misconception(
    "dropout_attention_weights",
    confuses="weights with keys: the same keys are dropped for all queries, heads and items of a "
    "batch",
    hint="How many random numbers do T queries and S keys need?",
)
def one_pattern_of_keys(weights, values, p, training=True):
    kept = F.dropout(torch.ones(weights.shape[-1], dtype=weights.dtype), p, training)
    return weights * kept @ values


@misconception(
    "dropout_attention_weights",
    confuses="weights with queries: all weights of a query are dropped together",
    hint="How many random numbers do T queries and S keys need?",
)
def queries_dropped(weights, values, p, training=True):
    return weights * F.dropout(torch.ones_like(weights[..., :1]), p, training) @ values


@misconception(
    "dropout_attention_weights",
    confuses="each item of a batch with the first: all items of a batch get the same dropout "
    "pattern",
    hint="Use a tensor of ones of shape (2, 3, 3) as weights. Do both items of the batch lose the "
    "same weights?",
)
def batch_shares_a_pattern(weights, values, p, training=True):
    pattern = F.dropout(torch.ones(weights.shape[-2:], dtype=weights.dtype), p, training)
    return weights * pattern @ values


@misconception(
    "dropout_attention_weights",
    confuses="random results with repeatable ones: every call drops the same weights",
    hint="Call it twice in a row. Is the result the same?",
)
def seeded(weights, values, p, training=True):
    if not training:
        return weights @ values
    numbers = torch.rand(weights.shape, generator=torch.Generator().manual_seed(1))
    return torch.where(numbers < p, 0.0, weights / max(1 - p, 1e-9)) @ values


@misconception(
    "dropout_attention_weights",
    confuses="the probability of dropping with the probability of keeping: p is used as the "
    "probability of keeping",
    hint="With p = 0.1, how many of 1000 weights are left?",
)
def p_keeps_weights(weights, values, p, training=True):
    return F.dropout(weights, 1 - p, training) @ values


@misconception(
    "dropout_attention_weights",
    confuses="any probability with one half: any p above 0 becomes 0.5",
    hint="With p = 0.1, how many of 1000 weights are left?",
)
def half_of_the_weights(weights, values, p, training=True):
    return F.dropout(weights, 0.5, training and p > 0) @ values


@misconception(
    "dropout_attention_weights",
    confuses="rows with columns: the weights are transposed before they are multiplied by the "
    "values",
    hint="Row t of the weights belongs to query t. What does row t of the result belong to?",
)
def weights_turned(weights, values, p, training=True):
    return F.dropout(weights, p, training).transpose(-2, -1) @ values


@misconception(
    "dropout_attention_weights",
    confuses="the context vectors with the remaining weights: the remaining weights are returned "
    "instead of the context vectors",
    hint="Compare the shape of your result with the one in the docstring.",
)
def values_not_used(weights, values, p, training=True):
    return F.dropout(weights, p, training)


@misconception(
    "dropout_attention_weights",
    confuses="p = 1 with smaller probabilities: at p = 1 the result is nan",
    hint="Call it with p = 1. What is 1 / (1 - p) then?",
)
def weights_not_a_number_at_one(weights, values, p, training=True):
    if not training:
        return weights @ values
    kept = torch.rand_like(weights) >= p
    return weights * kept / torch.tensor(1 - p, dtype=weights.dtype) @ values


@misconception(
    "dropout_attention_weights",
    confuses="a new tensor with the caller's: the weights are changed in place",
    hint="Print the weights before and after the call.",
)
def weights_changed(weights, values, p, training=True):
    return F.dropout(weights, p, training, inplace=True) @ values


@misconception(
    "dropout_attention_weights",
    confuses="plain values with values that have a gradient: no gradient flows back to the weights",
    hint="Which of the two inputs gets a gradient?",
)
def weights_cut_off(weights, values, p, training=True):
    return F.dropout(weights.detach(), p, training) @ values


@misconception(
    "dropout_attention_weights",
    confuses="each item of a batch with the first: all items of a batch use the values of the "
    "first one",
    hint="Change the values of the second item. Does its result change?",
)
def values_of_the_first_item(weights, values, p, training=True):
    first = values[:1] if values.dim() > 2 else values
    return F.dropout(weights, p, training) @ first


@misconception(
    "dropout_attention_weights",
    confuses="setting weights to zero with setting them to another number: a dropped weight is not "
    "zero",
    hint="Are the dropped weights exactly zero? Which kind of dropout do you call?",
)
def dropped_are_no_zeros(weights, values, p, training=True):
    return F.alpha_dropout(weights, p, training) @ values


@misconception(
    "dropout_attention_weights",
    confuses="torch's dropout with one that does not scale: the kept weights are divided by 1 - p "
    "a second time",
    hint="Call torch's dropout with p = 0.5 and weights of one. What does a kept weight become?",
)
def kept_weights_scaled_twice(weights, values, p, training=True):
    kept = F.dropout(weights, p, training)
    return (kept / (1 - p) if training and p < 1 else kept) @ values


@misconception(
    "dropout_attention_weights",
    confuses="one dropout with two: dropout is applied to the weights twice",
    hint="With p = 0.5, how many weights in a row are left on average?",
)
def weights_dropped_twice(weights, values, p, training=True):
    return F.dropout(F.dropout(weights, p, training), p, training) @ values


@misconception(
    "dropout_attention_weights",
    confuses="scaling in one mode with scaling in both: the kept weights are divided by 1 - p in "
    "training, and the weights are also multiplied by 1 - p in evaluation",
    hint="According to the docstring, in which of the two modes are weights scaled?",
)
def weights_scaled_in_training_and_outside(weights, values, p, training=True):
    return (F.dropout(weights, p) if training else weights * (1 - p)) @ values
