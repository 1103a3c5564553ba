"""Attention scores: how well a query fits each input.

Every score is a dot product. A large one says that two vectors point the same way.
"""

import torch


def query_scores(inputs: torch.Tensor, query: torch.Tensor) -> torch.Tensor:
    return (inputs * query).sum(dim=-1)


def attention_scores(queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    # every query with every key
    return torch.matmul(queries, keys.mT)
