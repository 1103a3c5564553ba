"""A second exercise of the attacked assignment, in a separate file."""

import torch


def neighbour(x: torch.Tensor) -> torch.Tensor:
    """Halves a value."""
    ### BEGIN SOLUTION
    return x / 2
    ### END SOLUTION
