"""The solution's results are kept, and every result is the one that a new call would return."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from autograder.grading.judging.solution_cache import CachedSolution, Results
from autograder.suite.implementation import Step
from autograder.suite.local import LocalImplementation


class Counting(nn.Module):
    """A layer that its own calls change."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(size))
        self.calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        MADE.append("forward")
        self.calls += 1
        return x * self.weight + self.calls


def doubled(x: torch.Tensor) -> torch.Tensor:
    MADE.append("doubled")
    return x * 2


def overwritten(x: torch.Tensor) -> torch.Tensor:
    return x.zero_()


def picked(x: torch.Tensor, where: slice) -> torch.Tensor:
    return x[where]


def drawn(x: torch.Tensor) -> torch.Tensor:
    return x * torch.rand(())


#: the calls that were made
MADE: list[str] = []
X = torch.tensor([1.0, 2.0])


@pytest.fixture
def cached() -> CachedSolution:
    MADE.clear()
    names: dict[str, Any] = {f.__name__: f for f in (Counting, doubled, overwritten, picked, drawn)}
    return CachedSolution(LocalImplementation(names), Results(), b"own")


def test_equal_calls_are_made_once(cached: CachedSolution) -> None:
    values = [cached.call("doubled", (x,)).value for x in (X, X.clone(), X + 1, X[:1])]
    assert [value.tolist() for value in values] == [[2, 4], [2, 4], [4, 6], [2]]
    cached.call("doubled", (X,), no_grad=True)
    assert len(MADE) == 4


def test_a_changed_result_changes_no_later_one(cached: CachedSolution) -> None:
    for _ in range(3):
        value = cached.call("doubled", (X,)).value
        assert value.tolist() == [2, 4]
        value.zero_()


def test_changed_arguments_are_told_each_time(cached: CachedSolution) -> None:
    for _ in range(2):
        (after,) = cached.call("overwritten", (X,)).inputs_after
        assert after.tolist() == [0, 0]
        (same,) = cached.call("doubled", (X,)).inputs_after
        assert same.tolist() == [1, 2]


def test_a_call_that_draws_random_numbers_is_made_each_time(cached: CachedSolution) -> None:
    assert cached.call("drawn", (X,)).value.tolist() != cached.call("drawn", (X,)).value.tolist()


def test_solutions_with_equal_names_do_not_share_results(cached: CachedSolution) -> None:
    results = Results()
    one, other = (
        CachedSolution(LocalImplementation({"f": function}), results, own)
        for function, own in ((doubled, b"one"), (overwritten, b"other"))
    )
    assert one.call("f", (X,)).value.tolist() == [2, 4]
    assert other.call("f", (X,)).value.tolist() == [0, 0]


def used(cached: CachedSolution) -> list[Any]:
    """Makes a layer of each kind of use, and returns all results."""
    layer = cached.build("Counting", (2,))
    layer.load({"weight": X})
    found = [layer.forward((X,)).value]
    found += layer.steps([Step((X,)), Step((X + 1,))])
    layer.train(False)
    found.append(layer.forward((X,)).value)
    other = layer.restored()
    layer.load({"weight": X * 3})
    found += [layer.forward((X,)).value, other.forward((X,)).value]
    layer.move(dtype=torch.float64)
    pulled = layer.gradients((X.double(),), torch.ones(2, dtype=torch.float64))
    return [*found, pulled.value, *pulled.inputs, pulled.weights["weight"], layer.weights()]


def test_a_layer_used_as_before_is_not_built_again(cached: CachedSolution) -> None:
    plain = LocalImplementation(cached.namespace)
    expected, first = used(plain), used(cached)  # type: ignore[arg-type]
    count = len(MADE)
    again = used(cached)
    assert len(MADE) == count
    for results in (first, again):
        torch.testing.assert_close(results, expected, rtol=0, atol=0)


@pytest.mark.parametrize("kept", range(5))
def test_a_layer_has_the_state_of_all_its_calls(cached: CachedSolution, kept: int) -> None:
    inputs = [X + turn for turn in range(5)]
    for turn in (5, kept):
        layer = cached.build("Counting", (2,))
        layer.load({"weight": X})
        values = [layer.forward((x,)).value for x in inputs[:turn]]
        values.append(layer.forward((X * 7,)).value)
        right = [x * X + call for call, x in enumerate([*inputs[:turn], X * 7], 1)]
        assert all(map(torch.equal, values, right))


def test_few_bytes_are_kept(cached: CachedSolution) -> None:
    cached._results = Results(most_bytes=3 * X.nbytes)
    for turn in (*range(4), 3, 2, 1, 0):
        assert cached.call("doubled", (X + turn,)).value.tolist() == [2 + 2 * turn, 4 + 2 * turn]
    assert len(MADE) == 5  # only the first one was dropped


def test_a_call_that_cannot_be_encoded_is_made_each_time(cached: CachedSolution) -> None:
    values = [cached.call("picked", (X, slice(0, at))).value.tolist() for at in (1, 1, 2)]
    assert values == [[1], [1], [1, 2]]
