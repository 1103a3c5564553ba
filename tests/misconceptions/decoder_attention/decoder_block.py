"""Known mistakes in the decoder block."""

import torch
import torch.nn.functional as F
from torch import nn

from autograder.parts import CachedAttention, FeedForward
from autograder.suite import misconception


class _Block(nn.Module):
    """The right submodules and steps; each mistake below changes one of them."""

    def __init__(self, d_model, num_heads, hidden_dim):
        super().__init__()
        self.norm1 = self.norm(d_model)
        self.attention = CachedAttention(d_model, num_heads)
        self.norm2 = self.norm(d_model)
        self.feed_forward = FeedForward(d_model, hidden_dim)

    def norm(self, size):
        return nn.LayerNorm(size)

    def forward(self, x, past=None):
        attended, present = self.attention(self.norm1(x), past)
        h = x + attended
        return h + self.feed_forward(self.norm2(h)), present


# places of the norms


@misconception(
    "DecoderBlock",
    confuses="pre-norm with post-norm, as in the encoder block: each norm comes after an addition "
    "instead of before a sublayer",
    hint="Does each norm come before a sublayer or after an addition?",
)
class post_norm(_Block):
    def forward(self, x, past=None):
        attended, present = self.attention(x, past)
        h = self.norm1(x + attended)
        return self.norm2(h + self.feed_forward(h)), present


@misconception(
    "DecoderBlock",
    confuses="two norms with one: norm1 is used before both sublayers",
    hint="Change the weight of norm2. Does the result change?",
)
class norm1_used_twice(_Block):
    def forward(self, x, past=None):
        attended, present = self.attention(self.norm1(x), past)
        h = x + attended
        return h + self.feed_forward(self.norm1(h)), present


@misconception(
    "DecoderBlock",
    confuses="the first norm with the second: norm1 and norm2 are swapped",
    hint="Which norm comes before the attention?",
)
class norms_swapped(_Block):
    def forward(self, x, past=None):
        attended, present = self.attention(self.norm2(x), past)
        h = x + attended
        return h + self.feed_forward(self.norm1(h)), present


@misconception(
    "DecoderBlock",
    confuses="the block's input with the normalized input: attention receives x itself",
    hint="What is the input of the attention: x or norm1(x)?",
)
class attention_without_norm(_Block):
    def forward(self, x, past=None):
        attended, present = self.attention(x, past)
        h = x + attended
        return h + self.feed_forward(self.norm2(h)), present


@misconception(
    "DecoderBlock",
    confuses="h with the normalized h: the feed-forward network receives h itself",
    hint="What is the input of the feed-forward network: h or norm2(h)?",
)
class feed_forward_without_norm(_Block):
    def forward(self, x, past=None):
        attended, present = self.attention(self.norm1(x), past)
        h = x + attended
        return h + self.feed_forward(h), present


@misconception(
    "DecoderBlock",
    confuses="the input with the normalized input: the normalized input, not the input itself, is "
    "added to the attention's output",
    hint="Is the residual path around the attention free, or is there a norm on it?",
)
class normalised_input_added(_Block):
    def forward(self, x, past=None):
        x = self.norm1(x)
        attended, present = self.attention(x, past)
        h = x + attended
        return h + self.feed_forward(self.norm2(h)), present


@misconception(
    "DecoderBlock",
    confuses="the inputs of sublayers with the normalized inputs: the normalized tokens are added "
    "in both sums",
    hint="Is the residual path around each sublayer free, or is there a norm on it?",
)
class normalised_on_both_roads(_Block):
    def forward(self, x, past=None):
        x = self.norm1(x)
        attended, present = self.attention(x, past)
        h = self.norm2(x + attended)
        return h + self.feed_forward(h), present


@misconception(
    "DecoderBlock",
    confuses="h with the normalized h: the normalized h, not h itself, is added to the network's "
    "output",
    hint="Is the residual path around the feed-forward network free, or is there a norm on it?",
)
class normalised_h_added(_Block):
    def forward(self, x, past=None):
        attended, present = self.attention(self.norm1(x), past)
        h = self.norm2(x + attended)
        return h + self.feed_forward(h), present


