"""Known mistakes in add and norm, and in the encoder block."""

import torch
import torch.nn.functional as F
from torch import nn

from autograder.suite import misconception


def _norm(total, weight, bias, eps, dim=-1):
    """Normalizes, over the wrong dimension if `dim` is given."""
    mean = total.mean(dim, keepdim=True)
    variance = total.var(dim, keepdim=True, unbiased=False)
    return weight * (total - mean) / torch.sqrt(variance + eps) + bias


# add_and_norm: what is added


@misconception(
    "add_and_norm",
    confuses="the sublayer's output with the sum: the input is never added",
    hint="Where does x enter your formula?",
)
def no_residual(x, sublayer_output, weight, bias, eps=1e-5):
    return _norm(sublayer_output, weight, bias, eps)


@misconception(
    "add_and_norm",
    confuses="adding first with normalizing first: the sublayer's output is normalized first, then "
    "added",
    hint="In which order does the name of the step list its two halves?",
)
def norm_before_add(x, sublayer_output, weight, bias, eps=1e-5):
    return x + _norm(sublayer_output, weight, bias, eps)


@misconception(
    "add_and_norm",
    confuses="one residual with two: the input is added again after the norm",
    hint="What are the mean and variance of your result if the weight is 1 and the bias is 0?",
)
def input_added_twice(x, sublayer_output, weight, bias, eps=1e-5):
    return x + _norm(x + sublayer_output, weight, bias, eps)


@misconception(
    "add_and_norm",
    confuses="the sum with the mean of the two: the mean of x and the sublayer output is used "
    "instead of their sum",
    hint="Try tokens whose entries hardly differ. Does the norm of half the sum equal that of the "
    "whole sum?",
)
def mean_of_the_two(x, sublayer_output, weight, bias, eps=1e-5):
    return _norm((x + sublayer_output) / 2, weight, bias, eps)


@misconception(
    "add_and_norm",
    confuses="the sum with the difference: the sublayer output is subtracted from x, not added",
    hint="Try it with a sublayer output of all zeros, then with a copy of x.",
)
def difference_instead_of_sum(x, sublayer_output, weight, bias, eps=1e-5):
    return _norm(x - sublayer_output, weight, bias, eps)


@misconception(
    "add_and_norm",
    confuses="a new tensor with the caller's: the sum is written into x",
    hint="Look at x before and after the call.",
)
def sum_written_into_x(x, sublayer_output, weight, bias, eps=1e-5):
    x.data += sublayer_output
    return _norm(x, weight, bias, eps)


@misconception(
    "add_and_norm",
    confuses="the variance of the sum with that of the input: the variance is that of x, not that "
    "of the sum",
    hint="Which tensor should have variance one afterwards? Measure that one.",
)
def variance_of_the_input(x, sublayer_output, weight, bias, eps=1e-5):
    total = x + sublayer_output
    variance = x.var(-1, keepdim=True, unbiased=False)
    return weight * (total - total.mean(-1, keepdim=True)) / torch.sqrt(variance + eps) + bias


# add_and_norm: mean, variance, eps


@misconception(
    "add_and_norm",
    confuses="the unbiased variance (divided by D - 1) with the biased one: the variance is "
    "divided by D - 1 instead of D",
    hint="Do you divide by D or by D - 1? By default, torch's var divides by D - 1.",
)
def unbiased_variance(x, sublayer_output, weight, bias, eps=1e-5):
    total = x + sublayer_output
    mean, variance = total.mean(-1, keepdim=True), total.var(-1, keepdim=True)
    return weight * (total - mean) / torch.sqrt(variance + eps) + bias


@misconception(
    "add_and_norm",
    confuses="eps under the square root with eps outside it: eps is added to the square root, not "
    "under it",
    hint="Try a token whose entries hardly differ. Where is eps in the formula?",
)
def eps_beside_the_root(x, sublayer_output, weight, bias, eps=1e-5):
    total = x + sublayer_output
    mean, spread = total.mean(-1, keepdim=True), total.std(-1, keepdim=True, unbiased=False)
    return weight * (total - mean) / (spread + eps) + bias


