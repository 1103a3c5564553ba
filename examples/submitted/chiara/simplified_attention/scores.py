"""Attention scores: how well a query fits each input.

Every score is a dot product. A large one says that two vectors point the same way.
"""

import torch


def query_scores(inputs: torch.Tensor, query: torch.Tensor) -> torch.Tensor:
    return torch.stack([torch.dot(row, query) for row in inputs])


def attention_scores(queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    return torch.einsum("...td,...sd->...ts", queries, keys)
