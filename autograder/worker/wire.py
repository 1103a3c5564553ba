"""Encodes frames between grader and worker as JSON and raw tensor bytes, never with pickle.

A frame is `<id u32, header length u32, data length u64> header data`, all little-endian. In the
header, None, booleans, numbers and strings are written as they are, and any other value is an
object with one key: T for a tensor, S for the same tensor again, M for a tensor on the meta device,
U for a tuple, L for a list, D for a dict, N for a namespace. `decode` treats every byte as hostile.
Tensors from the grader keep their memory layout: an argument may be transposed, sliced or expanded,
and need not begin at the start of its memory. Tensors that the grader receives are contiguous, so
that no tensor is larger than the bytes that were sent.
"""

from __future__ import annotations

import ctypes
import json
import math
import struct
import traceback
from collections.abc import Iterator, Sequence
from functools import lru_cache
from json.encoder import encode_basestring_ascii
from types import SimpleNamespace
from typing import Any

import torch

#: below this number of bytes, copying is faster than creating a view
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
    """Returns the number of elements in memory from a tensor's first element to its last."""
    if 0 in shape:
        return 0
    return 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))


def memory_of(tensor: torch.Tensor) -> torch.Tensor:
    """Returns a tensor's memory as one row: every element once, and the gaps between elements."""
    return tensor.as_strided((span_of(tensor.shape, tensor.stride()),), (1,))


def as_view(memory: torch.Tensor, shape: Sequence[int], strides: Sequence[int]) -> torch.Tensor:
    """Returns a view of a copy of `memory`; like many slices, it begins after the copy's start."""
    return torch.cat([memory[:1], memory]).as_strided(shape, strides, 1)


def is_plain(tensor: torch.Tensor) -> bool:
    """Returns whether a tensor, if it is contiguous, can be sent without a conversion."""
    return (
        type(tensor) in _PLAIN
        and tensor.dtype in NAMES
        and tensor.layout is torch.strided
        and tensor.is_cpu
        and not (tensor.is_conj() or tensor.is_neg())
    )


def bytes_of(tensor: torch.Tensor) -> bytes | memoryview:
    """Returns a contiguous tensor's bytes; a memoryview of the bytes keeps the tensor alive.

    Raises `ValueError` if the tensor's storage has been freed.
    """
    size, address = tensor.nbytes, tensor.data_ptr()
    if size and not address:
        raise ValueError("a tensor whose memory was freed is not an answer")
    if size < SMALL_BYTES:  # views need a ctypes type per size (benchmarks/tricks.py)
        return ctypes.string_at(address, size)
    memory = (ctypes.c_char * size).from_address(address)
    memory.owner = tensor  # type: ignore[attr-defined]
    return memoryview(memory).cast("B")


HEAD = struct.Struct("<IIQ")
MAX_DEPTH = 20
MAX_ITEMS = 100_000
#: the most items in a dictionary, because keys can be chosen so that each is compared with all
#: others
MAX_PAIRS = 2_000
MAX_DIMENSIONS = 12
#: the most tensors in a frame, each counted once per reference
MAX_TENSORS = 10_000
MAX_HEADER_BYTES = 1 << 20
_MOST_OF_ONE_SIZE = 1 << 40


class BadFrame(Exception):
    """Raised for bytes that are not a valid frame, or for a value that can't be sent."""


def encode(frame_id: int, value: Any, layouts: bool = False) -> Iterator[bytes | memoryview]:
    """Yields the parts of a frame, to be sent in order; raises `BadFrame` before the first part.

    With `layouts`, tensors keep their strides; `decode` needs the same argument.
    """
    encoder = _Encoder(layouts)
    header = encoder.node(value).encode()
    start = HEAD.pack(frame_id, len(header), encoder.size) + header
    if encoder.size < SMALL_BYTES:  # one part, because each part wakes the other side
        yield b"".join([start, *map(bytes_of, encoder.tensors)])
        return
    yield start
    for tensor in encoder.tensors:
        yield bytes_of(tensor)


def header_of(value: Any) -> bytes:
    """Returns the header of the frame for a value: everything except the tensors' numbers."""
    return _Encoder(layouts=True).node(value).encode()


