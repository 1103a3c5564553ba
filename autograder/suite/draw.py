"""Inputs drawn for every test, from a recorded seed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import torch


class Draw:
    """A stream of random inputs that depends on the attempt's seed and the test's name only."""

    def __init__(self, seed: int, test: str) -> None:
        digest = hashlib.sha256(f"{seed}/{test}".encode()).digest()
        self._generator = torch.Generator().manual_seed(int.from_bytes(digest[:7], "big"))
        self._turn = -1

    def normal(
        self, *shape: int, scale: float = 1.0, dtype: torch.dtype = torch.float32
    ) -> torch.Tensor:
        """Normal values of that shape with standard deviation `scale`."""
        return torch.randn(shape, generator=self._generator, dtype=dtype) * scale

    def uniform(
        self,
        *shape: int,
        low: float = 0.0,
        high: float = 1.0,
        dtype: torch.dtype = torch.float32,
    ) -> torch.Tensor:
        """Values of that shape, uniform in [low, high)."""
        return low + (high - low) * torch.rand(shape, generator=self._generator, dtype=dtype)

    def strided(
        self, *shape: int, scale: float = 1.0, dtype: torch.dtype = torch.float32
    ) -> torch.Tensor:
        """Normal values, not contiguous: in memory the last two dimensions are swapped."""
        turned = (*shape[:-2], shape[-1], shape[-2])
        return self.normal(*turned, scale=scale, dtype=dtype).transpose(-2, -1)

    def integers(self, *shape: int, low: int, high: int) -> torch.Tensor:
        """int64 values of that shape in [low, high)."""
        return torch.randint(low, high, shape, generator=self._generator)

    def integer(self, low: int, high: int) -> int:
        """One integer in [low, high]."""
        return int(torch.randint(low, high + 1, (), generator=self._generator))

    def permutation(self, n: int) -> list[int]:
        """The numbers 0 to n - 1 in a random order."""
        return [int(i) for i in torch.randperm(n, generator=self._generator)]

    def turn(self) -> int:
        """Return the number of earlier calls of this method; every test starts at 0."""
        self._turn += 1
        return self._turn

    def until(
        self, make: Callable[[Draw], torch.Tensor], good: Callable[[torch.Tensor], bool]
    ) -> torch.Tensor:
        """Return the first of 100 drawn inputs that is good; raises `ValueError` if none is."""
        for _ in range(100):
            candidate = make(self)
            if good(candidate):
                return candidate
        raise ValueError("none of 100 drawn inputs was good: loosen the condition")
