"""How a tensor lies in memory: types that can cross, what strides span, its bytes."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import torch

#: so few bytes are copied rather than looked at where they are
SMALL_BYTES = 1 << 16

DTYPES: dict[str, torch.dtype] = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        *(torch.float16, torch.bfloat16, torch.float32, torch.float64),
        *(torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.bool),
        *(torch.complex64, torch.complex128),
    )
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
_PLAIN = (torch.Tensor, torch.nn.Parameter)


def span_of(shape: Sequence[int], strides: Sequence[int]) -> int:
    """How many elements of memory lie between the first and the last of a tensor."""
    if 0 in shape:
        return 0
    return 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))


def memory_of(tensor: torch.Tensor) -> torch.Tensor:
    """The memory that a tensor lies in, as one row: every element once, and what is between."""
    return tensor.as_strided((span_of(tensor.shape, tensor.stride()),), (1,))


def is_plain(tensor: torch.Tensor) -> bool:
    """Whether a tensor can cross as it lies in memory: most do."""
    return (
        type(tensor) in _PLAIN
        and tensor.dtype in NAMES
        and tensor.layout is torch.strided
        and tensor.is_cpu
        and tensor.is_contiguous()
        and not (tensor.is_conj() or tensor.is_neg())
    )


def bytes_of(tensor: torch.Tensor) -> bytes | memoryview:
    """The memory of a contiguous tensor; a view keeps the tensor alive.

    Raises `ValueError` where its storage was emptied below it.
    """
    size, address = tensor.nbytes, tensor.data_ptr()
    if size and not address:
        raise ValueError("a tensor whose memory was taken away is no answer")
    if size < SMALL_BYTES:  # a view takes a type of ctypes for each size (benchmarks/tricks.py)
        return ctypes.string_at(address, size)
    memory = (ctypes.c_char * size).from_address(address)
    memory.owner = tensor  # type: ignore[attr-defined]
    return memoryview(memory).cast("B")