@misconception(
    "add_and_norm",
    confuses="eps with an optional detail: eps is left out",
    hint="What happens to a token whose entries are all equal?",
)
def no_eps(x, sublayer_output, weight, bias, eps=1e-5):
    return _norm(x + sublayer_output, weight, bias, 0.0)


@misconception(
    "add_and_norm",
    confuses="the usual eps with the one that is given: eps is always the same, whatever the "
    "caller passes",
    hint="Change eps. Does your result change?",
)
def eps_always_the_same(x, sublayer_output, weight, bias, eps=1e-5):
    return _norm(x + sublayer_output, weight, bias, 1e-5)


@misconception(
    "add_and_norm",
    confuses="the eps of another library with the one in the question: the default of eps is not "
    "the one in the question",
    hint="Compare the default of your last argument with the signature.",
)
def smaller_default_eps(x, sublayer_output, weight, bias, eps=1e-6):
    return _norm(x + sublayer_output, weight, bias, eps)


@misconception(
    "add_and_norm",
    confuses="the variance with its square root: the sum is divided by the variance, not by its "
    "square root",
    hint="Multiply the input by ten. Does the result stay nearly the same? It should.",
)
def divided_by_the_variance(x, sublayer_output, weight, bias, eps=1e-5):
    total = x + sublayer_output
    variance = total.var(-1, keepdim=True, unbiased=False)
    return weight * (total - total.mean(-1, keepdim=True)) / (variance + eps) + bias


@misconception(
    "add_and_norm",
    confuses="this norm with one that leaves the mean where it is: the mean is not subtracted",
    hint="What is the mean of a token of your result if weight is 1 and bias is 0?",
)
def mean_not_subtracted(x, sublayer_output, weight, bias, eps=1e-5):
    total = x + sublayer_output
    return weight * total / torch.sqrt(total.square().mean(-1, keepdim=True) + eps) + bias


@misconception(
    "add_and_norm",
    confuses="centering with normalizing: the sum is only centered, not divided by its standard "
    "deviation",
    hint="What is the variance of a token of your result if weight is 1 and bias is 0?",
)
def only_centred(x, sublayer_output, weight, bias, eps=1e-5):
    total = x + sublayer_output
    return weight * (total - total.mean(-1, keepdim=True)) + bias


@misconception(
    "add_and_norm",
    confuses="the length of a token with its standard deviation: the sum is divided by its length "
    "as a vector, not by its standard deviation",
    hint="A variance is a mean, not a sum. What is it divided by?",
)
def divided_by_the_length(x, sublayer_output, weight, bias, eps=1e-5):
    total = x + sublayer_output
    total = total - total.mean(-1, keepdim=True)
    return weight * total / torch.sqrt(total.square().sum(-1, keepdim=True) + eps) + bias


# add_and_norm: dimensions of mean and variance


@misconception(
    "add_and_norm",
    confuses="the entries of a token with the tokens of a sequence: mean and variance are taken "
    "over the tokens",
    hint="Along which dimension are the entries of one token?",
)
def normalised_over_tokens(x, sublayer_output, weight, bias, eps=1e-5):
    return _norm(x + sublayer_output, weight, bias, eps, dim=-2)


@misconception(
    "add_and_norm",
    confuses="the first with the last dimension: mean and variance are taken over the first "
    "dimension",
    hint="In a batch, what does dimension 0 count?",
)
def normalised_over_the_first_dimension(x, sublayer_output, weight, bias, eps=1e-5):
    return _norm(x + sublayer_output, weight, bias, eps, dim=0)


@misconception(
    "add_and_norm",
    confuses="dimension 1, the last of a matrix, with the last dimension: mean and variance are "
    "taken over dimension 1, which is the last one only in a matrix",
    hint="Your result is right for (T, D). Which dimension is the last of (B, T, D)?",
)
def normalised_over_dimension_one(x, sublayer_output, weight, bias, eps=1e-5):
    return _norm(x + sublayer_output, weight, bias, eps, dim=1)


@misconception(
    "add_and_norm",
    confuses="one token with all of them: a single mean is taken over the whole tensor",
    hint="How many means are there for 5 tokens?",
)
def normalised_over_everything(x, sublayer_output, weight, bias, eps=1e-5):
    total = x + sublayer_output
    variance = total.var(unbiased=False)
    return weight * (total - total.mean()) / torch.sqrt(variance + eps) + bias


