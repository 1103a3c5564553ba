"""Softmax with two known mistakes at once, which neither name alone describes."""

import torch

from autograder.suite import combination, intended


@combination(
    "softmax", "one_maximum_for_all", "dim_ignored", "a_maximum_runs_over_all_numbers_at_once"
)
def one_maximum_and_last_dimension(scores, dim=-1):
    numbers = torch.exp(scores - scores.max())
    return numbers / numbers.sum(dim=-1, keepdim=True)


@combination(
    "softmax",
    "cut_at_a_bound",
    "result_without_gradient",
    "the_gradient_ends_on_its_way_back_nothing_is_trained",
)
def cut_and_detached(scores, dim=-1):
    numbers = torch.exp(scores.detach().clamp(-80, 80))
    return numbers / numbers.sum(dim=dim, keepdim=True)


@intended("normalize_by_sum", "divided by the largest", "divided_by_the_largest")
def by_the_largest(scores):
    return scores / scores.max(dim=-1, keepdim=True).values


@intended("normalize_by_sum", "columns that sum to one", "columns_sum_to_one")
def columns(scores):
    return scores / scores.sum(dim=0, keepdim=True)


@intended("normalize_by_sum", "divided by the sum of absolute values", "absolute_values_summed")
def by_absolute_values(scores):
    return scores / scores.abs().sum(dim=-1, keepdim=True)


@intended("normalize_by_sum", "a small constant below", "a_small_constant_is_added_to_the_divisor")
def constant_below(scores):
    return scores / (scores.sum(dim=-1, keepdim=True) + 1e-3)


@intended("normalize_by_sum", "the smallest taken away first", "smallest_taken_off_first")
def smallest_taken_away(scores):
    scores = scores - scores.min(dim=-1, keepdim=True).values
    return scores / scores.sum(dim=-1, keepdim=True)


@intended("normalize_by_sum", "everything together sums to one", "total_of_everything")
def all_together(scores):
    return scores / scores.sum()


@intended("naive_softmax", "powers of two", "powers_of_two")
def powers_of_two(scores):
    powers = 2.0**scores
    return powers / powers.sum(-1, keepdim=True)


@intended("naive_softmax", "divided by the largest exponential", "largest_exponential_is_one")
def by_largest_exponential(scores):
    powers = torch.exp(scores)
    return powers / powers.max(-1, keepdim=True).values


@intended("naive_softmax", "summed over the rows' axis", "over_the_first_dimension")
def summed_down(scores):
    powers = torch.exp(scores)
    return powers / powers.sum(0)


@intended(
    "naive_softmax",
    "exponentials that are not divided",
    "another_value_comes_back_than_the_one_that_the_last_step",
)
def exponentials(scores):
    return torch.exp(scores)


@intended("naive_softmax", "a minus in the exponent", "low_scores_win")
def minus_in_the_exponent(scores):
    powers = torch.exp(-scores)
    return powers / powers.sum(-1, keepdim=True)


@intended("softmax", "the argument dim is not used", "dim_ignored")
def dim_not_used(scores, dim=-1):
    powers = torch.exp(scores - scores.amax(-1, keepdim=True))
    return powers / powers.sum(-1, keepdim=True)


@intended("softmax", "divided by the largest, not shifted", "divided_by_the_maximum")
def divided_by_the_largest(scores, dim=-1):
    powers = torch.exp(scores / scores.amax(dim, keepdim=True))
    return powers / powers.sum(dim, keepdim=True)


@intended("softmax", "shifted by the mean", "mean_taken_off")
def shifted_by_the_mean(scores, dim=-1):
    powers = torch.exp(scores - scores.mean(dim, keepdim=True))
    return powers / powers.sum(dim, keepdim=True)


@intended("softmax", "scores cut at 50", "cut_at_a_bound", "large_numbers_are_cut_off")
def cut_at_fifty(scores, dim=-1):
    powers = torch.exp(scores.clamp(-50, 50))
    return powers / powers.sum(dim, keepdim=True)


@intended("softmax", "a temperature of two")
def temperature(scores, dim=-1):
    powers = torch.exp((scores - scores.amax(dim, keepdim=True)) / 2)
    return powers / powers.sum(dim, keepdim=True)


@intended("softmax", "the tuple that max returns", "two_results_are_taken_for_one_tensor")
def tuple_of_max(scores, dim=-1):
    powers = torch.exp(scores - scores.max(dim, keepdim=True))
    return powers / powers.sum(dim, keepdim=True)


@intended("softmax", "keepdim forgotten", "an_argument_of_a_call_is_left_out")
def keepdim_forgotten(scores, dim=-1):
    powers = torch.exp(scores - scores.amax(dim))
    return powers / powers.sum(dim)


@intended("softmax", "logarithms", "logarithm_of_softmax")
def logarithms(scores, dim=-1):
    return scores - torch.logsumexp(scores, dim, keepdim=True)
