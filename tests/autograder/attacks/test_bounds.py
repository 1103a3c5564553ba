"""The grader's own time, which no clock of a question takes: it looks at a little of any reply."""

from __future__ import annotations

import ast
import json
import time
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from autograder.submission.display import without_display
from autograder.suite.compare import describe, difference
from autograder.worker import wire

LARGE = torch.zeros(5_000)
MANY = 5_000


@pytest.mark.parametrize(
    "reply",
    [
        [LARGE] * MANY,
        {"a": [LARGE] * MANY},
        {number: LARGE for number in range(MANY)},
        {(LARGE,) * MANY: 1},
        SimpleNamespace(a=(LARGE,) * MANY),
        [[SimpleNamespace(a={"b": [LARGE] * MANY})]],
    ],
    ids=["list", "list_in_dict", "dict", "key", "namespace", "nested"],
)
def test_a_message_prints_no_tensor_of_a_reply(reply: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def printed(tensor: torch.Tensor) -> str:
        raise AssertionError("a tensor of a reply was printed")

    monkeypatch.setattr(torch.Tensor, "__repr__", printed)
    assert len(describe(reply)) < 1_000
    assert difference(reply, torch.ones(2))
    assert difference(reply, {"word": 1})


@pytest.mark.parametrize(
    "text",
    ["import pylab\n" + "pylab.plot(1)\n" * 12_000, "from pylab import x\ndef f(): y\n" * 12_000],
    ids=["plots", "imports"],
)
def test_a_module_that_shows_much_takes_no_time_that_grows_with_its_square(text: str) -> None:
    before = time.process_time()
    without_display(text, ast.parse(text).body)
    # of CPU time; about one is needed, and a hundred where each statement is compared with all
    assert time.process_time() - before < 20


def test_keys_that_collide_are_refused_where_they_are_many() -> None:
    def frame(count: int) -> bytes:
        return json.dumps({"D": [[number * (2**61 - 1), 0] for number in range(count)]}).encode()

    assert len(wire.decode(frame(wire.MAX_PAIRS), bytearray())) == wire.MAX_PAIRS
    with pytest.raises(wire.BadFrame):
        wire.decode(frame(wire.MAX_PAIRS + 1), bytearray())


def test_a_reply_can_not_be_larger_than_its_bytes() -> None:
    header = json.dumps({"T": ["float32", [1 << 30, 1 << 30], [0, 0]]}).encode()
    with pytest.raises(wire.BadFrame):
        wire.decode(header, bytearray(4))


def test_a_tensor_arrives_on_the_cpu_whatever_device_is_the_default() -> None:
    header = json.dumps({"T": ["float32", [1], None]}).encode()
    torch.set_default_device("meta")
    try:
        assert wire.decode(header, bytearray(4)).device.type == "cpu"
    finally:
        torch.set_default_device(None)
