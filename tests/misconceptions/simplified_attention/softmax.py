"""Known mistakes in normalizing scores."""

import math

import torch

from autograder.suite import misconception


@misconception(
    "normalize_by_sum",
    confuses="the sum of a row with the sum of everything: each row is divided by the sum of the "
    "whole tensor",
    hint="Give it two rows. What does each row of your result sum to?",
)
def total_of_everything(scores):
    return scores / scores.sum()


@misconception(
    "normalize_by_sum",
    confuses="rows and columns: the columns sum to one",
    hint="Give it a table of two rows and three columns. Which of them sum to one in your result?",
)
def columns_sum_to_one(scores):
    return scores / scores.sum(dim=0, keepdim=True)


@misconception(
    "normalize_by_sum",
    confuses="the second and the last dimension, which are the same only in a matrix: the sums run "
    "along dimension 1, which is the last one only in a matrix",
    hint="In a batch of matrices, which dimension of the scores holds the keys?",
)
def second_dimension_sums_to_one(scores):
    return scores / scores.sum(dim=min(1, scores.dim() - 1), keepdim=True)


@misconception(
    "normalize_by_sum",
    confuses="a sum that keeps its dimension with one that loses it: rows are divided by the sums "
    "of other rows",
    hint="Write down the shapes of the sums and of the scores. How does torch line them up?",
)
def dimension_lost(scores):
    return scores / scores.sum(dim=-1)


@misconception(
    "normalize_by_sum",
    confuses="the largest score with the sum of scores: each row is divided by its largest score",
    hint="Do your rows sum to one, or is their largest entry one?",
)
def divided_by_the_largest(scores):
    return scores / scores.amax(dim=-1, keepdim=True)


@misconception(
    "normalize_by_sum",
    confuses="the sum with the length of a row seen as a vector: each row is divided by its length "
    "as a vector",
    hint="Do your rows sum to one, or do their squares?",
)
def unit_length(scores):
    return scores / scores.norm(dim=-1, keepdim=True)


@misconception(
    "normalize_by_sum",
    confuses="the sum with the number of entries: each row is divided by the number of its entries",
    hint="Do your rows sum to one? Does your divisor change when a score changes?",
)
def divided_by_the_count(scores):
    return scores / scores.shape[-1]


@misconception(
    "normalize_by_sum",
    confuses="this step with a later one: the largest score is subtracted from each row first",
    hint="Divide (1, 3) by its sum by hand. Is the second share 0?",
)
def largest_taken_off_first(scores):
    shifted = scores - scores.amax(dim=-1, keepdim=True)
    return shifted / shifted.sum(dim=-1, keepdim=True)


@misconception(
    "normalize_by_sum",
    confuses="two meanings of normalizing: the mean is subtracted from each row, and the "
    "difference is divided by the standard deviation",
    hint="Add up a row of your result. What should the sum be?",
)
def standardized(scores):
    return (scores - scores.mean(dim=-1, keepdim=True)) / scores.std(dim=-1, keepdim=True)


@misconception(
    "normalize_by_sum",
    confuses="shares with percentages: every row sums to 100",
    hint="Add up a row of your result. What should the sum be?",
)
def percentages(scores):
    return 100 * scores / scores.sum(dim=-1, keepdim=True)


@misconception(
    "normalize_by_sum",
    confuses="this step with the next: exponentials are already taken",
    hint="Divide (1, 3) by its sum by hand. Is an exponential needed?",
)
def exponentials_already(scores):
    return torch.softmax(scores, dim=-1)


@misconception(
    "normalize_by_sum",
    confuses="the sum with the sum of absolute values: each row is divided by the sum of its "
    "absolute values",
    hint="Divide (3, -1) by its sum by hand, and compare with your code.",
)
def absolute_values_summed(scores):
    return torch.nn.functional.normalize(scores, p=1, dim=-1)


@misconception(
    "normalize_by_sum",
    confuses="a share with a probability: negative scores are set to zero",
    hint="Divide (3, -1) by its sum by hand, and compare with your code.",
)
def negatives_cut_off(scores):
    kept = scores.clamp(min=0)
    return kept / kept.sum(dim=-1, keepdim=True)


