from typing import Any

import torch

from autograder.suite import misconception


@misconception(
    "plus_one",
    confuses="adding and multiplying: the input is doubled",
    hint="What should become of a zero in the input?",
)
def doubled_instead(x: torch.Tensor) -> Any:
    twice_as_much = x + x
    return twice_as_much
