"""Memory layout of tensors: supported dtypes, the span of strides, and their bytes."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import torch

#: below this number of bytes, copying is faster than making a view
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
    """Returns the number of elements of memory from the first to the last element of a tensor."""
    if 0 in shape:
        return 0
    return 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))


def memory_of(tensor: torch.Tensor) -> torch.Tensor:
    """Returns a tensor's memory as one row: every element once, and the gaps between them."""
    return tensor.as_strided((span_of(tensor.shape, tensor.stride()),), (1,))


def is_plain(tensor: torch.Tensor) -> bool:
    """Returns whether a tensor can be sent as it is in memory, as most can."""
    return (
        type(tensor) in _PLAIN
        and tensor.dtype in NAMES
        and tensor.layout is torch.strided
        and tensor.is_cpu
        and tensor.is_contiguous()
        and not (tensor.is_conj() or tensor.is_neg())
    )


def bytes_of(tensor: torch.Tensor) -> bytes | memoryview:
    """Returns the memory of a contiguous tensor; a view keeps the tensor alive.

    Raises `ValueError` if its storage was freed.
    """
    size, address = tensor.nbytes, tensor.data_ptr()
    if size and not address:
        raise ValueError("a tensor whose memory was taken away is not an answer")
    if size < SMALL_BYTES:  # a view needs a ctypes type for each size (benchmarks/tricks.py)
        return ctypes.string_at(address, size)
    memory = (ctypes.c_char * size).from_address(address)
    memory.owner = tensor  # type: ignore[attr-defined]
    return memoryview(memory).cast("B")
