"""Copies the parts of torch's code that answers use into huge pages of this process's own memory.

A fork does not inherit the page-table entries for code that is mapped from a file. Each worker
would therefore load the code page by page, and the kernel would have to remove thousands of entries
when the worker ends. Entries for a process's own memory are inherited, and there is only one entry
per 2 MiB. `benchmarks/tricks.py` measures the gain.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator

from .heap import HUGE_PAGE, MADV_COLLAPSE, MADV_HUGEPAGE, whole_huge_pages

_PAGE = 4 << 10
_READ, _WRITE, _EXECUTE = 1, 2, 4
_PRIVATE, _ANONYMOUS = 2, 0x20
_MAY_MOVE, _FIXED = 1, 2
_MADV_DONTNEED = 4
_FAILED = ctypes.c_void_p(-1).value
#: the bit that marks a page as present, in the last byte of its pagemap entry
_PRESENT = 0x80


def use_huge_pages(use: Callable[[], None]) -> None:
    """Copies the code that `use` executes into huge pages; does nothing if the kernel refuses."""
    c = ctypes.CDLL(None)
    for name in ("mmap", "mremap"):
        getattr(c, name).restype = ctypes.c_void_p
    code = list(_code())
    for start, end in code:
        c.madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), _MADV_DONTNEED)
    use()  # loads only the needed pages
    try:
        used = [run for start, end in code for run in _used(start, end)]
    except OSError:  # /proc/self/pagemap can't be read here
        return
    all(_is_moved(c, start, end) for start, end in used)  # stops at the first failure


def _code() -> Iterator[tuple[int, int]]:
    """Yields the start and the end of the complete huge pages in the code of torch's libraries."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
        for addresses, rights, *_, name in map(str.split, file):
            start, end = whole_huge_pages(addresses)
            if rights == "r-xp" and "/torch/lib/" in name and start < end:
                yield start, end


def _used(start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yields the start and the end of each run of huge pages that are at least partly in memory."""
    with open("/proc/self/pagemap", "rb", buffering=0) as file:
        file.seek(start // _PAGE * 8)
        pages = file.read((end - start) // _PAGE * 8)[7::8]
    each = HUGE_PAGE // _PAGE
    first = start
    for at in range(start, end + HUGE_PAGE, HUGE_PAGE):
        number = (at - start) // _PAGE
        if not any(page & _PRESENT for page in pages[number : number + each]):
            if first < at:
                yield first, at
            first = at + HUGE_PAGE


def _is_moved(c: ctypes.CDLL, start: int, end: int) -> bool:
    """Replaces pages with a copy that uses huge pages; returns whether this was possible."""
    size = ctypes.c_size_t(end - start)
    rights, kind = _READ | _WRITE, _PRIVATE | _ANONYMOUS
    room = end - start + HUGE_PAGE
    place = c.mmap(None, ctypes.c_size_t(room), rights, kind, -1, ctypes.c_long(0))
    if place == _FAILED:
        return False
    copy = ctypes.c_void_p(-(-place // HUGE_PAGE) * HUGE_PAGE)
    c.madvise(copy, size, MADV_HUGEPAGE)
    ctypes.memmove(copy, start, end - start)
    # Small pages would cost each fork more than pages that are mapped from a file.
    is_huge: bool = c.madvise(copy, size, MADV_COLLAPSE) == 0
    is_ready: bool = is_huge and c.mprotect(copy, size, _READ | _EXECUTE) == 0
    if is_ready:
        c.mremap(copy, size, size, _MAY_MOVE | _FIXED, ctypes.c_void_p(start))
    c.munmap(ctypes.c_void_p(place), ctypes.c_size_t(room))  # the unused rest
    return is_ready