@misconception(
    "normalize_by_sum",
    confuses="shares of a sum with a position between the smallest and the largest score: each row "
    "is rescaled to run from 0 to 1",
    hint="Is the smallest entry of a row always 0 in your result? Should it be?",
)
def between_smallest_and_largest(scores):
    low, high = scores.amin(dim=-1, keepdim=True), scores.amax(dim=-1, keepdim=True)
    return (scores - low) / (high - low)


@misconception(
    "normalize_by_sum",
    confuses="a guard against division by zero with the formula itself: a noticeable amount is "
    "added to the sum",
    hint="Do your rows sum to exactly one? What else is in the denominator?",
)
def sum_made_larger(scores):
    return scores / (scores.sum(dim=-1, keepdim=True) + 1e-2)


@misconception(
    "normalize_by_sum",
    confuses="a new tensor and the caller's: the scores are divided in place",
    hint="Print the scores before and after the call.",
)
def divided_in_place(scores):
    scores /= scores.sum(dim=-1, keepdim=True).clone()
    return scores


@misconception(
    "normalize_by_sum",
    confuses="the sum with a constant: part of the gradient is missing",
    hint="Does the sum change when one score changes? Then the gradient must include that change.",
)
def sum_detached(scores):
    return scores / scores.sum(dim=-1, keepdim=True).detach()


@misconception(
    "normalize_by_sum",
    confuses="a tensor with its numbers: no gradient flows back through the result",
    hint="Does your result have a `grad_fn` when the scores require a gradient?",
)
def shares_without_gradient(scores):
    return torch.tensor((scores / scores.sum(dim=-1, keepdim=True)).tolist(), dtype=scores.dtype)


@misconception(
    "normalize_by_sum",
    confuses="float32 with the dtype of the scores: the result is always float32",
    hint="What is the dtype of your result when the scores are float64?",
)
def shares_in_float32(scores):
    return scores.float() / scores.float().sum(dim=-1, keepdim=True)


@misconception(
    "normalize_by_sum",
    confuses="the dtype of a result with the precision of its computation: part of the computation "
    "runs in float32, so digits are lost",
    hint="Which step of your code loses digits of a float64 input?",
)
def shares_by_way_of_float32(scores):
    return (scores.float() / scores.float().sum(dim=-1, keepdim=True)).to(scores.dtype)


@misconception(
    "naive_softmax",
    confuses="the sum of a row with the sum of everything: each row is divided by the sum of the "
    "whole tensor",
    hint="Give it two rows. What does each row of your result sum to?",
)
def exponentials_of_everything(scores):
    exponentials = torch.exp(scores)
    return exponentials / exponentials.sum()


@misconception(
    "naive_softmax",
    confuses="rows and columns: the columns sum to one",
    hint="Give it a table of two rows and three columns. Which of them sum to one in your result?",
)
def over_the_first_dimension(scores):
    exponentials = torch.exp(scores)
    return exponentials / exponentials.sum(dim=0, keepdim=True)


@misconception(
    "naive_softmax",
    confuses="the second and the last dimension, which are the same only in a matrix: the sums run "
    "along dimension 1, which is the last one only in a matrix",
    hint="In a batch of matrices, which dimension of the scores holds the keys?",
)
def over_the_second_dimension(scores):
    exponentials = torch.exp(scores)
    return exponentials / exponentials.sum(dim=min(1, scores.dim() - 1), keepdim=True)


@misconception(
    "naive_softmax",
    confuses="the second-to-last dimension with the last: the sums run along the second-to-last "
    "dimension",
    hint="Which of the last two dimensions holds the keys: the rows or the columns?",
)
def over_the_queries(scores):
    exponentials = torch.exp(scores)
    return exponentials / exponentials.sum(dim=max(-2, -scores.dim()), keepdim=True)


@misconception(
    "naive_softmax",
    confuses="a sum that keeps its dimension with one that loses it: rows are divided by the sums "
    "of other rows",
    hint="Write down the shapes of the sums and of the scores. How does torch line them up?",
)
def sum_dimension_lost(scores):
    exponentials = torch.exp(scores)
    return exponentials / exponentials.sum(dim=-1)


@misconception(
    "naive_softmax",
    confuses="this step with the one before: no exponential is taken",
    hint="Give it the scores -1 and 3. Is a weight negative? Can an exponential be?",
)
def exponential_forgotten(scores):
    return scores / scores.sum(dim=-1, keepdim=True)


