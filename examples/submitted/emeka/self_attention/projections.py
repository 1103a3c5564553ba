"""Projections: three trained views of every token - its query, its key and its value."""

import torch


def project_qkv(inputs, W_query, W_key, W_value):
    turned = inputs.transpose(-2, -1)
    return (turned @ W_query, turned @ W_key, turned @ W_value)


def project_qkv_left(inputs, W_query, W_key, W_value):
    return (W_query @ inputs, W_key @ inputs, W_value @ inputs)
