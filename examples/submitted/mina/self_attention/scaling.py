"""Scaled dot-product attention: scores of a size that softmax can work with, then the context."""

from torch import nn
import torch


def scale_scores(scores: torch.Tensor, d_k: int) -> torch.Tensor:
    return scores / d_k ** 0.5


def attention_weights(queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    scores = queries @ keys.transpose(-2, -1)
    scaled = scores / queries.shape[-1] ** 0.5
    return torch.softmax(scaled, dim=-1)


def scaled_dot_product_attention(queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    return nn.functional.scaled_dot_product_attention(queries, keys, values)
