"""Projections: three trained views of every token - its query, its key and its value."""

import torch


def project_qkv(inputs, W_query, W_key, W_value):

    def project(weight):
        return (inputs.unsqueeze(-1) * weight).sum(dim=-2)
    return (project(W_query), project(W_key), project(W_value))


def project_qkv_left(inputs, W_query, W_key, W_value):
    return tuple(((inputs[..., None, :] * w).sum(-1) for w in (W_query, W_key, W_value)))
