"""Answers with two known mistakes at once, which neither name alone describes."""

import torch

from autograder.suite import combination


@combination("sliding_window_mask", "looks_ahead_as_well", "window_at_the_top_left")
def around_the_top_left(num_queries, num_keys, window):
    if window < 1:
        raise ValueError("below 1")
    behind = torch.arange(num_queries)[:, None] - torch.arange(num_keys)
    return behind.abs() >= window