@misconception(
    "naive_softmax",
    confuses="the order of two steps: the exponential of the sum is taken, not the sum of the "
    "exponentials",
    hint="Is exp(a + b) the same as exp(a) + exp(b)?",
)
def exponential_of_the_sum(scores):
    return torch.exp(scores) / torch.exp(scores.sum(dim=-1, keepdim=True))


@misconception(
    "naive_softmax",
    confuses="scores with exponentials: the numerator is an exponential, but the denominator is a "
    "sum of plain scores",
    hint="Do your rows sum to one? Look at what you divide by.",
)
def denominator_of_plain_scores(scores):
    return torch.exp(scores) / scores.sum(dim=-1, keepdim=True)


@misconception(
    "naive_softmax",
    confuses="the order of two steps: the scores are divided by their sum first, and the "
    "exponentials of these shares are the result",
    hint="Do the rows of your result sum to one?",
)
def exponentials_last(scores):
    return torch.exp(scores / scores.sum(dim=-1, keepdim=True))


@misconception(
    "naive_softmax",
    confuses="scores with exponentials: the denominator is a sum of exponentials, but the "
    "numerator is a plain score",
    hint="Do your rows sum to one? Look at what you divide.",
)
def numerator_of_plain_scores(scores):
    return scores / torch.exp(scores).sum(dim=-1, keepdim=True)


@misconception(
    "naive_softmax",
    confuses="the order of two steps: the scores are divided by their sum before the exponentials "
    "are taken",
    hint="What must sum to one in the end: the shares that go in, or the weights that come out?",
)
def shares_before_exponentials(scores):
    exponentials = torch.exp(scores / scores.sum(dim=-1, keepdim=True))
    return exponentials / exponentials.sum(dim=-1, keepdim=True)


@misconception(
    "naive_softmax",
    confuses="sum and maximum: the largest weight of every row is one",
    hint="Do your rows sum to one, or is their largest entry one?",
)
def largest_exponential_is_one(scores):
    exponentials = torch.exp(scores)
    return exponentials / exponentials.amax(dim=-1, keepdim=True)


@misconception(
    "naive_softmax",
    confuses="base 2 with base e: powers of 2 are taken instead of powers of e",
    hint="Which number is raised to the power of the score in the formula?",
)
def powers_of_two(scores):
    return 2.0**scores / (2.0**scores).sum(dim=-1, keepdim=True)


@misconception(
    "naive_softmax",
    confuses="an exponent with its negative: low scores get the large weights",
    hint="Which score should get the largest weight, and which gets it in your result?",
)
def low_scores_win(scores):
    exponentials = torch.exp(-scores)
    return exponentials / exponentials.sum(dim=-1, keepdim=True)


@misconception(
    "naive_softmax",
    confuses="one application with two: the weights go through a softmax again",
    hint="Compute the weights for the scores 0 and 1 by hand. Is your result flatter?",
)
def applied_twice(scores):
    return torch.softmax(torch.softmax(scores, dim=-1), dim=-1)


@misconception(
    "naive_softmax",
    confuses="weights with their logarithms: the logarithms of the weights are returned",
    hint="Can a weight be negative?",
)
def logarithms_returned(scores):
    return scores - torch.exp(scores).sum(dim=-1, keepdim=True).log()


@misconception(
    "naive_softmax",
    confuses="each score on its own with a row: a sigmoid is applied to each score separately",
    hint="Raise one score. Which weights change in your result, and which should?",
)
def sigmoid_of_each(scores):
    return torch.sigmoid(scores)


@misconception(
    "naive_softmax",
    confuses="a guard against division by zero with the formula itself: 1 is added to the sum",
    hint="Do your rows sum to one? What else is in the denominator?",
)
def one_added_to_the_sum(scores):
    exponentials = torch.exp(scores)
    return exponentials / (1 + exponentials.sum(dim=-1, keepdim=True))


@misconception(
    "naive_softmax",
    confuses="this step with a later one: the scores are already divided by a square root",
    hint="Compute the weights for the scores 0 and 1 by hand. Is your result flatter?",
)
def scaled_by_a_root(scores):
    exponentials = torch.exp(scores / math.sqrt(scores.shape[-1]))
    return exponentials / exponentials.sum(dim=-1, keepdim=True)


