from torch import nn
from autograder.parts import CachedAttention, FeedForward


class _Submodules(nn.Module):
    def __init__(self, d_model, num_heads, hidden_dim):
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model)
        self.attention = CachedAttention(d_model, num_heads)
        self.norm2 = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, hidden_dim)


class DecoderBlock(_Submodules):
    def look(self, x, past):
        attended, present = self.attention(self.norm1(x), past)
        return (x + attended, present)

    def think(self, x):
        return x + self.feed_forward(self.norm2(x))

    def forward(self, x, past=None):
        x, present = self.look(x, past)
        return (self.think(x), present)