def decode(
    header: bytes, data: bytearray, layouts: bool = False, most_bytes: int | None = None
) -> Any:
    """Returns the value in a frame; raises `BadFrame` if the frame is not valid.

    `most_bytes` limits the total size of all tensors; a tensor counts once for each reference.
    """
    try:
        decoder = _Decoder(data, layouts, most_bytes)
        value = decoder.value(json.loads(header))
    except BadFrame:
        raise
    except (ValueError, TypeError, RecursionError, RuntimeError, OverflowError) as error:
        raise BadFrame(f"undecodable: {type(error).__name__}") from None
    if decoder.offset != len(data):
        raise BadFrame("bytes left over")
    return value


class _Encoder:
    """Writes a value's header in one pass, like `json.dumps`, and collects its tensors."""

    def __init__(self, layouts: bool) -> None:
        self._layouts = layouts
        self.tensors: list[torch.Tensor] = []
        self.size = 0
        self._index: dict[int, int] = {}

    def node(self, value: Any, depth: int = 0) -> str:
        if depth > MAX_DEPTH:
            raise BadFrame(f"nested more than {MAX_DEPTH} deep")
        if value is None:
            return "null"
        if isinstance(value, torch.Tensor):
            return self._tensor(value)
        if isinstance(value, tuple | list):
            kind = "U" if isinstance(value, tuple) else "L"
            return _node(kind, [self.node(item, depth + 1) for item in value])
        if isinstance(value, str):
            return encode_basestring_ascii(value)
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, int):
            return int.__repr__(int(value))
        if isinstance(value, float):
            return json.dumps(float(value))
        if isinstance(value, dict):
            return _node("D", [self._pair(key, item, depth + 1) for key, item in value.items()])
        if isinstance(value, SimpleNamespace):
            return _node("N", [self._pair(k, item, depth + 1) for k, item in vars(value).items()])
        own = type(value)
        raise BadFrame(f"a {own.__module__}.{own.__qualname__} is not an answer; return a tensor")

    def _pair(self, key: Any, value: Any, depth: int) -> str:
        return f"[{self.node(key, depth)}, {self.node(value, depth)}]"

    def _tensor(self, value: torch.Tensor) -> str:
        if id(value) in self._index:
            return f'{{"S": {self._index[id(value)]}}}'
        if is_plain(value):
            is_contiguous = value.is_contiguous()
            if not self._layouts or (is_contiguous and not value.storage_offset()):
                plain = value if is_contiguous else value.detach().contiguous()
                return self._added(value, plain, value.shape, None)
        with torch._C.DisableTorchFunctionSubclass():
            if value.layout != torch.strided:
                raise BadFrame(
                    f"a tensor of layout {value.layout} can't be sent to or from the sandbox"
                )
            plain = value.detach().as_subclass(torch.Tensor)
            if plain.dtype not in NAMES:
                name = str(plain.dtype).removeprefix("torch.")
                raise BadFrame(f"a tensor of dtype {name} can't be sent to or from the sandbox")
            if plain.device.type == "meta":
                return f'{{"M": ["{NAMES[plain.dtype]}", {_sizes(plain.shape)}]}}'
            shape, strides = plain.shape, None
            if self._layouts and (plain.storage_offset() or not plain.is_contiguous()):
                strides, plain = plain.stride(), memory_of(plain)
            plain = plain.resolve_conj().resolve_neg().contiguous().cpu()
        return self._added(value, plain, shape, strides)

    def _added(
        self,
        value: Any,
        plain: torch.Tensor,
        shape: tuple[int, ...],
        strides: tuple[int, ...] | None,
    ) -> str:
        """Returns the node for `value`.

        Sends the data of `plain`, because a subclass of `Tensor` may misreport its own data.
        """
        self._index[id(value)] = len(self._index)
        if size := plain.nbytes:
            self.size += size
            self.tensors.append(plain)
        steps = "null" if strides is None else _sizes(strides)
        return f'{{"T": ["{NAMES[plain.dtype]}", {_sizes(shape)}, {steps}]}}'


@lru_cache(4096)
def _sizes(sizes: tuple[int, ...]) -> str:
    """Returns a shape or strides as text; caches the text, because most shapes occur many times."""
    return str(list(sizes))


def _node(kind: str, items: Sequence[str]) -> str:
    return f'{{"{kind}": [{", ".join(items)}]}}'