@misconception(
    "naive_softmax",
    confuses="a new tensor and the caller's: the caller's scores are replaced with their "
    "exponentials",
    hint="Print the scores before and after the call.",
)
def exponentials_in_place(scores):
    scores.exp_()
    return scores / scores.sum(dim=-1, keepdim=True)


@misconception(
    "naive_softmax",
    confuses="the sum with a constant: part of the gradient is missing",
    hint="Does the sum change when one score changes? Then the gradient must include that change.",
)
def sum_of_exponentials_detached(scores):
    exponentials = torch.exp(scores)
    return exponentials / exponentials.sum(dim=-1, keepdim=True).detach()


@misconception(
    "naive_softmax",
    confuses="a tensor with its numbers: no gradient flows back through the result",
    hint="Does your result have a `grad_fn` when the scores require a gradient?",
)
def exponentials_without_gradient(scores):
    with torch.no_grad():
        exponentials = torch.exp(scores)
        return exponentials / exponentials.sum(dim=-1, keepdim=True)


@misconception(
    "naive_softmax",
    confuses="float32 with the dtype of the scores: the result is always float32",
    hint="What is the dtype of your result when the scores are float64?",
)
def exponentials_in_float32(scores):
    exponentials = torch.exp(scores.to(torch.float32))
    return exponentials / exponentials.sum(dim=-1, keepdim=True)


@misconception(
    "naive_softmax",
    confuses="the dtype of a result with the precision of its computation: part of the computation "
    "runs in float32, so digits are lost",
    hint="Which step of your code loses digits of a float64 input?",
)
def exponentials_by_way_of_float32(scores):
    exponentials = torch.exp(scores.to(torch.float32))
    return (exponentials / exponentials.sum(dim=-1, keepdim=True)).to(scores.dtype)


@misconception(
    "naive_softmax",
    confuses="a rounded e with e itself: a rounded e is raised to the power of the scores",
    hint="How many digits of e does your code use? There is a function for powers of e.",
)
def rounded_e(scores):
    return 2.718**scores / (2.718**scores).sum(dim=-1, keepdim=True)


def _stable(scores, dim=-1):
    exponentials = torch.exp(scores - scores.amax(dim=dim, keepdim=True))
    return exponentials / exponentials.sum(dim=dim, keepdim=True)


@misconception(
    "softmax",
    confuses="scores that are small enough with all scores: exponentials are taken without a "
    "shift, so large scores overflow",
    hint="What does `torch.exp(torch.tensor(1000.0))` print?",
)
def overflows(scores, dim=-1):
    exponentials = torch.exp(scores)
    return exponentials / exponentials.sum(dim=dim, keepdim=True)


@misconception(
    "softmax",
    confuses="more digits with a larger range: float64 overflows as well, only later",
    hint="What is the exponential of 1000 in float64?",
)
def overflows_in_float64(scores, dim=-1):
    exponentials = torch.exp(scores.double())
    return (exponentials / exponentials.sum(dim=dim, keepdim=True)).to(scores.dtype)


@misconception(
    "softmax",
    confuses="the argument with the last dimension: `dim` has no effect",
    hint="Call it with `dim=0`. What sums to one?",
)
def dim_ignored(scores, dim=-1):
    return _stable(scores, -1)


@misconception(
    "softmax",
    confuses="the first dimension with the last: without `dim`, the first dimension is used",
    hint="Call it on a matrix without `dim`. What sums to one?",
)
def first_dimension_by_default(scores, dim=0):
    return _stable(scores, dim)


@misconception(
    "softmax",
    confuses="the second dimension with the last: without `dim`, the second dimension is used, "
    "which is the last one only in a matrix",
    hint="Call it without `dim` on one row, and on a batch of matrices.",
)
def second_dimension_by_default(scores, dim=1):
    return _stable(scores, dim)


@misconception(
    "softmax",
    confuses="the sum along `dim` with the sum of everything: each row is divided by the sum of "
    "the whole tensor",
    hint="Give it two rows. What does each row of your result sum to?",
)
def whole_tensor_sums_to_one(scores, dim=-1):
    exponentials = torch.exp(scores - scores.amax(dim=dim, keepdim=True))
    return exponentials / exponentials.sum()


@misconception(
    "softmax",
    confuses="a dimension that is kept with one that is lost: rows are combined with the maxima or "
    "the sums of other rows",
    hint="Write down the shapes of scores, maximum and sum. How does torch line them up?",
)
def dimensions_lost(scores, dim=-1):
    exponentials = torch.exp(scores - scores.amax(dim=dim, keepdim=True))
    return exponentials / exponentials.sum(dim=dim)


