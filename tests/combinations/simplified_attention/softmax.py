"""Two known mistakes of softmax at once: neither's name fits."""

import torch

from autograder.suite import combination


@combination("softmax", "one_maximum_for_all", "dim_ignored")
def one_maximum_and_last_dimension(scores, dim=-1):
    numbers = torch.exp(scores - scores.max())
    return numbers / numbers.sum(dim=-1, keepdim=True)


@combination("softmax", "cut_at_a_bound", "result_without_gradient")
def cut_and_detached(scores, dim=-1):
    numbers = torch.exp(scores.detach().clamp(-80, 80))
    return numbers / numbers.sum(dim=dim, keepdim=True)