@misconception(
    "add_and_norm",
    confuses="a token with its sequence: tokens of a sequence share mean and variance",
    hint="Change one token. Should the results of its neighbors change?",
)
def normalised_over_the_sequence(x, sublayer_output, weight, bias, eps=1e-5):
    return _norm(x + sublayer_output, weight, bias, eps, dim=(-2, -1))


@misconception(
    "add_and_norm",
    confuses="dimension 2, the last of a batch of sequences, with the last dimension: mean and "
    "variance are taken over dimension 2, which is the last one only in a batch of sequences",
    hint="Your result is right for (B, T, D). What about four dimensions?",
)
def normalised_over_dimension_two(x, sublayer_output, weight, bias, eps=1e-5):
    return _norm(x + sublayer_output, weight, bias, eps, dim=min(2, x.dim() - 1))


# add_and_norm: weight and bias


@misconception(
    "add_and_norm",
    confuses="the initial norm (weight 1, bias 0) with the trained one: weight and bias are not "
    "used",
    hint="Double the weight. Does your result change?",
)
def weight_and_bias_not_used(x, sublayer_output, weight, bias, eps=1e-5):
    return _norm(x + sublayer_output, 1.0, 0.0, eps)


@misconception(
    "add_and_norm",
    confuses="this norm with one that has no bias: the bias is not used",
    hint="Where does your code use the bias?",
)
def bias_not_used(x, sublayer_output, weight, bias, eps=1e-5):
    return _norm(x + sublayer_output, weight, 0.0, eps)


@misconception(
    "add_and_norm",
    confuses="the order of scale and shift: the bias is scaled too",
    hint="What should the result be for a token that is 0 after normalizing?",
)
def bias_scaled_by_the_weight(x, sublayer_output, weight, bias, eps=1e-5):
    return weight * (_norm(x + sublayer_output, 1.0, 0.0, eps) + bias)


@misconception(
    "add_and_norm",
    confuses="scaling the input of the norm with scaling its result: the weight is applied before "
    "the norm",
    hint="The norm undoes a scale that is applied before it. When should the weight be applied?",
)
def weight_before_the_norm(x, sublayer_output, weight, bias, eps=1e-5):
    return _norm(weight * (x + sublayer_output), 1.0, bias, eps)


@misconception(
    "add_and_norm",
    confuses="a weight that starts at 1 with one that starts at 0: 1 is added to the weight",
    hint="What is your result if the weight is 0 everywhere?",
)
def one_added_to_the_weight(x, sublayer_output, weight, bias, eps=1e-5):
    return _norm(x + sublayer_output, 1.0 + weight, bias, eps)


@misconception(
    "add_and_norm",
    confuses="weight with bias: weight and bias are swapped",
    hint="Which of the two is the scale, and which is the shift? What does each do in your code?",
)
def weight_and_bias_swapped(x, sublayer_output, weight, bias, eps=1e-5):
    return _norm(x + sublayer_output, bias, weight, eps)


# add_and_norm: gradient and dtype


@misconception(
    "add_and_norm",
    confuses="mean and variance with constants: no gradient goes through mean and variance",
    hint="Mean and variance change with the input. Does your gradient take that into account?",
)
def mean_and_variance_detached(x, sublayer_output, weight, bias, eps=1e-5):
    total = x + sublayer_output
    with torch.no_grad():
        mean = total.mean(-1, keepdim=True)
        root = torch.sqrt(total.var(-1, keepdim=True, unbiased=False) + eps)
    return weight * (total - mean) / root + bias


@misconception(
    "add_and_norm",
    confuses="float32 with the dtype of the input: the result is always float32",
    hint="Pass float64 tensors. Which dtype does the result have?",
)
def float32_inside(x, sublayer_output, weight, bias, eps=1e-5):
    total = (x + sublayer_output).float()
    return _norm(total, weight.float(), bias.float(), eps)


# EncoderBlock