@misconception(
    "DecoderBlock",
    confuses="a norm before each sublayer with one after it: the outputs of the sublayers are "
    "normalized and then added",
    hint="What is normalized by norm1: the input of the attention or its output?",
)
class outputs_normalised(_Block):
    def forward(self, x, past=None):
        attended, present = self.attention(x, past)
        h = x + self.norm1(attended)
        return h + self.norm2(self.feed_forward(h)), present


# the residual paths


@misconception(
    "DecoderBlock",
    confuses="the sum with the network's output: h is not added to the output of the network",
    hint="How many additions should the block have?",
)
class no_residual_around_the_network(_Block):
    def forward(self, x, past=None):
        attended, present = self.attention(self.norm1(x), past)
        return self.feed_forward(self.norm2(x + attended)), present


@misconception(
    "DecoderBlock",
    confuses="the sum with the attention's output: x is not added to the output of the attention",
    hint="How many additions should the block have?",
)
class no_residual_around_the_attention(_Block):
    def forward(self, x, past=None):
        h, present = self.attention(self.norm1(x), past)
        return h + self.feed_forward(self.norm2(h)), present


@misconception(
    "DecoderBlock",
    confuses="sequential sublayers with parallel ones, as in GPT-J and PaLM: the feed-forward "
    "network does not receive the result of the attention",
    hint="Does the feed-forward network receive the normalized x, or the normalized sum of x and "
    "the attention's output?",
)
class side_by_side(_Block):
    def forward(self, x, past=None):
        attended, present = self.attention(self.norm1(x), past)
        return x + attended + self.feed_forward(self.norm2(x)), present


@misconception(
    "DecoderBlock",
    confuses="h with the block's input: the second residual path starts at x",
    hint="Where does the second residual path start? Is the attention's output part of the last "
    "sum?",
)
class second_road_from_x(_Block):
    def forward(self, x, past=None):
        attended, present = self.attention(self.norm1(x), past)
        return x + self.feed_forward(self.norm2(x + attended)), present


@misconception(
    "DecoderBlock",
    confuses="two additions with three: x is added again at the end",
    hint="Does h already contain x?",
)
class input_added_twice(_Block):
    def forward(self, x, past=None):
        out, present = super().forward(x, past)
        return x + out, present


@misconception(
    "DecoderBlock",
    confuses="the first sublayer with the second: the feed-forward network comes before the "
    "attention",
    hint="Which of the two sublayers comes after norm1?",
)
class network_first(_Block):
    def forward(self, x, past=None):
        h = x + self.feed_forward(self.norm2(x))
        attended, present = self.attention(self.norm1(h), past)
        return h + attended, present


# past and present


@misconception(
    "DecoderBlock",
    confuses="accepting an argument with using it: past has no effect",
    hint="Call the block with a past. How many positions does the returned present have?",
)
class past_not_handed_on(_Block):
    def forward(self, x, past=None):
        return super().forward(x)


@misconception(
    "DecoderBlock",
    confuses="the present with the past: the old past is returned",
    hint="How many positions does the returned pair have: P or P + T?",
)
class old_past_returned(_Block):
    def forward(self, x, past=None):
        out, present = super().forward(x, past)
        return out, past if past is not None else present


@misconception(
    "DecoderBlock",
    confuses="a block for decoding with a plain layer: only the tokens are returned",
    hint="Which result of this call does the next call need?",
)
class present_not_returned(_Block):
    def forward(self, x, past=None):
        return super().forward(x, past)[0]


@misconception(
    "DecoderBlock",
    confuses="the first result with the second: the present comes first",
    hint="Which of the two comes first in `(out, present)`?",
)
class present_first(_Block):
    def forward(self, x, past=None):
        out, present = super().forward(x, past)
        return present, out


