"""What holds for a whole process, and an answer may set: for all that comes after it, too."""

from __future__ import annotations

from typing import NamedTuple

import torch


class Settings(NamedTuple):
    """Of torch, in a worker."""

    with_gradients: bool
    dtype: torch.dtype

    def begin(self, seed: int) -> None:
        """These hold again, for a question that begins with its own random numbers."""
        torch.default_generator.manual_seed(seed)
        torch.set_grad_enabled(self.with_gradients)
        torch.set_default_dtype(self.dtype)


def settings() -> Settings:
    """Those of this moment."""
    return Settings(torch.is_grad_enabled(), torch.get_default_dtype())
