"""The meta device, used as a second device, refuses exactly the calls that a GPU refuses."""

from typing import Any

import pytest
import torch

from autograder.suite import raised
from autograder.worker import execution
from autograder.worker.devices import MIXED_DEVICES

STAYED = torch.ones(4, 4, dtype=torch.bool).triu(1)
SCALE = torch.tensor(3.0).sqrt()


@pytest.mark.parametrize(
    "forward",
    [
        lambda x: x.masked_fill(STAYED, -torch.inf),
        lambda x: (x * 1).masked_fill_(STAYED, -torch.inf),
        lambda x: torch.where(STAYED, -torch.inf, x),
        lambda x: x + STAYED.float(),
        lambda x: torch.matmul(x, STAYED.float()),
        lambda x: x / torch.tensor([3.0]),
        lambda x: x * torch.ones(1, 1, 1),
        lambda x: torch.vmap(lambda one: one.masked_fill(STAYED, 0.0))(x),
    ],
)
def test_a_tensor_that_stayed_behind_is_refused(forward: Any) -> None:
    with pytest.raises(RuntimeError, match=MIXED_DEVICES):
        execution.call(forward, [torch.ones(2, 4, 4, device="meta")])


@pytest.mark.parametrize(
    "forward",
    [
        lambda x: x / SCALE,
        lambda x: torch.where(x > SCALE, x, SCALE),
        lambda x: x / torch.tensor(3.0),
        lambda x: x.masked_fill(STAYED.to(x.device), -torch.inf),
        lambda x: x.index_put((torch.tensor([0]),), torch.zeros((), device=x.device)),
        lambda x: x.cpu().to(x.device),
    ],
)
def test_operations_of_a_real_device_are_allowed(forward: Any) -> None:
    value, _ = execution.call(forward, [torch.ones(2, 4, 4, device="meta")])

    assert value.shape == (2, 4, 4) and value.device.type == "meta"


def test_a_value_on_the_first_device_shows() -> None:
    def forward(x: torch.Tensor) -> Any:
        out = torch.empty(2, 4, 4)
        out[:] = x
        return out

    value, _ = execution.call(forward, [torch.ones(2, 4, 4, device="meta")])

    assert value.device.type == "cpu"


class _WithPlainMask(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.mask = torch.ones(2, 2).triu(1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mask = self.mask.bool()[:2, :2]
        return x.masked_fill(mask, -torch.inf)


def test_a_tensor_made_from_a_plain_attribute_keeps_its_name() -> None:
    with pytest.raises(RuntimeError, match=r"`self.mask` is a plain attribute"):
        execution.call(_WithPlainMask(), [torch.ones(2, 2, device="meta")])


def test_a_student_gets_advice_about_a_tensor_left_behind() -> None:
    with pytest.raises(RuntimeError) as refused:
        execution.call(lambda x: x / torch.tensor([3.0]), [torch.ones(2, device="meta")])

    assert "register it as a buffer" in raised.advice_for(f"RuntimeError: {refused.value}")