@misconception(
    "DecoderBlock",
    confuses="a present that needs a gradient with a constant: the present is detached",
    hint="Do the tensors of the present require gradients when the block is trained?",
)
class present_detached(_Block):
    def forward(self, x, past=None):
        out, present = super().forward(x, past)
        return out, tuple(part.detach() for part in present)


@misconception(
    "DecoderBlock",
    confuses="one call to the attention with two: the attention is called once for its output and "
    "once for its present",
    hint="How many new positions does one call to your block add to the past?",
)
class attention_called_twice(_Block):
    def forward(self, x, past=None):
        attended, present = self.attention(self.norm1(x), past)
        _, present = self.attention(self.norm1(x), present)
        h = x + attended
        return h + self.feed_forward(self.norm2(h)), present


@misconception(
    "DecoderBlock",
    confuses="the past in the argument with a past in the module: the module keeps the past "
    "instead of using the argument",
    hint="Generate two texts alternately. Does the second one see words of the first?",
)
class past_kept_in_the_module(_Block):
    kept = None

    def forward(self, x, past=None):
        if past is None:
            self.kept = None
        out, self.kept = super().forward(x, self.kept)
        return out, self.kept


@misconception(
    "DecoderBlock",
    confuses="all tokens with the last one: only the result for the last token is returned",
    hint="How many tokens go in, and how many come out?",
)
class last_token_only(_Block):
    def forward(self, x, past=None):
        out, present = super().forward(x, past)
        return out[:, -1:], present


# the submodules


class _OwnNorm(nn.Module):
    """A layer norm with arguments for the details that a student may get wrong."""

    def __init__(self, size, eps=1e-5, correction=0, outside=False):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(size)), nn.Parameter(torch.zeros(size))
        self.eps, self.correction, self.outside = eps, correction, outside

    def forward(self, x):
        variance = x.var(-1, keepdim=True, correction=self.correction)
        spread = variance.sqrt() + self.eps if self.outside else (variance + self.eps).sqrt()
        return self.weight * (x - x.mean(-1, keepdim=True)) / spread + self.bias


@misconception(
    "DecoderBlock",
    confuses="trainable norms with fixed ones: the weights and biases of the norms are not among "
    "the parameters of the module",
    hint="Which parameters should norm1 have? Look at named_parameters().",
)
class norms_without_weights(_Block):
    def norm(self, size):
        return nn.LayerNorm(size, elementwise_affine=False)


@misconception(
    "DecoderBlock",
    confuses="layer norm with RMS norm, as in Llama: the norms have a weight but no bias, as RMS "
    "norms have",
    hint="Which parameters should norm1 have? Does it subtract a mean?",
)
class rms_norms(_Block):
    def norm(self, size):
        return nn.RMSNorm(size, eps=1e-5)


@misconception(
    "DecoderBlock",
    confuses="the question's eps with that of another library: the norms do not add the eps of the "
    "question",
    hint="Try tokens that hardly vary. What does your norm add to the variance?",
)
class smaller_eps(_Block):
    def norm(self, size):
        return nn.LayerNorm(size, eps=1e-12)


@misconception(
    "DecoderBlock",
    confuses="the biased variance (divided by D) with the unbiased one (divided by D - 1): the "
    "variance is divided by D - 1 instead of D",
    hint="Do you divide by D or by D - 1? By default, torch.var divides by D - 1.",
)
class unbiased_variance(_Block):
    def norm(self, size):
        return _OwnNorm(size, correction=1)


@misconception(
    "DecoderBlock",
    confuses="eps inside the square root with eps outside it: eps is added to the square root, not "
    "inside it",
    hint="Try tokens whose entries hardly vary. Where do you add eps?",
)
class eps_beside_the_root(_Block):
    def norm(self, size):
        return _OwnNorm(size, outside=True)


