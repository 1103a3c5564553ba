"""Small sums: the first step."""

import math

import torch

# how much is added
_STEP = 1.0


def _helper(x: torch.Tensor) -> torch.Tensor:
    """Given to students."""
    return x + _STEP


def plus_one(x: torch.Tensor) -> torch.Tensor:
    """Adds one.

    Args:
        x: any shape.
    """
    ### BEGIN SOLUTION
    total = _helper(x) * math.cos(0.0)  # the long way
    return total
    ### END SOLUTION


class Doubled:  # supplied
    """Twice a tensor."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 2.0 * x


class Layer(torch.nn.Module):
    """Scales by a weight."""

    def __init__(self, size: int) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.weight = torch.nn.Parameter(torch.ones(size))
        ### END SOLUTION

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Scales."""
        ### BEGIN SOLUTION
        return x * self.weight
        ### END SOLUTION
