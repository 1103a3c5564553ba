"""Context vectors: each token's mixture of all values.

The weights say how much of each value goes into the mixture.
"""

import torch


def context_vector(weights: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    return weights @ values


def context_vectors(weights: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    return torch.matmul(weights, values)


def simplified_self_attention(inputs: torch.Tensor) -> torch.Tensor:
    scores = inputs @ inputs.transpose(-1, -2)
    return torch.softmax(scores, dim=-1) @ inputs