@misconception(
    "DecoderBlock",
    confuses="two norms with three: there is a third norm at the end, as after the last block of a "
    "model",
    hint="Count the trainable parameters. Which of them belong to none of the four submodules?",
)
class a_norm_at_the_end(_Block):
    def __init__(self, d_model, num_heads, hidden_dim):
        super().__init__(d_model, num_heads, hidden_dim)
        self.norm3 = nn.LayerNorm(d_model)

    def forward(self, x, past=None):
        out, present = super().forward(x, past)
        return self.norm3(out), present


@misconception(
    "DecoderBlock",
    confuses="two norms with one under two names: norm1 and norm2 share the same weights",
    hint="Change the weight of norm1. Does the weight of norm2 change, too?",
)
class one_norm_under_two_names(_Block):
    def __init__(self, d_model, num_heads, hidden_dim):
        super().__init__(d_model, num_heads, hidden_dim)
        self.norm2 = self.norm1


@misconception(
    "DecoderBlock",
    confuses="accepting an argument with using it: the attention always has one head",
    hint="Look at the shape of the present. How many heads does it have?",
)
class a_single_head(_Block):
    def __init__(self, d_model, num_heads, hidden_dim):
        super().__init__(d_model, 1, hidden_dim)


@misconception(
    "DecoderBlock",
    confuses="hidden_dim with four times d_model: the size of the hidden layer is always four "
    "times d_model",
    hint="Build it with a hidden_dim of 11. What is the shape of linear1's weight?",
)
class hidden_layer_of_four_times(_Block):
    def __init__(self, d_model, num_heads, hidden_dim):
        super().__init__(d_model, num_heads, 4 * d_model)


@misconception(
    "DecoderBlock",
    confuses="registered layers with unregistered ones: the module does not know its layers",
    hint="Look at named_parameters(). What are your weights called there?",
)
class submodules_in_a_list(nn.Module):
    def __init__(self, d_model, num_heads, hidden_dim):
        super().__init__()
        self.layers = [
            nn.LayerNorm(d_model),
            CachedAttention(d_model, num_heads),
            nn.LayerNorm(d_model),
            FeedForward(d_model, hidden_dim),
        ]

    def forward(self, x, past=None):
        attended, present = self.layers[1](self.layers[0](x), past)
        h = x + attended
        return h + self.layers[3](self.layers[2](h)), present


@misconception(
    "DecoderBlock",
    confuses="a block without dropout with one that has it: the block applies dropout in train "
    "mode",
    hint="Call the block twice in train mode with the same input. Should the results differ?",
)
class dropout_on_the_sublayers(_Block):
    def forward(self, x, past=None):
        attended, present = self.attention(self.norm1(x), past)
        h = x + F.dropout(attended, 0.2, self.training)
        return h + F.dropout(self.feed_forward(self.norm2(h)), 0.2, self.training), present


# calls


@misconception(
    "DecoderBlock",
    confuses="a new tensor with the caller's: the sum is written into the input",
    hint="Look at x before and after the call.",
)
class sum_written_into_the_input(_Block):
    def forward(self, x, past=None):
        attended, present = self.attention(self.norm1(x), past)
        x.data += attended
        return x + self.feed_forward(self.norm2(x)), present


@misconception(
    "DecoderBlock",
    confuses="a residual with a detached copy: no gradient flows along a residual connection",
    hint="The residual connection lets gradients flow around the sublayer. Do they in your code?",
)
class residual_detached(_Block):
    def forward(self, x, past=None):
        attended, present = self.attention(self.norm1(x), past)
        h = x.detach() + attended
        return h + self.feed_forward(self.norm2(h)), present


@misconception(
    "DecoderBlock",
    confuses="the dtype of the input with float32: the result is always float32",
    hint="Call a float64 block with a float64 input. What is the dtype of the result?",
)
class float32_result(_Block):
    def forward(self, x, past=None):
        out, present = super().forward(x, past)
        return out.float(), present


@misconception(
    "DecoderBlock",
    confuses="a batch of one with a dimension that can be dropped: a batch of one loses its "
    "dimension",
    hint="Call the block with a batch of one, and look at the shape of the result.",
)
class batch_of_one_dropped(_Block):
    def forward(self, x, past=None):
        out, present = super().forward(x, past)
        return out.squeeze(0), present