class _Attention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_model, d_model)
        self.W_key = nn.Linear(d_model, d_model)
        self.W_value = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x):
        q, k, v = (
            layer(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for layer in (self.W_query, self.W_key, self.W_value)
        )
        context = F.scaled_dot_product_attention(q, k, v)
        return self.out_proj(context.transpose(1, 2).flatten(-2))


class _FeedForward(nn.Module):
    def __init__(self, d_model, hidden_dim):
        super().__init__()
        self.linear1 = nn.Linear(d_model, hidden_dim)
        self.linear2 = nn.Linear(hidden_dim, d_model)

    def forward(self, x):
        return self.linear2(torch.relu(self.linear1(x)))


class _Parts(nn.Module):
    """The right block; each mistake below changes a submodule or the order of steps."""

    def __init__(self, d_model, num_heads, hidden_dim):
        super().__init__()
        self.attention = _Attention(d_model, num_heads)
        self.norm1 = nn.LayerNorm(d_model)
        self.feed_forward = _FeedForward(d_model, hidden_dim)
        self.norm2 = nn.LayerNorm(d_model)

    def forward(self, x):
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.feed_forward(x))


# EncoderBlock: order of steps


@misconception(
    "EncoderBlock",
    confuses="pre-norm with post-norm: each norm comes before a sublayer instead of after an "
    "addition",
    hint="Is a norm applied before a sublayer, or after the sublayer's output has been added?",
)
class pre_norm(_Parts):
    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.feed_forward(self.norm2(x))


@misconception(
    "EncoderBlock",
    confuses="the block's input with the second step's input: the second residual starts at the "
    "block's input",
    hint="What is the input of the feed-forward network? The network's output is added to that "
    "input.",
)
class second_residual_from_the_input(_Parts):
    def forward(self, x):
        return self.norm2(x + self.feed_forward(self.norm1(x + self.attention(x))))


@misconception(
    "EncoderBlock",
    confuses="the block's input with the result of the first step: the feed-forward network sees "
    "the block's input",
    hint="Which tensor should the feed-forward network see?",
)
class network_sees_the_input(_Parts):
    def forward(self, x):
        return self.norm2(self.norm1(x + self.attention(x)) + self.feed_forward(x))


@misconception(
    "EncoderBlock",
    confuses="two steps in a row with two steps side by side: attention and the feed-forward "
    "network work side by side",
    hint="Does the feed-forward network in your code see the result of attention?",
)
class sublayers_side_by_side(_Parts):
    def forward(self, x):
        return self.norm2(self.norm1(x + self.attention(x) + self.feed_forward(x)))


@misconception(
    "EncoderBlock",
    confuses="attention's output with add and norm: the first residual is missing",
    hint="What should be added before norm1?",
)
class no_first_residual(_Parts):
    def forward(self, x):
        x = self.norm1(self.attention(x))
        return self.norm2(x + self.feed_forward(x))


@misconception(
    "EncoderBlock",
    confuses="the network's output with add and norm: the second residual is missing",
    hint="What is added before norm2?",
)
class no_second_residual(_Parts):
    def forward(self, x):
        return self.norm2(self.feed_forward(self.norm1(x + self.attention(x))))


@misconception(
    "EncoderBlock",
    confuses="a plain chain of sublayers with a block: both residuals are missing",
    hint="The step is called `add_and_norm`. Where is the add?",
)
class no_residual_at_all(_Parts):
    def forward(self, x):
        return self.norm2(self.feed_forward(self.norm1(self.attention(x))))


@misconception(
    "EncoderBlock",
    confuses="the norm of a sum with the sum of a norm: the outputs of the sublayers are "
    "normalized, not the sums",
    hint="In add and norm, which comes first?",
)
class only_the_sublayers_are_normalised(_Parts):
    def forward(self, x):
        x = x + self.norm1(self.attention(x))
        return x + self.norm2(self.feed_forward(x))


@misconception(
    "EncoderBlock",
    confuses="one norm with two: the first step is not normalized",
    hint="How many norms are applied in one call of your block?",
)
class no_first_norm(_Parts):
    def forward(self, x):
        x = x + self.attention(x)
        return self.norm2(x + self.feed_forward(x))


@misconception(
    "EncoderBlock",
    confuses="one norm with two: the result is not normalized",
    hint="How many norms are applied in one call of your block?",
)
class no_second_norm(_Parts):
    def forward(self, x):
        x = self.norm1(x + self.attention(x))
        return x + self.feed_forward(x)


