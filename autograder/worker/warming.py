"""In the fork server, runs code that is slow the first time, so that it is fast in every worker.

Python specializes code in its first few runs, and torch looks up its operators on first use.
Without this module, each fork would repeat this work, and would copy every shared page of memory to
which this work writes. `benchmarks/tricks.py` measures the gain.
"""

from __future__ import annotations

import contextlib
import importlib
import linecache
import socket
import sys
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from . import answering, compiler, execution, late, operator_watch, wire

#: the number of runs; Python has specialized code after eight of them, and its parts a few runs
#: later
_TIMES = 24
_NAME = "warming"
_TEXT = '''
"""An example."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def weigh(scores: Tensor, dim: int = -1) -> Tensor:
    """An example."""
    if dim >= scores.dim():
        raise ValueError(f"no dimension {dim}")
    shifted = scores - scores.max(dim=dim, keepdim=True).values
    weights = torch.exp(shifted)
    return weights / weights.sum(dim=dim, keepdim=True)


class Mixing(nn.Module):
    """An example."""

    def __init__(self, d: int, *, bias: bool = True) -> None:
        super().__init__()
        self.project = nn.Linear(d, d, bias=bias)

    def forward(self, x: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        scores = x @ self.project(x).transpose(-2, -1) / math.sqrt(x.shape[-1])
        hidden = torch.ones_like(scores, dtype=torch.bool).triu(1)
        return F.softmax(scores.masked_fill(hidden, -math.inf), dim=-1) @ x, x
'''


def warm(modules: Sequence[str], second_device: bool, many_workers: bool) -> None:
    """Imports the modules that exist, and runs typical code (repeatedly for many workers)."""
    compiler.defer()
    compiler.never_compile()
    for name in modules:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    operator_watch.record_thread_starts()
    use(second_device, many_workers)
    sys._clear_type_cache()  # workers would write to names in its entries
    for _ in range(_TIMES if many_workers else 0):
        _answer_all()


def use(second_device: bool, many_workers: bool) -> None:
    """Runs the code that answers usually need, but only once."""
    _use_torch()
    if many_workers:
        torch.vmap(torch.sum)(torch.ones(2, 3))  # loads code that few answers need
    if second_device:
        _use_second_device()
    _answer_all()


def load_kernels() -> None:
    """Loads the kernels, and uses them so that everything that they need is also loaded."""
    late.load_kernels()
    _use_second_device()


def _answer_all() -> None:
    """Sends typical requests for a made-up module, as the grader would."""
    inputs, scores = torch.ones(2, 3, 4), torch.ones(3, 2).T
    weights = {"project.bias": torch.zeros(4)}
    asked: tuple[tuple[Any, ...], ...] = (
        ("load", _NAME, _TEXT, 0),
        ("seed", 0),
        ("call", "weigh", [inputs, -1]),
        ("call", "weigh", [scores]),
        ("call", "weigh", [inputs.double()]),
        ("call", "weigh", [inputs, 7]),
        ("gradients", "weigh", [inputs], inputs, []),
        ("steps", "weigh", [([inputs], None)]),
        ("build", 0, "Mixing", [4]),
        ("load_weights", 0, weights),
        ("weights", 0),
        ("train", 0, False),
        ("forward", 0, [inputs]),
        ("layer_gradients", 0, [inputs], (inputs, inputs), []),
    )
    grader, channel = socket.socketpair()
    with grader, channel:
        server = answering.Server(channel)
        for request in (*asked, ("several", list(asked[1:]))):
            grader.sendall(b"".join(wire.encode(0, request, layouts=True)))
            server.answer_next()
            grader.recv(1 << 16)
    del sys.modules[_NAME], linecache.cache[f"{_NAME}.py"]


def _use_torch() -> None:
    inputs = torch.ones(2, 3, 4)
    for backward in (False, True):
        operator_watch.operators(torch.softmax, [inputs, -1], backward, [])
    nn.functional.dropout(nn.functional.layer_norm(inputs, (4,)), 0.5)
    nn.functional.scaled_dot_product_attention(inputs, inputs, inputs)
    torch.einsum("btd,bsd->bts", inputs, inputs)
    repr(inputs)


def _use_second_device() -> None:
    """Runs operators that a layer uses after it is moved to the second device."""
    layer, inputs = nn.Linear(4, 4, device="meta"), torch.ones(2, 3, 4, device="meta")
    execution.call(layer, [inputs])
    execution.call(inputs.masked_fill, [inputs > 0, 0.0])
