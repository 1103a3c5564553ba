"""Add and norm with two known mistakes at once, which neither name alone describes."""

# ruff: noqa: F821 - each answer is inserted into a module that defines the sublayers

import torch
from torch import nn

from autograder.suite import combination, intended


@combination("add_and_norm", "unbiased_variance", "eps_beside_the_root")
def standard_deviation_and_eps_outside(x, sublayer_output, weight, bias, eps=1e-5):
    total = x + sublayer_output
    centred = total - total.mean(-1, keepdim=True)
    return centred / (total.std(-1, keepdim=True) + eps) * weight + bias


@combination("add_and_norm", "normalised_over_everything", "bias_not_used")
def one_mean_and_no_bias(x, sublayer_output, weight, bias, eps=1e-5):
    total = x + sublayer_output
    return (total - total.mean()) / (total.var(correction=0) + eps).sqrt() * weight


def _normed(total, weight, bias, eps):
    mean, variance = total.mean(-1, keepdim=True), total.var(-1, keepdim=True, unbiased=False)
    return weight * (total - mean) / torch.sqrt(variance + eps) + bias


@intended("add_and_norm", "the unbiased variance", "unbiased_variance")
def unbiased(x, sublayer_output, weight, bias, eps=1e-5):
    total = x + sublayer_output
    root = torch.sqrt(total.var(-1, keepdim=True) + eps)
    return weight * (total - total.mean(-1, keepdim=True)) / root + bias


@intended("add_and_norm", "eps outside the root", "eps_beside_the_root")
def eps_outside(x, sublayer_output, weight, bias, eps=1e-5):
    total = x + sublayer_output
    root = total.std(-1, keepdim=True, unbiased=False) + eps
    return weight * (total - total.mean(-1, keepdim=True)) / root + bias


@intended("add_and_norm", "no residual", "no_residual")
def no_residual(x, sublayer_output, weight, bias, eps=1e-5):
    return _normed(sublayer_output, weight, bias, eps)


@intended("add_and_norm", "norm first, then added", "norm_before_add")
def normed_then_added(x, sublayer_output, weight, bias, eps=1e-5):
    return x + _normed(sublayer_output, weight, bias, eps)


@intended("add_and_norm", "no weight and no bias", "weight_and_bias_not_used")
def not_affine(x, sublayer_output, weight, bias, eps=1e-5):
    return _normed(x + sublayer_output, 1.0, 0.0, eps)


@intended("add_and_norm", "bias before weight", "bias_scaled_by_the_weight")
def bias_before_weight(x, sublayer_output, weight, bias, eps=1e-5):
    return weight * (_normed(x + sublayer_output, 1.0, 0.0, eps) + bias)


@intended("add_and_norm", "eps is 1e-5 whatever is asked for", "eps_always_the_same")
def eps_built_in(x, sublayer_output, weight, bias, eps=1e-5):
    return _normed(x + sublayer_output, weight, bias, 1e-5)


@intended("add_and_norm", "divided by the variance", "divided_by_the_variance")
def divided_by_variance(x, sublayer_output, weight, bias, eps=1e-5):
    total = x + sublayer_output
    variance = total.var(-1, keepdim=True, unbiased=False) + eps
    return weight * (total - total.mean(-1, keepdim=True)) / variance + bias


@intended("add_and_norm", "the mean is not taken away", "one_step_is_left_out")
def mean_kept(x, sublayer_output, weight, bias, eps=1e-5):
    total = x + sublayer_output
    return weight * total / torch.sqrt(total.var(-1, keepdim=True, unbiased=False) + eps) + bias


class _Block(nn.Module):
    def __init__(self, d_model, num_heads, hidden_dim):
        super().__init__()
        self.attention = MultiHeadSelfAttention(d_model, num_heads)
        self.norm1 = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, hidden_dim)
        self.norm2 = nn.LayerNorm(d_model)


@intended("EncoderBlock", "norm before each sublayer", "pre_norm")
class norm_before(_Block):
    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.feed_forward(self.norm2(x))


@intended(
    "EncoderBlock",
    "one norm twice",
    "first_norm_used_twice",
    "one_thing_takes_the_place_of_another",
)
class one_norm_twice(_Block):
    def forward(self, x):
        x = self.norm1(x + self.attention(x))
        return self.norm1(x + self.feed_forward(x))


@intended("EncoderBlock", "no residuals", "no_residual_at_all")
class no_residuals(_Block):
    def forward(self, x):
        x = self.norm1(self.attention(x))
        return self.norm2(self.feed_forward(x))


@intended("EncoderBlock", "the second residual is the input", "second_residual_from_the_input")
class second_residual_from_input(_Block):
    def forward(self, x):
        y = self.norm1(x + self.attention(x))
        return self.norm2(x + self.feed_forward(y))


@intended("EncoderBlock", "the norms change places", "norms_swapped")
class norms_swapped(_Block):
    def forward(self, x):
        x = self.norm2(x + self.attention(x))
        return self.norm1(x + self.feed_forward(x))


@intended(
    "EncoderBlock", "feed forward first", "network_before_attention", "two_layers_change_places"
)
class feed_forward_first(_Block):
    def forward(self, x):
        x = self.norm1(x + self.feed_forward(x))
        return self.norm2(x + self.attention(x))


@intended("EncoderBlock", "no norm at the end", "no_second_norm", "one_step_is_left_out")
class no_last_norm(_Block):
    def forward(self, x):
        x = self.norm1(x + self.attention(x))
        return x + self.feed_forward(x)


@intended("EncoderBlock", "eps of 1e-3", "the_norm_has_another_eps_than_the_one_asked_for")
class another_eps(_Block):
    def __init__(self, d_model, num_heads, hidden_dim):
        super().__init__(d_model, num_heads, hidden_dim)
        self.norm1 = nn.LayerNorm(d_model, eps=1e-3)
        self.norm2 = nn.LayerNorm(d_model, eps=1e-3)

    def forward(self, x):
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.feed_forward(x))
