"""An exercise with the question that is attacked, and with questions before and after it."""

import torch


def first(x: torch.Tensor) -> torch.Tensor:
    """Adds one."""
    ### BEGIN SOLUTION
    return x + 1
    ### END SOLUTION


def target(x: torch.Tensor) -> torch.Tensor:
    """Doubles a value."""
    ### BEGIN SOLUTION
    return x * 2
    ### END SOLUTION


class Scale(torch.nn.Module):
    """A weight for each column."""

    def __init__(self, size: int) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.weight = torch.nn.Parameter(torch.ones(size))
        ### END SOLUTION

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Maps (B, size) to (B, size)."""
        ### BEGIN SOLUTION
        return x * self.weight
        ### END SOLUTION


def ruled(x: torch.Tensor) -> torch.Tensor:
    """Computes softmax without torch's own function."""
    ### BEGIN SOLUTION
    powers = torch.exp(x - x.amax(-1, keepdim=True))
    return powers / powers.sum(-1, keepdim=True)
    ### END SOLUTION


def last(x: torch.Tensor) -> torch.Tensor:
    """Subtracts one."""
    ### BEGIN SOLUTION
    return x - 1
    ### END SOLUTION