@misconception(
    "EncoderBlock",
    confuses="the first norm with the second: norm1 is used both times",
    hint="Change norm2.weight. Does your result change?",
)
class first_norm_used_twice(_Parts):
    def forward(self, x):
        x = self.norm1(x + self.attention(x))
        return self.norm1(x + self.feed_forward(x))


@misconception(
    "EncoderBlock",
    confuses="norm1 with norm2: norm1 and norm2 are swapped",
    hint="Which norm comes right after attention?",
)
class norms_swapped(_Parts):
    def forward(self, x):
        x = self.norm2(x + self.attention(x))
        return self.norm1(x + self.feed_forward(x))


@misconception(
    "EncoderBlock",
    confuses="the order of the sublayers: the network comes first",
    hint="Do the tokens look at each other before or after each is processed alone?",
)
class network_before_attention(_Parts):
    def forward(self, x):
        x = self.norm1(x + self.feed_forward(x))
        return self.norm2(x + self.attention(x))


@misconception(
    "EncoderBlock",
    confuses="the order of the steps: the network comes first, with norm2 after it",
    hint="Do the tokens look at each other before or after each is processed alone?",
)
class second_step_first(_Parts):
    def forward(self, x):
        x = self.norm2(x + self.feed_forward(x))
        return self.norm1(x + self.attention(x))


@misconception(
    "EncoderBlock",
    confuses="half a block with a block: the feed-forward network has no effect",
    hint="Change the weights of linear1. Does the result of your block change?",
)
class network_left_out(_Parts):
    def forward(self, x):
        return self.norm2(self.norm1(x + self.attention(x)))


@misconception(
    "EncoderBlock",
    confuses="half a block with a block: attention has no effect",
    hint="Change the last token. Does the result of the first token change? It should.",
)
class attention_left_out(_Parts):
    def forward(self, x):
        x = self.norm1(x)
        return self.norm2(x + self.feed_forward(x))


@misconception(
    "EncoderBlock",
    confuses="two residuals with three: the input is added again at the end",
    hint="What are the mean and variance of your result when the norms still have weight 1 and "
    "bias 0?",
)
class input_added_at_the_end(_Parts):
    def forward(self, x):
        return x + super().forward(x)


# EncoderBlock: submodules


@misconception(
    "EncoderBlock",
    confuses="one head with several: the number of heads has no effect",
    hint="How does your attention know how many heads there are?",
)
class always_one_head(_Parts):
    def __init__(self, d_model, num_heads, hidden_dim):
        super().__init__(d_model, 1, hidden_dim)


@misconception(
    "EncoderBlock",
    confuses="the usual size of the hidden layer with the given one: the hidden layer is always "
    "four times the model size",
    hint="Where do you use the third argument?",
)
class always_four_times_as_wide(_Parts):
    def __init__(self, d_model, num_heads, hidden_dim):
        super().__init__(d_model, num_heads, 4 * d_model)


@misconception(
    "EncoderBlock",
    confuses="one norm under two names with two norms: norm1 and norm2 are the same norm",
    hint="Change a weight of norm1. Does norm2 change too?",
)
class one_norm_with_two_names(_Parts):
    def __init__(self, d_model, num_heads, hidden_dim):
        super().__init__(d_model, num_heads, hidden_dim)
        self.norm2 = self.norm1


@misconception(
    "EncoderBlock",
    confuses="norms that learn with norms that do not: torch finds no weight and no bias of the "
    "norms",
    hint="Which weights do the norms have? Look at named_parameters().",
)
class norms_without_weights(_Parts):
    def __init__(self, d_model, num_heads, hidden_dim):
        super().__init__(d_model, num_heads, hidden_dim)
        self.norm1 = nn.LayerNorm(d_model, elementwise_affine=False)
        self.norm2 = nn.LayerNorm(d_model, elementwise_affine=False)