class _Decoder:
    def __init__(self, data: bytearray, layouts: bool, most_bytes: int | None) -> None:
        self._layouts, self._most_bytes = layouts, most_bytes
        self._named = self._named_bytes = 0
        self._data = data
        self.offset = 0
        self._tensors: list[torch.Tensor] = []

    def value(self, node: Any, depth: int = 0) -> Any:
        if depth > MAX_DEPTH + 2:
            raise BadFrame("nested too deep")
        if node is None or type(node) in (bool, int, float, str):
            return node
        if type(node) is not dict or len(node) != 1:
            raise BadFrame("malformed node")
        ((kind, content),) = node.items()
        if kind == "S":
            return self._again(content)
        if type(content) is not list or len(content) > MAX_ITEMS:
            raise BadFrame("malformed node")
        match kind:
            case "T":
                return self._tensor(content)
            case "M":
                name, shape = content
                self._count(0)
                return torch.empty(_shape(shape), dtype=_dtype(name), device="meta")
            case "L":
                return [self.value(item, depth + 1) for item in content]
            case "U":
                return tuple(self.value(item, depth + 1) for item in content)
            case "D" if len(content) <= MAX_PAIRS:
                pairs = [(self.value(k, depth + 1), self.value(v, depth + 1)) for k, v in content]
                return dict(pairs)
            case "N":
                names = {str(k): self.value(v, depth + 1) for k, v in content}
                return SimpleNamespace(**names)
        raise BadFrame("unknown node")

    def _again(self, index: Any) -> torch.Tensor:
        if type(index) is not int or not 0 <= index < len(self._tensors):
            raise BadFrame("refers to no tensor")
        self._count(self._tensors[index].nbytes)
        return self._tensors[index]

    def _count(self, size: int) -> None:
        """Counts each reference to a tensor, because a reader processes the tensor each time."""
        self._named += 1
        self._named_bytes += size
        too_large = self._most_bytes is not None and self._named_bytes > self._most_bytes
        if self._named > MAX_TENSORS or too_large:
            raise BadFrame("refers to too many tensors, or to large ones too often")

    def _tensor(self, content: list[Any]) -> torch.Tensor:
        name, shape, strides = content
        dtype, memory = _dtype(name), _shape(shape)
        if strides is not None:
            if not self._layouts or len(_shape(strides)) != len(memory):
                raise BadFrame("bad strides")
            memory = (span_of(memory, strides),)
        size = math.prod(memory) * dtype.itemsize
        start, self.offset = self.offset, self.offset + size
        if self.offset > len(self._data):
            raise BadFrame("tensor data is too short")
        self._count(size)
        if not size:
            tensor = torch.empty(memory, dtype=dtype, device="cpu")  # whatever the default is
        else:
            if dtype is torch.bool and self._data[start : self.offset].translate(None, b"\0\1"):
                raise BadFrame("a bool that is neither 0 nor 1")
            row = torch.frombuffer(
                self._data, dtype=dtype, count=size // dtype.itemsize, offset=start
            )
            tensor = row.clone().resize_(memory)  # aligned, and separate from its neighbors
        if strides is not None:
            tensor = as_view(tensor, shape, strides)
        self._tensors.append(tensor)
        return tensor


def _dtype(name: Any) -> torch.dtype:
    if type(name) is not str or name not in DTYPES:
        raise BadFrame("unknown dtype")
    return DTYPES[name]


def _shape(shape: Any) -> tuple[int, ...]:
    """Returns sizes or strides as a tuple, which torch reads twice as fast as a list."""
    if type(shape) is not list or len(shape) > MAX_DIMENSIONS:
        raise BadFrame("bad shape")
    for size in shape:
        if type(size) is not int or not 0 <= size < _MOST_OF_ONE_SIZE:
            raise BadFrame("bad shape")
    return tuple(shape)


def error_text(error: BaseException) -> str:
    """Returns an error's message; for an unknown name, adds the most similar known name.

    Returns an empty string if reading the message fails, as it may if a student has defined the
    error's class.
    """
    try:
        return _error_text(error)
    except Exception:
        return ""


def _error_text(error: BaseException) -> str:
    if isinstance(error, NameError | AttributeError):
        return str(traceback.TracebackException.from_exception(error, limit=0))
    if isinstance(error, KeyError) and len(error.args) == 1:
        (key,) = error.args  # an empty text would look like a missing one
        return key if isinstance(key, str) and key.strip() else str(error)
    return str(error)
