"""An exercise beside the attacked one, in a file of its own."""

import torch


def neighbour(x: torch.Tensor) -> torch.Tensor:
    """Halves a value."""
    ### BEGIN SOLUTION
    return x / 2
    ### END SOLUTION