@misconception(
    "softmax",
    confuses="the dimension `dim` with the last one: the dimension of the maxima and sums is put "
    "back at the end, whatever `dim` is",
    hint="Use `dim=0` on a table of two rows and three columns. What is the shape of the sums, and "
    "which shape must they have?",
)
def dimension_put_back_at_the_end(scores, dim=-1):
    exponentials = torch.exp(scores - scores.amax(dim=dim).unsqueeze(-1))
    return exponentials / exponentials.sum(dim=dim).unsqueeze(-1)


@misconception(
    "softmax",
    confuses="the dimension `dim` with the last one: the dimension of the sums is put back at the "
    "end, whatever `dim` is",
    hint="Use `dim=0` on a table of two rows and three columns. What is the shape of the sums, and "
    "which shape must they have?",
)
def dimension_of_sums_put_back_at_the_end(scores, dim=-1):
    exponentials = torch.exp(scores - scores.amax(dim=dim, keepdim=True))
    return exponentials / exponentials.sum(dim=dim).unsqueeze(-1)


@misconception(
    "softmax",
    confuses="the given dimension with the last one: the sum always runs along the last dimension",
    hint="Follow `dim` through your code. Does every step use it?",
)
def sum_over_the_last_dimension(scores, dim=-1):
    exponentials = torch.exp(scores - scores.amax(dim=dim, keepdim=True))
    return exponentials / exponentials.sum(dim=-1, keepdim=True)


@misconception(
    "softmax",
    confuses="one maximum for all with one per row: one maximum is subtracted from all rows, so "
    "rows far below it vanish",
    hint="Put a row near 1000 and a row near -1000 in one matrix. What happens to the second?",
)
def one_maximum_for_all(scores, dim=-1):
    exponentials = torch.exp(scores - scores.max())
    return exponentials / exponentials.sum(dim=dim, keepdim=True)


@misconception(
    "softmax",
    confuses="the maximum of the last dimension with that along `dim`: the maximum is taken along "
    "the last dimension, not along `dim`",
    hint="Put a row of small scores and a row of very large ones into one matrix, and use `dim=0`.",
)
def maximum_of_the_last_dimension(scores, dim=-1):
    exponentials = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
    return exponentials / exponentials.sum(dim=dim, keepdim=True)


@misconception(
    "softmax",
    confuses="maximum and mean: after the mean is subtracted, a score can still be too large",
    hint="Take the scores 1000, 0 and -1000. Which exponents does your code compute from them?",
)
def mean_taken_off(scores, dim=-1):
    exponentials = torch.exp(scores - scores.mean(dim=dim, keepdim=True))
    return exponentials / exponentials.sum(dim=dim, keepdim=True)


@misconception(
    "softmax",
    confuses="maximum and minimum: subtracting the minimum makes the scores even larger",
    hint="Take the scores 1000, 0 and -1000. Which exponents does your code compute from them?",
)
def minimum_taken_off(scores, dim=-1):
    exponentials = torch.exp(scores - scores.amin(dim=dim, keepdim=True))
    return exponentials / exponentials.sum(dim=dim, keepdim=True)


@misconception(
    "softmax",
    confuses="the largest score with the largest absolute value: the largest absolute value is "
    "subtracted, so a row of negative scores vanishes",
    hint="Take the scores -1000 and -1001. Which exponents does your code compute from them?",
)
def largest_size_taken_off(scores, dim=-1):
    exponentials = torch.exp(scores - scores.abs().amax(dim=dim, keepdim=True))
    return exponentials / exponentials.sum(dim=dim, keepdim=True)


@misconception(
    "softmax",
    confuses="subtracting with dividing: the scores are divided by their maximum, so their "
    "differences change",
    hint="Which change to all scores leaves the weights as they are: a shift, or a scale?",
)
def divided_by_the_maximum(scores, dim=-1):
    exponentials = torch.exp(scores / scores.amax(dim=dim, keepdim=True))
    return exponentials / exponentials.sum(dim=dim, keepdim=True)