@misconception(
    "EncoderBlock",
    confuses="batch norm with layer norm: the norms are batch norms instead of layer norms",
    hint="Should the result of one sentence depend on the others in the batch?",
)
class batch_norm(_Parts):
    def __init__(self, d_model, num_heads, hidden_dim):
        super().__init__(d_model, num_heads, hidden_dim)
        self.norm1 = nn.BatchNorm1d(d_model)
        self.norm2 = nn.BatchNorm1d(d_model)

    def forward(self, x):
        x = self.norm1((x + self.attention(x)).transpose(1, 2)).transpose(1, 2)
        return self.norm2((x + self.feed_forward(x)).transpose(1, 2)).transpose(1, 2)


@misconception(
    "EncoderBlock",
    confuses="the eps of other libraries with the one in the question: the norms have a different "
    "eps than the question asks for",
    hint="Which eps do your norms have? Try tokens whose entries hardly differ.",
)
class smaller_eps(_Parts):
    def __init__(self, d_model, num_heads, hidden_dim):
        super().__init__(d_model, num_heads, hidden_dim)
        self.norm1 = nn.LayerNorm(d_model, eps=1e-6)
        self.norm2 = nn.LayerNorm(d_model, eps=1e-6)


@misconception(
    "EncoderBlock",
    confuses="eps of the first norm with eps of both: only the first norm gets the eps",
    hint="Compare the two norms argument by argument.",
)
class no_eps_in_the_second_norm(_Parts):
    def __init__(self, d_model, num_heads, hidden_dim):
        super().__init__(d_model, num_heads, hidden_dim)
        self.norm2 = nn.LayerNorm(d_model, eps=0.0)


class _UnbiasedNorm(nn.LayerNorm):
    def forward(self, x):
        mean, variance = x.mean(-1, keepdim=True), x.var(-1, keepdim=True)
        return self.weight * (x - mean) / torch.sqrt(variance + self.eps) + self.bias


@misconception(
    "EncoderBlock",
    confuses="the unbiased variance (divided by D - 1) with the biased one: the variance is "
    "divided by D - 1 instead of D",
    hint="Do you divide by D or by D - 1? By default, torch's var divides by D - 1.",
)
class own_norms_with_unbiased_variance(_Parts):
    def __init__(self, d_model, num_heads, hidden_dim):
        super().__init__(d_model, num_heads, hidden_dim)
        self.norm1, self.norm2 = _UnbiasedNorm(d_model), _UnbiasedNorm(d_model)


class _SequenceNorm(nn.LayerNorm):
    def forward(self, x):
        return _norm(x, self.weight, self.bias, self.eps, dim=(-2, -1))


@misconception(
    "EncoderBlock",
    confuses="a token with its sequence: tokens of a sequence share mean and variance",
    hint="How many means are there for 5 tokens of one sequence?",
)
class own_norms_over_the_sequence(_Parts):
    def __init__(self, d_model, num_heads, hidden_dim):
        super().__init__(d_model, num_heads, hidden_dim)
        self.norm1, self.norm2 = _SequenceNorm(d_model), _SequenceNorm(d_model)


@misconception(
    "EncoderBlock",
    confuses="this block with one that has dropout: the block applies dropout in train mode",
    hint="Call the block twice in train mode with the same input. Should the results differ?",
)
class dropout_on_the_sublayers(_Parts):
    def forward(self, x):
        x = self.norm1(x + F.dropout(self.attention(x), 0.1, self.training))
        return self.norm2(x + F.dropout(self.feed_forward(x), 0.1, self.training))


@misconception(
    "EncoderBlock",
    confuses="registered layers with layers that the module does not find: the module does not "
    "find its layers",
    hint="Look at named_parameters(). What are your weights called there?",
)
class submodules_in_a_list(nn.Module):
    def __init__(self, d_model, num_heads, hidden_dim):
        super().__init__()
        self.layers = [
            _Attention(d_model, num_heads),
            nn.LayerNorm(d_model),
            _FeedForward(d_model, hidden_dim),
            nn.LayerNorm(d_model),
        ]

    def forward(self, x):
        x = self.layers[1](x + self.layers[0](x))
        return self.layers[3](x + self.layers[2](x))


@misconception(
    "EncoderBlock",
    confuses="two norms with three: a third norm is built and never used",
    hint="Count the trainable parameters. Which of them belong to none of the four submodules?",
)
class a_norm_too_many(_Parts):
    def __init__(self, d_model, num_heads, hidden_dim):
        super().__init__(d_model, num_heads, hidden_dim)
        self.norm3 = nn.LayerNorm(d_model)


