"""Answers with two known mistakes at once, which neither name alone describes."""

from torch import nn

from autograder.parts import CachedAttention, FeedForward
from autograder.suite import combination


class _Submodules(nn.Module):
    def __init__(self, d_model, num_heads, hidden_dim):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.attention = CachedAttention(d_model, num_heads)
        self.feed_forward = FeedForward(d_model, hidden_dim)


@combination("DecoderBlock", "post_norm", "past_not_handed_on")
class post_norm_without_a_past(_Submodules):
    def forward(self, x, past=None):
        attended, present = self.attention(x)
        h = self.norm1(x + attended)
        return self.norm2(h + self.feed_forward(h)), present


@combination("DecoderBlock", "side_by_side", "norm1_used_twice")
class side_by_side_behind_one_norm(_Submodules):
    def forward(self, x, past=None):
        normalised = self.norm1(x)
        attended, present = self.attention(normalised, past)
        return x + attended + self.feed_forward(normalised), present
