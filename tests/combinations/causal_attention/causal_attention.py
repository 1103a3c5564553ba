"""Two known mistakes of a causal attention layer at once: neither's name fits."""

import torch
import torch.nn.functional as F
from torch import nn

from autograder.suite import combination


class _Layers(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.context_length = context_length
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)

    def scores(self, x):
        if x.shape[1] > self.context_length:
            raise ValueError("too many tokens")
        return self.W_query(x) @ self.W_key(x).mT

    def root(self):
        return self.W_key.weight.shape[0] ** 0.5

    def masked(self, scores):
        future = torch.ones_like(scores[0], dtype=torch.bool).triu(1)
        return scores.masked_fill(future, -torch.inf)


@combination("CausalAttention", "not_scaled", "context_dropped")
class not_scaled_and_context_dropped(_Layers):
    def forward(self, x):
        return self.dropout(self.masked(self.scores(x)).softmax(-1) @ self.W_value(x))


@combination("CausalAttention", "not_scaled", "batch_shares_a_pattern")
class not_scaled_and_one_pattern(_Layers):
    def forward(self, x):
        weights = self.masked(self.scores(x)).softmax(-1)
        return weights * self.dropout(torch.ones_like(weights[:1])) @ self.W_value(x)


@combination("CausalAttention", "no_mask", "scores_dropped")
class no_mask_and_scores_dropped(_Layers):
    def forward(self, x):
        return self.dropout(self.scores(x) / self.root()).softmax(-1) @ self.W_value(x)


@combination("CausalAttention", "softmax_over_queries", "not_scaled")
class softmax_over_queries_not_scaled(_Layers):
    def forward(self, x):
        weights = self.masked(self.scores(x)).softmax(-2)
        return self.dropout(weights) @ self.W_value(x)


@combination("CausalAttention", "softmax_over_batch", "context_dropped")
class softmax_over_the_batch_and_context_dropped(_Layers):
    def forward(self, x):
        weights = self.masked(self.scores(x) / self.root()).softmax(0).nan_to_num(0.0)
        return self.dropout(weights @ self.W_value(x))


@combination("CausalAttention", "always_one_half", "drops_in_evaluation")
class one_half_always(_Layers):
    def forward(self, x):
        weights = self.masked(self.scores(x) / self.root()).softmax(-1)
        return F.dropout(weights, 0.5 if self.dropout.p else 0.0) @ self.W_value(x)


@combination("CausalAttention", "mask_is_plain_attribute", "not_scaled")
class plain_mask_not_scaled(_Layers):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, qkv_bias)
        self.mask = torch.ones(context_length, context_length).triu(1).bool()

    def forward(self, x):
        length = x.shape[1]
        scores = self.scores(x).masked_fill(self.mask[:length, :length], -torch.inf)
        return self.dropout(scores.softmax(-1)) @ self.W_value(x)
