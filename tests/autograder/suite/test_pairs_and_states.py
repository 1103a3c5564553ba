"""Arguments and values may be pairs of tensors, and a call may return a state for the next call."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from autograder.grading.judging.right_answers import ReferenceSubstitution
from autograder.suite import Draw, Expect, LocalImplementation, Step
from autograder.suite.compare import difference
from autograder.suite.implementation import call_text
from autograder.worker.substitution import stand_in


def appended(x: torch.Tensor, past: Any = None) -> Any:
    """Computes a value from all inputs so far; the state contains the inputs and their doubles."""
    first = x if past is None else torch.cat([past[0], x])
    second = 2 * x if past is None else torch.cat([past[1], 2 * x])
    return first.sum() + second.prod(), (first, second)


class AppendingLayer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, x: torch.Tensor, past: Any = None) -> Any:
        return appended(self.scale * x, past)


def expecting(answer: Any) -> Expect:
    right = AppendingLayer if isinstance(answer, type) else appended
    return Expect(
        LocalImplementation({"appended": answer}),
        LocalImplementation({"appended": right}),
        Draw(1, "pairs"),
    )


def pair(size: int) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.linspace(0.5, 1.5, size), torch.linspace(1, 2, size)


def test_a_right_answer_passes_every_question() -> None:
    expect = expecting(appended)
    expect.same("appended", torch.ones(2), pair(3), likely="")
    expect.gradients("appended", torch.ones(2), pair(3), likely="")
    expect.steps("appended", Step((torch.ones(2),)), Step((torch.ones(1),), after=0), likely="")


def test_a_missing_gradient_into_a_pair_is_reported() -> None:
    def cut(x: torch.Tensor, past: Any) -> Any:
        return appended(x, (past[0], past[1].detach()))

    with pytest.raises(AssertionError, match=r"No gradient reaches argument 2\[1\]"):
        expecting(cut).gradients("appended", torch.ones(2), pair(3), likely="")


def test_a_state_that_came_back_detached_is_reported() -> None:
    def detaching(x: torch.Tensor, past: Any) -> Any:
        value, (first, second) = appended(x, past)
        return value, (first.detach(), second)

    with pytest.raises(AssertionError, match=r"the gradient with respect to argument 1"):
        expecting(detaching).gradients("appended", torch.ones(2), pair(3), likely="")


def test_a_tensor_that_is_changed_in_a_pair_is_reported() -> None:
    def writing(x: torch.Tensor, past: Any) -> Any:
        value = appended(x, past)
        past[1].mul_(2)
        return value

    with pytest.raises(AssertionError, match=r"argument 2 was changed by the call:\nat \[1\]:"):
        expecting(writing).same("appended", torch.ones(2), pair(3), likely="")


@pytest.mark.parametrize(
    ("container", "change"),
    [
        ([torch.ones(2)], lambda past: past.append(torch.ones(1))),
        ({"a": 1}, lambda past: past.update(a=2)),
    ],
)
def test_a_container_that_is_changed_is_reported(container: Any, change: Any) -> None:
    def changing(x: torch.Tensor, past: Any) -> Any:
        change(past)
        return x

    expect = Expect(
        LocalImplementation({"f": changing}),
        LocalImplementation({"f": lambda x, past: x}),
        Draw(1, "containers"),
    )
    with pytest.raises(AssertionError, match="argument 2 was changed by the call"):
        expect.same("f", torch.ones(2), container, likely="")


def test_the_place_of_a_difference_inside_pairs_is_reported() -> None:
    one, other = pair(2)

    text = difference((one, (one, one)), (one, (one, other)))
    assert text is not None and text.startswith("at [1][1]:\n2 of 2 values")
    assert "expected  a tuple of 2" in (difference((one, one), (one, (one, other))) or "")


def test_a_call_with_a_pair_shows_its_shapes() -> None:
    past = (torch.ones(2, 3), torch.ones(2, 4, dtype=torch.float64))

    assert call_text("f", [torch.ones(5), past]) == "f((5,), ((2, 3), (2, 4) float64))"
    assert call_text("f", [(1, 2)]) == "f((1, 2))"


def test_layers_that_return_pairs_have_gradients_and_devices() -> None:
    layer = expecting(AppendingLayer).layer("appended")
    layer.gradients(torch.ones(2), pair(3), likely="")
    layer.moves(torch.ones(2), pair(3), likely="")


def test_a_state_left_behind_by_a_moved_module_is_reported() -> None:
    class UnchangedState(AppendingLayer):
        def forward(self, x: torch.Tensor, past: Any = None) -> Any:
            value, (first, second) = super().forward(x, past)
            return value, (first, torch.zeros(second.shape))

    with pytest.raises(AssertionError, match=r"at \[1\]\[1\]:\n.*on another device"):
        expecting(UnchangedState).layer("appended").moves(torch.ones(2), likely="")


def test_a_state_is_passed_on_as_the_same_object() -> None:
    seen = []

    def noting(x: torch.Tensor, past: Any = None) -> Any:
        value, state = appended(x, past)
        seen.append((past, state))
        return value, state

    steps = (Step((torch.ones(2),)), Step((torch.ones(1),), 0), Step((torch.zeros(1),), 0))
    expecting(noting).steps("appended", *steps, likely="")

    assert seen[1][0] is seen[0][1] and seen[2][0] is seen[0][1]


def test_a_state_that_a_later_call_overwrites_is_reported() -> None:
    buffer = torch.zeros(2, 8)

    def buffered(x: torch.Tensor, past: Any = None) -> Any:
        value, state = appended(x, past)
        size = len(state[0])
        buffer[:, :size] = torch.stack(state)
        return value, (buffer[0, :size], buffer[1, :size])

    one_sequence = (Step((torch.ones(2),)), Step((torch.ones(1),), 0))
    expecting(buffered).steps("appended", *one_sequence, likely="")
    in_turns = (Step((torch.ones(2),)), Step((torch.zeros(2),)), Step((torch.ones(1),), 0))
    with pytest.raises(AssertionError, match="with the state of call 0:\nat \\[0\\]\\[1\\]"):
        expecting(buffered).steps("appended", *in_turns, likely="")


def test_a_value_without_a_state_is_reported() -> None:
    with pytest.raises(Exception, match="expected a pair whose second item goes into the next"):
        expecting(lambda x, past=None: x).steps(
            "appended", Step((torch.ones(2),)), Step((torch.ones(1),), 0), likely=""
        )


def test_a_substituted_right_answer_has_gradients_in_pairs() -> None:
    class Solution(LocalImplementation):
        def begin_question(self, question: str) -> None:
            pass

    grader = ReferenceSubstitution(Solution({"appended": appended}), ["appended"])
    # gradients stay on, as in the real grader, which is another process
    exchange = torch.enable_grad()(lambda request: grader.answer(request[1:]))
    function = stand_in("appended", appended, exchange)
    substituting = LocalImplementation({"appended": lambda x, past: function(x, past)})
    right = LocalImplementation({"appended": appended})

    expect = Expect(substituting, right, Draw(1, "substituted"))
    expect.gradients("appended", torch.ones(2), pair(3), likely="")
    shared = torch.linspace(1, 2, 2)
    expect.gradients("appended", shared, (shared, shared), likely="")