# EncoderBlock: calls


@misconception(
    "EncoderBlock",
    confuses="a new tensor with the caller's: the sum is written into the input",
    hint="Look at the input before and after the call.",
)
class sum_written_into_the_input(_Parts):
    def forward(self, x):
        x.data += self.attention(x)
        x = self.norm1(x)
        return self.norm2(x + self.feed_forward(x))


@misconception(
    "EncoderBlock",
    confuses="an untrained part with a trained part of the block: no gradient flows through "
    "attention",
    hint="Does attention learn? Look at the gradients of its weights after a backward pass.",
)
class attention_without_gradient(_Parts):
    def forward(self, x):
        with torch.no_grad():
            seen = self.attention(x)
        x = self.norm1(x + seen)
        return self.norm2(x + self.feed_forward(x))


@misconception(
    "EncoderBlock",
    confuses="a residual with a copy: no gradient flows along a residual connection",
    hint="The residual is a path for gradients past the sublayer. Is it open in your code?",
)
class residual_detached(_Parts):
    def forward(self, x):
        x = self.norm1(x.detach() + self.attention(x))
        return self.norm2(x.detach() + self.feed_forward(x))


@misconception(
    "EncoderBlock",
    confuses="float32 with the dtype of the input: the result is always float32",
    hint="Call a float64 block with a float64 input. Which dtype does the result have?",
)
class float32_result(_Parts):
    def forward(self, x):
        return super().forward(x).float()


@misconception(
    "EncoderBlock",
    confuses="a batch of one with a dimension that can be dropped: a batch of one loses its "
    "dimension",
    hint="Call the block with a batch of one sequence, and look at the shape.",
)
class squeezed_result(_Parts):
    def forward(self, x):
        return super().forward(x).squeeze(0)


@misconception(
    "add_and_norm",
    confuses="the biased variance with a converted unbiased one: the unbiased variance is "
    "converted to the biased one, but a token with a single entry has no unbiased variance",
    hint="Give it tokens with a single entry each. What is `x.var(-1)` of a single number?",
)
def variance_corrected_back(x, sublayer_output, weight, bias, eps=1e-5):
    total = x + sublayer_output
    size = total.shape[-1]
    variance = total.var(-1, keepdim=True) * (size - 1) / size
    return weight * (total - total.mean(-1, keepdim=True)) / torch.sqrt(variance + eps) + bias


@misconception(
    "add_and_norm",
    confuses="the given eps with one that is never small: an eps below 1e-6 has no effect",
    hint="Pass eps=1e-12 and tokens whose entries differ by a millionth. Which eps does your "
    "formula add?",
)
def eps_never_below_a_millionth(x, sublayer_output, weight, bias, eps=1e-5):
    return _norm(x + sublayer_output, weight, bias, max(eps, 1e-6))


@misconception(
    "EncoderBlock",
    confuses="attention's output with the first step's result: the network sees the output of "
    "attention before it is added and normalized",
    hint="Which tensor should the feed-forward network see?",
)
class network_sees_the_attention(_Parts):
    def forward(self, x):
        attended = self.attention(x)
        return self.norm2(self.norm1(x + attended) + self.feed_forward(attended))


@misconception(
    "EncoderBlock",
    confuses="post-norm with post-norm and pre-norm together: norm1 normalizes the input before "
    "it is added, and then the sum as well",
    hint="How many times is norm1 used in the docstring? What is added to the output of attention?",
)
class input_normalised_before_it_is_added(_Parts):
    def forward(self, x):
        x = self.norm1(self.norm1(x) + self.attention(x))
        return self.norm2(x + self.feed_forward(x))


@misconception(
    "EncoderBlock",
    confuses="post-norm with post-norm and pre-norm together: the network sees the result of "
    "norm2, and norm2 is used again after it",
    hint="Where is norm2: before the network, or after the sum?",
)
class second_norm_before_the_network_as_well(_Parts):
    def forward(self, x):
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.feed_forward(self.norm2(x)))


