"""Right but unusual ways to the scores."""

import torch

from autograder.suite import alternative


@alternative("attention_scores")
def einsum(queries, keys):
    return torch.einsum("...td,...sd->...ts", queries, keys)
