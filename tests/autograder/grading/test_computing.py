"""An answer can become a known mistake only if its code does nothing but compute."""

from __future__ import annotations

import textwrap

import pytest
import torch

from autograder.grading.validation import computing
from autograder.grading.validation.computing import uses_besides_computing

from ..attacks.conftest import ATTACKS, Attack

#: kinds of attacks in Python that do something other than compute
_REACHING = ("reaching", "snooping")


@pytest.mark.parametrize(
    ("code", "refused"),
    [
        ("open('x')", "open"),
        ("torch.load('x')", "torch.load"),
        ("torch.hub.load('x', 'y')", "torch.hub"),
        ("torch.ops.load_library('x')", "torch.ops"),
        ("torch.from_file('x')", "torch.from_file"),
        ("torch.jit.load('x')", "torch.jit"),
        ("np.load('x')", "numpy.load"),
        ("np.zeros(3).tofile('x')", ".tofile"),
        ("x.numpy().dump('x')", ".dump"),
        ("x.untyped_storage().from_file('x')", ".from_file"),
        ("x.storage()", ".storage"),
        ("x.register_hook(print)", ".register_hook"),
        ("x.__class__.__base__", ".__base__"),
        ("x.__reduce_ex__(2)", ".__reduce_ex__"),
        ("f.__globals__", ".__globals__"),
        ("(y for y in x).gi_frame.f_builtins['open']('x')", ".f_builtins"),
        ("match x:\n    case object(gi_frame=y): pass", ".gi_frame"),
        ("class A:\n    gi_frame: int\nmatch x:\n    case A(y): pass", "a pattern by position"),
        ("type('A', (), {'__setattr__': f})", "type as a value"),
        ("map(type, ['A'], [()], [{}])", "type as a value"),
        ("type(int)('A', (), {})", "type as a value"),
        (
            "class A:\n    def __eq__(self, other): other('A', (), {})\ntype(int) == A()",
            "type as a value",
        ),
        ("type(int).__call__(type, 'A', (), {})", "type as a value"),
        ("x.__class__.__class__('A', (), {})", ".__class__ as a value"),
        ("def g(self): self.__class__ = int", ".__class__ as a value"),
        ("from enum import Enum", "import enum.Enum"),
        ("from functools import wraps", "import functools.wraps"),
        ("math.tau.__class__.__subclasses__()", ".__subclasses__"),
        ("getattr(torch, 'lo' + 'ad')('x')", "getattr"),
        ("map(eval, ['1'])", "eval"),
        ("print(vars(torch))", "torch"),
        ("library = torch\nlibrary.load('x')", "torch"),
        ("class A:\n    load = torch\nA.load.load('x')", "torch"),
        ("from torch import load", "import torch.load"),
        ("from torch import *", "import torch.*"),
        ("import torch.utils.cpp_extension", "import torch.utils.cpp_extension"),
        ("from random import _os", "import random._os"),
        ("from operator import attrgetter", "import operator.attrgetter"),
        ("from autograder.parts import import_module", "import autograder.parts.import_module"),
        ("from autograder import run", "import autograder.run"),
        ("from .solutions import answer", "import .solutions.answer"),
        ("import os.path", "import os.path"),
        ("torch.Tensor.matmul = f", "a change to torch.Tensor.matmul"),
        ("T = torch.Tensor\nT.matmul = f", "a change to T.matmul"),
        ("del math.tau", "a change to math.tau"),
        ("def g(torch): pass", "another torch"),
        ("torch.set_default_dtype(torch.float64)", "torch.set_default_dtype"),
        ("misconception('f', confuses='', hint='')", "misconception"),
        ("class A:\n    def __getattr__(self, name): pass", "__getattr__"),
        ("class A:\n    open = 3\n    size = open('x')", "open"),
        ("def g():\n    global open\n    open = 3", "open"),
        ("__builtins__", "__builtins__"),
        ("async def g():\n    breakpoint()", "breakpoint"),
        ("nonlocal x", "nonlocal declaration not allowed at module level in line 4"),
    ],
)
def test_code_that_does_more_than_compute_is_refused(code: str, refused: str) -> None:
    head = "import math, torch\nimport numpy as np\ndef f(x): return x\n"
    assert refused in uses_besides_computing(head + code)


def test_ordinary_answers_only_compute() -> None:
    answer = """
import math
from dataclasses import dataclass
import torch
import torch.nn.functional as F
from torch import nn, Tensor
@dataclass
class Config:
    load: int = 3
class Attention(nn.Module):
    def __init__(self, d_in: int, input: int = 3) -> None:
        super().__init__()
        self.W_query = nn.Linear(d_in, 4, bias=False)
        self.softmax, self.dropout = nn.Softmax(dim=-1), nn.Dropout(0.5)
        self.register_buffer("mask", torch.triu(torch.ones(9, 9), diagonal=1))
        nn.init.xavier_uniform_(self.W_query.weight)
    def forward(self, x: Tensor) -> Tensor:
        input, id = self.W_query(x), 3
        open = [row.tolist() for row in input]
        scores = (input @ input.mT).masked_fill(self.mask.bool()[:3], -torch.inf)
        type(self).num_heads, same = 3, type(x) is Tensor and x.__class__.__name__ == "Tensor"
        return F.softmax(scores / math.sqrt(id), dim=-1).to(torch.float64), open, Config().load
"""
    assert uses_besides_computing(answer) == ()


@pytest.mark.parametrize(
    "attack",
    [a for a in ATTACKS if a.kind in _REACHING and (a.body or a.attempt)],
    ids=lambda attack: attack.name,
)
def test_attacks_that_use_the_system_are_refused_as_content(attack: Attack) -> None:
    body = textwrap.indent(attack.body or attack.attempt, "    ")
    assert uses_besides_computing(f"import torch\ndef target(x):\n{body}\n    return x")


def test_functions_of_tensors_have_no_way_to_files() -> None:
    words = ("load", "save_", "file", "fopen", "dump", "import_", "script", "exec")
    names = {*computing._attributes(), *computing._LISTS["builtins"].split()}
    names |= {n for n in vars(torch) if computing._is_listed(f"torch.{n}")}
    assert {n for n in names if any(word in n for word in words)} <= {"save_for_backward"}
