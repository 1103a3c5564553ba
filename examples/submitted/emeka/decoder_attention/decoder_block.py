from torch import nn
from autograder.parts import CachedAttention, FeedForward


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
        return (h + self.feed_forward(self.norm2(h)), present)


class DecoderBlock(_Block):
    def forward(self, x, past=None):
        attended, present = self.attention(x, past)
        h = self.norm1(x + attended)
        return (self.norm2(h + self.feed_forward(h)), present)
