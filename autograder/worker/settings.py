"""Process-wide settings of torch that an answer may change for everything that runs later."""

from __future__ import annotations

from typing import NamedTuple

import torch


class Settings(NamedTuple):
    """The settings of torch in a worker."""

    with_gradients: bool
    dtype: torch.dtype

    def begin(self, seed: int) -> None:
        """Restores the settings for a question that begins with its own random numbers."""
        torch.default_generator.manual_seed(seed)
        torch.set_grad_enabled(self.with_gradients)
        torch.set_default_dtype(self.dtype)


def settings() -> Settings:
    """Returns the current settings."""
    return Settings(torch.is_grad_enabled(), torch.get_default_dtype())