@misconception(
    "softmax",
    confuses="shifting with cutting: scores above a bound all become equal",
    hint="Take the scores 1000 and 999. Do they still have different exponents in your code?",
)
def cut_at_a_bound(scores, dim=-1):
    exponentials = torch.exp(scores.clamp(-80, 80))
    return exponentials / exponentials.sum(dim=dim, keepdim=True)


@misconception(
    "softmax",
    confuses="hiding a fault with correcting it: nan is replaced with zero",
    hint="Do the weights of a row of large scores still sum to one?",
)
def not_a_number_becomes_zero(scores, dim=-1):
    exponentials = torch.exp(scores)
    return torch.nan_to_num(exponentials / exponentials.sum(dim=dim, keepdim=True))


@misconception(
    "softmax",
    confuses="one application with two: the weights go through a softmax again",
    hint="Compute the weights for the scores 0 and 1 by hand. Is your result flatter?",
)
def softmax_twice(scores, dim=-1):
    return _stable(_stable(scores, dim), dim)


@misconception(
    "softmax",
    confuses="a shift of all scores with a shift in one place: the maximum is subtracted in the "
    "numerator, but not in the denominator",
    hint="What sums to one only if numerator and denominator are treated alike?",
)
def shift_in_the_numerator_only(scores, dim=-1):
    largest = scores.amax(dim=dim, keepdim=True)
    return torch.exp(scores - largest) / torch.exp(scores).sum(dim=dim, keepdim=True)


@misconception(
    "softmax",
    confuses="weights with their logarithms: the logarithms of the weights are returned",
    hint="Can a weight be negative?",
)
def logarithm_of_softmax(scores, dim=-1):
    return scores - torch.logsumexp(scores, dim=dim, keepdim=True)


@misconception(
    "softmax",
    confuses="minus infinity with a low score: minus infinity becomes zero before the exponential",
    hint="What weight must a score of -inf get? What weight does a score of 0 get?",
)
def minus_infinity_becomes_zero(scores, dim=-1):
    return _stable(scores.masked_fill(torch.isinf(scores), 0.0), dim)


@misconception(
    "softmax",
    confuses="minus infinity with an ordinary number: a row with minus infinity becomes nan",
    hint="Give it a row with -inf and print every step. Where does nan first appear?",
)
def minus_infinity_times_zero(scores, dim=-1):
    keep = torch.isfinite(scores)
    largest = (scores * keep).amax(dim=dim, keepdim=True)
    exponentials = torch.exp(scores - largest)
    return exponentials / exponentials.sum(dim=dim, keepdim=True)


@misconception(
    "softmax",
    confuses="a low floor with minus infinity: scores below the floor all become equal",
    hint="Take the scores -900 and -901. Do they still have different exponents in your code?",
)
def floor_of_minus_one_hundred(scores, dim=-1):
    return _stable(scores.clamp(min=-100.0), dim)


@misconception(
    "softmax",
    confuses="a guard against division by zero with the formula itself: 1 is added to the sum",
    hint="Do your rows sum to one? What else is in the denominator?",
)
def denominator_made_larger(scores, dim=-1):
    exponentials = torch.exp(scores - scores.amax(dim=dim, keepdim=True))
    return exponentials / (1.0 + exponentials.sum(dim=dim, keepdim=True))


@misconception(
    "softmax",
    confuses="a new tensor and the caller's: the maximum is subtracted in place",
    hint="Print the scores before and after the call.",
)
def maximum_taken_off_in_place(scores, dim=-1):
    scores -= scores.amax(dim=dim, keepdim=True).clone()
    exponentials = torch.exp(scores)
    return exponentials / exponentials.sum(dim=dim, keepdim=True)


@misconception(
    "softmax",
    confuses="the sum with a constant: part of the gradient is missing",
    hint="Does the sum change when one score changes? Then the gradient must include that change.",
)
def denominator_detached(scores, dim=-1):
    exponentials = torch.exp(scores - scores.amax(dim=dim, keepdim=True))
    return exponentials / exponentials.sum(dim=dim, keepdim=True).detach()


@misconception(
    "softmax",
    confuses="a tensor with its numbers: no gradient flows back through the result",
    hint="Does your result have a `grad_fn` when the scores require a gradient?",
)
def result_without_gradient(scores, dim=-1):
    return torch.tensor(_stable(scores, dim).tolist(), dtype=scores.dtype)


