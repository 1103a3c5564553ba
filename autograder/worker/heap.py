"""Prepares a process's heap for many forks by using huge pages and filling holes.

To inherit a huge page, a fork copies one page-table entry instead of 512.

Imports leave holes: thousands of small free blocks all over the heap. In a fork, malloc hands out
these blocks first, and writing to each of them makes the kernel copy a page. Once these holes are
filled, a fork allocates all its memory in one region. `benchmarks/tricks.py` measures both effects.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from . import wire

HUGE_PAGE = 2 << 20
MADV_HUGEPAGE, MADV_COLLAPSE = 14, 25
_M_MMAP_THRESHOLD = -3
_LARGEST_THRESHOLD = 32 << 20
_BEYOND_ANY_HOLE = 16 << 20
#: the alignment of memory that torch allocates, in bytes
_ALIGNMENT = 64
#: the sizes of the blocks that fill the holes, largest first; with small blocks alone, there would
#: be millions
_SIZES = (*(1 << power for power in range(17, 9, -1)), *range(1000, 8, -16))


def use_huge_pages() -> None:
    """Moves the heap into huge pages if the kernel supports this (Linux 6.1 or later)."""
    c = ctypes.CDLL(None)
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
        mappings = [line.split() for line in file]
    for addresses, rights, *_, name in mappings:
        if rights == "rw-p" and not name.startswith("/"):
            start, end = whole_huge_pages(addresses)
            if start < end:
                c.madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), MADV_COLLAPSE)


def whole_huge_pages(addresses: str) -> tuple[int, int]:
    """Returns the start and the end of the huge pages in a range such as `7f000000-7f400000`."""
    start, end = (int(address, 16) for address in addresses.split("-"))
    return -(-start // HUGE_PAGE) * HUGE_PAGE, end // HUGE_PAGE * HUGE_PAGE


def close_holes() -> None:
    """Allocates every free block below the heap's end; does nothing if malloc is not glibc's."""
    c = ctypes.CDLL(None)
    if not hasattr(c, "gnu_get_libc_version"):
        return
    c.malloc.restype = ctypes.c_void_p
    c.malloc.argtypes = [ctypes.c_size_t]
    c.free.argtypes = [ctypes.c_void_p]
    c.mallopt(_M_MMAP_THRESHOLD, _LARGEST_THRESHOLD)  # else the next block is elsewhere
    end = c.malloc(_BEYOND_ANY_HOLE)
    c.free(end)
    for size in _SIZES:
        while (c.malloc(size) or end) < end:
            pass


def side_by_side(value: Any) -> Any:
    """Returns a copy of a tree whose objects are adjacent, and whose tensors share one buffer.

    In a forked process, even reading an object copies the page in memory that contains the object,
    because the object's reference count changes.
    """
    close_holes()
    tensors = {id(tensor): tensor for tensor in _tensors(value)}
    return _copied(value, _adjacent(tensors))


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        yield from _tensors([*value, *value.values()])
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _tensors(item)


def _adjacent(tensors: Mapping[int, torch.Tensor]) -> dict[int, torch.Tensor]:
    """Returns copies of tensors; the copies have the same layouts, and share one buffer."""
    rows = {key: _storage_row(tensor) for key, tensor in tensors.items()}
    places, end = {}, 0
    for key, row in rows.items():
        places[key], end = end, end + -(-row.nbytes // _ALIGNMENT) * _ALIGNMENT
    buffer = bytearray(end + _ALIGNMENT)
    start = -torch.frombuffer(buffer, dtype=torch.uint8).data_ptr() % _ALIGNMENT
    copies = {}
    for key, row in rows.items():
        tensor, place = tensors[key], start + places[key]
        if not row.nbytes:
            copies[key] = tensor.detach()
            continue
        copy = torch.frombuffer(buffer, dtype=row.dtype, count=len(row), offset=place)
        copy.copy_(row)
        copies[key] = copy.as_strided_(tensor.shape, tensor.stride(), tensor.storage_offset())
    return copies


def _storage_row(tensor: torch.Tensor) -> torch.Tensor:
    """Returns a tensor's storage, up to the tensor's last element; empty for a meta tensor."""
    if tensor.is_meta:
        return torch.empty(0)
    span = wire.span_of(tensor.shape, tensor.stride())
    return tensor.as_strided((span and tensor.storage_offset() + span,), (1,), 0)


def _copied(value: Any, tensors: Mapping[int, torch.Tensor]) -> Any:
    if isinstance(value, torch.Tensor):
        return tensors[id(value)]
    if isinstance(value, str):
        return sys.intern(value)
    if isinstance(value, tuple | list):
        return type(value)([_copied(item, tensors) for item in value])
    if isinstance(value, dict):
        return {_copied(key, tensors): _copied(item, tensors) for key, item in value.items()}
    return value
