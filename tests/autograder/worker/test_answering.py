"""A worker's replies contain only data that the grader needs."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from pytest import MonkeyPatch
from torch import nn

from autograder.worker import execution
from autograder.worker.answering import Worker


def _asked(function: Any, *args: Any) -> Any:
    worker = Worker(lambda request: None, names={"function": function})
    return worker.operations["call"]("function", list(args))


def test_unchanged_arguments_are_not_sent_back() -> None:
    numbers = torch.tensor([1.0, 2.0])
    value, after = _asked(lambda x, pair, rate: x * rate, numbers, (numbers, 3), 0.5)
    assert torch.equal(value, numbers * 0.5)
    assert after is None


def test_all_arguments_are_sent_back_where_one_was_changed() -> None:
    numbers, others = torch.tensor([1.0, 2.0]), torch.tensor([3.0])
    value, after = _asked(lambda x, y: x.add_(1), numbers, others)
    assert [arg.tolist() for arg in after] == [[2.0, 3.0], [3.0]]
    assert value is after[0]
    assert numbers.tolist() == [1.0, 2.0]


@pytest.fixture
def _as_it_was() -> Iterator[None]:
    yield
    torch.set_grad_enabled(True)
    torch.set_default_dtype(torch.float32)


@pytest.mark.usefixtures("_as_it_was")
@pytest.mark.parametrize(
    "setting", ["torch.set_grad_enabled(False)", "torch.set_default_dtype(torch.float64)"]
)
def test_process_settings_of_a_question_end_with_it(setting: str) -> None:
    source = f"import torch\ndef first(x):\n    {setting}\n    return x\n"
    source += "def second(x):\n    return x * torch.tensor([2.0])\n"
    ask = Worker(lambda request: None).operations
    ask["load"]("module", source, 1)
    numbers = torch.tensor([1.0, 2.0])
    ask["call"]("first", [numbers])
    ask["seed"](2)
    value, inputs, _ = ask["gradients"]("second", [numbers], torch.ones(2))
    assert value.dtype == torch.float32
    assert [grad.tolist() for grad in inputs] == [[2.0, 2.0]]


@pytest.mark.parametrize("kind", ["Float[int, 'd']", "Tensor", "callable | None", "torch.No"])
def test_an_annotation_of_what_is_not_there_stops_no_answer(kind: str) -> None:
    source = f"import torch\nfrom nothere import Float\ndef first(x: {kind}): return x"
    for text in (source, source.replace("from nothere import Float", "")):
        ask = Worker(lambda request: None).operations
        ask["load"]("module", text, 1)
        assert ask["call"]("first", [3])[0] == 3


def test_annotations_are_what_they_say() -> None:
    source = "def first(x: int): return x\n"
    source += "def second(): return first.__annotations__['x'] is int"
    ask = Worker(lambda request: None).operations
    ask["load"]("module", source, 1)
    assert ask["call"]("second", [])[0] is True


def test_a_display_without_ipython_stops_no_answer() -> None:
    source = "from IPython.display import Markdown, clear_output\n"
    source += "def first(x):\n    display(Markdown('x'), x)\n    clear_output(wait=True)\n"
    source += "    return x"
    ask = Worker(lambda request: None).operations
    with MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "IPython", None)
        patch.setattr(builtins, "display", None, raising=False)
        ask["load"]("module", source, 1)
        assert ask["call"]("first", [3])[0] == 3


class _Frozen(nn.Module):
    """A layer whose first parameter is a frozen Boolean mask."""

    def __init__(self) -> None:
        super().__init__()
        self.mask = nn.Parameter(torch.ones(2, 2).triu(1).bool(), requires_grad=False)
        self.linear = nn.Linear(2, 2)


def test_a_frozen_mask_does_not_determine_a_layers_dtype() -> None:
    layer = _Frozen().double()
    fresh = execution.restored(layer, _Frozen)
    assert isinstance(fresh, _Frozen)
    assert fresh.linear.weight.equal(layer.linear.weight)
    assert fresh.mask.dtype is torch.bool


def test_entries_that_share_memory_have_the_sum_of_their_gradients() -> None:
    expanded = torch.randn(1, 3).expand(2, 3)
    cotangent = torch.randn(2, 3)

    def strided(x: torch.Tensor) -> torch.Tensor:
        return x.as_strided(x.shape, x.stride(), x.storage_offset())

    for function in (strided, torch.clone):
        _, (found,), _ = execution.gradients(function, [expanded], cotangent)
        assert torch.allclose(found, cotangent.sum(0).expand(2, 3))