@misconception(
    "softmax",
    confuses="float32 with the dtype of the scores: the result is always float32",
    hint="What is the dtype of your result when the scores are float64?",
)
def result_in_float32(scores, dim=-1):
    return _stable(scores.float(), dim)


@misconception(
    "softmax",
    confuses="the dtype of a result with the precision of its computation: part of the computation "
    "runs in float32, so digits are lost",
    hint="Which step of your code loses digits of a float64 input?",
)
def by_way_of_float32(scores, dim=-1):
    return _stable(scores.float(), dim).to(scores.dtype)


@misconception(
    "softmax",
    confuses="a row with a matrix of one row: the result has one dimension too many",
    hint="What is the shape of your result for one row?",
)
def row_becomes_a_matrix(scores, dim=-1):
    return _stable(torch.atleast_2d(scores), dim)


@misconception(
    "softmax",
    confuses="dimensions of size one with dimensions that are not needed: dimensions of size one "
    "are dropped from the result",
    hint="What is the shape of your result when one of the dimensions has size one?",
)
def sizes_of_one_dropped(scores, dim=-1):
    return _stable(scores, dim).squeeze()


@misconception(
    "softmax",
    confuses="a dimension moved to the end with one that was moved back: a dimension is moved to "
    "the end and not moved back",
    hint="What is the shape of your result for `dim=0` and a matrix that is not square?",
)
def dimension_not_moved_back(scores, dim=-1):
    return _stable(scores.movedim(dim, -1), -1)


@misconception(
    "softmax",
    confuses="moving one dimension with swapping two: other dimensions end up in a different order",
    hint="Undo exactly the step that you made at the start. Try three dimensions and `dim=0`.",
)
def dimension_moved_back_elsewhere(scores, dim=-1):
    return _stable(scores.movedim(dim, -1), -1).transpose(dim, -1)


@misconception(
    "naive_softmax",
    confuses="scores that are large with scores that are too large: large scores are cut off",
    hint="Give it scores of 40 and 45. Are their weights equal?",
)
def scores_cut_off_at_thirty(scores):
    powers = scores.clamp(-30, 30).exp()
    return powers / powers.sum(-1, keepdim=True)


@misconception(
    "softmax",
    confuses="any incoming gradient with a contiguous one: the backward pass works only for a "
    "contiguous gradient",
    hint="A gradient may be transposed like any tensor. Which one works then: `view` or `reshape`?",
)
def own_backward_of_rows(scores, dim=-1):
    return _RowsInOrder.apply(scores, dim)


class _RowsInOrder(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scores, dim):
        powers = (scores - scores.amax(dim, keepdim=True)).exp()
        weights = powers / powers.sum(dim, keepdim=True)
        ctx.save_for_backward(weights)
        ctx.dim = dim
        return weights

    @staticmethod
    def backward(ctx, grad):
        (weights,) = ctx.saved_tensors
        rows = grad.view(-1, grad.shape[-1]) if grad.dim() > 1 else grad
        grad = rows.view(grad.shape)
        return weights * (grad - (grad * weights).sum(ctx.dim, keepdim=True)), None


@misconception(
    "softmax",
    confuses="the dimensions during the computation with those of the result: two dimensions are "
    "swapped before softmax, and not swapped back",
    hint="Use `dim=0` on a table of two rows and three columns. What is the shape of your result?",
)
def never_swapped_back(scores, dim=-1):
    return _stable(scores.transpose(dim, -1))


@misconception(
    "normalize_by_sum",
    confuses="dividing with shifting and dividing: the smallest score is subtracted from each row "
    "first",
    hint="Divide (1, 3) by its sum by hand. Is the first share 0?",
)
def smallest_taken_off_first(scores):
    shifted = scores - scores.amin(dim=-1, keepdim=True)
    return shifted / shifted.sum(dim=-1, keepdim=True)


@misconception(
    "softmax",
    confuses="the largest score with the mean: the mean of the finite scores is subtracted, and "
    "the exponential of a score far above it is infinite",
    hint="Take the scores 0, 0 and 900. How far above the mean is the largest one?",
)
def mean_of_finite_scores_taken_off(scores, dim=-1):
    finite = scores.isfinite()
    total = scores.masked_fill(~finite, 0.0).sum(dim=dim, keepdim=True)
    powers = torch.exp(scores - total / finite.sum(dim=dim, keepdim=True))
    return powers / powers.sum(dim=dim, keepdim=True)
