"""An exercise next to the attacked one, in a separate file."""

import torch


def neighbour(x: torch.Tensor) -> torch.Tensor:
    """Halves a value."""
    ### BEGIN SOLUTION
    return x / 2
    ### END SOLUTION