@misconception(
    "DecoderBlock",
    confuses="pre-norm with pre-norm plus post-norm: the result is normalized by norm2 again",
    hint="How many times is norm2 used in the docstring? What is the mean of a token in your "
    "result?",
)
class result_normalised(_Block):
    def forward(self, x, past=None):
        output, present = super().forward(x, past)
        return self.norm2(output), present


@misconception(
    "DecoderBlock",
    confuses="pre-norm with pre-norm plus post-norm: the sum of x and the attention is normalized "
    "by norm1 again",
    hint="How many times is norm1 used in the docstring? What is added to what?",
)
class first_sum_normalised(_Block):
    def forward(self, x, past=None):
        attended, present = self.attention(self.norm1(x), past)
        h = self.norm1(x + attended)
        return h + self.feed_forward(self.norm2(h)), present


@misconception(
    "DecoderBlock",
    confuses="pre-norm with pre-norm plus post-norm: both sums are normalized as well",
    hint="How many times is each norm used in the docstring? What is added to what?",
)
class both_sums_normalised(_Block):
    def forward(self, x, past=None):
        attended, present = self.attention(self.norm1(x), past)
        h = self.norm1(x + attended)
        return self.norm2(h + self.feed_forward(self.norm2(h))), present


@misconception(
    "DecoderBlock",
    confuses="keys with values: the values come before the keys in the present",
    hint="A past is the pair (keys, values). Which of the two comes first in your present?",
)
class values_before_keys(_Block):
    def forward(self, x, past=None):
        out, (keys, values) = super().forward(x, past)
        return out, (values, keys)


@misconception(
    "DecoderBlock",
    confuses="a pair of tensors with one tensor: the present is one stacked tensor",
    hint="Print the type of the present. Is it a pair?",
)
class present_stacked(_Block):
    def forward(self, x, past=None):
        out, present = super().forward(x, past)
        return out, torch.stack(present)


@misconception(
    "DecoderBlock",
    confuses="two results with three: out, keys and values are returned as three separate results",
    hint="How many results does your block return, and how many does the docstring name?",
)
class three_results(_Block):
    def forward(self, x, past=None):
        out, present = super().forward(x, past)
        return out, *present


@misconception(
    "DecoderBlock",
    confuses="all positions with the new ones: the present contains only the new positions",
    hint="After three positions and two more, how many positions does the present contain?",
)
class present_of_the_new_positions(_Block):
    def forward(self, x, past=None):
        out, present = super().forward(x, past)
        return out, tuple(part[:, :, -x.shape[1] :] for part in present)


@misconception(
    "DecoderBlock",
    confuses="a present that includes the past with a present without it: the present contains the "
    "past twice",
    hint="After three positions and two more, how many positions does the present contain?",
)
class past_in_the_present_twice(_Block):
    def forward(self, x, past=None):
        out, present = super().forward(x, past)
        if past is not None:
            present = tuple(torch.cat(parts, 2) for parts in zip(past, present, strict=True))
        return out, present


@misconception(
    "DecoderBlock",
    confuses="pre-norm with post-norm in the first half: norm1 comes after the addition instead of "
    "before the attention",
    hint="Is norm1 applied to the input of the attention or to the sum?",
)
class norm_after_the_attention(_Block):
    def forward(self, x, past=None):
        attended, present = self.attention(x, past)
        h = self.norm1(x + attended)
        return h + self.feed_forward(self.norm2(h)), present


@misconception(
    "DecoderBlock",
    confuses="pre-norm with post-norm in the second half: norm2 comes after the addition instead "
    "of before the feed-forward network",
    hint="Is norm2 applied to the input of the feed-forward network or to the sum?",
)
class norm_after_the_network(_Block):
    def forward(self, x, past=None):
        attended, present = self.attention(self.norm1(x), past)
        h = x + attended
        return self.norm2(h + self.feed_forward(h)), present
