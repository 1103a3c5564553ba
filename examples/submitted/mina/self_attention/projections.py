"""Projections: three trained views of every token - its query, its key and its value."""

import torch


def project_qkv(inputs: torch.Tensor, W_query: torch.Tensor, W_key: torch.Tensor, W_value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    queries = inputs @ W_query
    keys = inputs @ W_key
    values = inputs @ W_value
    return (queries, keys, values)


def project_qkv_left(inputs: torch.Tensor, W_query: torch.Tensor, W_key: torch.Tensor, W_value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    queries = inputs @ W_query.T
    keys = inputs @ W_key.T
    values = inputs @ W_value.T
    return (queries, keys, values)
