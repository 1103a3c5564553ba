"""What a worker answers: as little as the grader needs."""

from __future__ import annotations

from typing import Any

import torch

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