@misconception(
    "EncoderBlock",
    confuses="post-norm with post-norm and pre-norm together: attention sees the result of norm1, "
    "and norm1 is used again after it",
    hint="Where is norm1: before attention, or after the sum?",
)
class first_norm_before_attention_as_well(_Parts):
    def forward(self, x):
        x = self.norm1(x + self.attention(self.norm1(x)))
        return self.norm2(x + self.feed_forward(x))


@misconception(
    "add_and_norm",
    confuses="the variance with the mean of the squares: the divisor is the square root of the "
    "mean square, although the mean is subtracted in the numerator",
    hint="Take a token whose entries are all near 100. What is the variance of your result?",
)
def variance_around_zero(x, sublayer_output, weight, bias, eps=1e-5):
    total = x + sublayer_output
    mean_square = total.square().mean(-1, keepdim=True)
    return weight * (total - total.mean(-1, keepdim=True)) / torch.sqrt(mean_square + eps) + bias


@misconception(
    "add_and_norm",
    confuses="an addition with a lower limit: eps is a lower limit for the variance and is not "
    "added to it",
    hint="Pass a large eps such as 1. Does it change the result of a token with variance 2?",
)
def eps_as_the_smallest_variance(x, sublayer_output, weight, bias, eps=1e-5):
    total = x + sublayer_output
    variance = total.var(-1, keepdim=True, unbiased=False).clamp(min=eps)
    return weight * (total - total.mean(-1, keepdim=True)) / torch.sqrt(variance) + bias


@misconception(
    "add_and_norm",
    confuses="eps with its square: the square of eps is added to the variance",
    hint="Pass eps=0.1 and a token whose entries hardly differ. What is added to the variance?",
)
def eps_squared(x, sublayer_output, weight, bias, eps=1e-5):
    return _norm(x + sublayer_output, weight, bias, eps**2)


@misconception(
    "add_and_norm",
    confuses="mean and variance with smallest and largest entry: every token is rescaled to the "
    "range from 0 to 1",
    hint="With weight 1 and bias 0, what is the mean of a token of your result?",
)
def scaled_to_a_range(x, sublayer_output, weight, bias, eps=1e-5):
    total = x + sublayer_output
    low, high = total.amin(-1, keepdim=True), total.amax(-1, keepdim=True)
    return weight * (total - low) / (high - low + eps) + bias


@misconception(
    "EncoderBlock",
    confuses="the attention's output with the result of the first step: the second residual starts "
    "at the attention's output",
    hint="What is the input of the feed-forward network? The network's output is added to that "
    "input.",
)
class second_residual_from_the_attention(_Parts):
    def forward(self, x):
        attended = self.attention(x)
        return self.norm2(attended + self.feed_forward(self.norm1(x + attended)))


@misconception(
    "EncoderBlock",
    confuses="a sum with the same sum after a norm: the second residual starts at the first sum, "
    "before norm1",
    hint="What is the input of the feed-forward network? The network's output is added to that "
    "input.",
)
class second_residual_from_the_first_sum(_Parts):
    def forward(self, x):
        total = x + self.attention(x)
        return self.norm2(total + self.feed_forward(self.norm1(total)))


@misconception(
    "EncoderBlock",
    confuses="the second residual with a third one from the beginning: the block's input is added "
    "to the second sum as well",
    hint="How many terms does the sum before norm2 have in the question, and in your code?",
)
class input_in_the_second_sum_as_well(_Parts):
    def forward(self, x):
        h = self.norm1(x + self.attention(x))
        return self.norm2(x + h + self.feed_forward(h))


@misconception(
    "EncoderBlock",
    confuses="post-norm with pre-norm in the first half: norm1 comes before the attention instead "
    "of after the addition",
    hint="Is norm1 applied to the input of the attention, or to the sum?",
)
class norm_before_the_attention(_Parts):
    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return self.norm2(x + self.feed_forward(x))


@misconception(
    "EncoderBlock",
    confuses="post-norm with pre-norm in the second half: norm2 comes before the feed-forward "
    "network instead of after the addition",
    hint="Is norm2 applied to the input of the feed-forward network, or to the sum?",
)
class norm_before_the_network(_Parts):
    def forward(self, x):
        x = self.norm1(x + self.attention(x))
        return x + self.feed_forward(self.norm2(x))
