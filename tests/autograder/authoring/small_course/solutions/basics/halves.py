"""Halves."""


def half(x: float) -> float:
    """Half of x."""
    ### BEGIN SOLUTION
    return x / 2.0
    ### END SOLUTION
