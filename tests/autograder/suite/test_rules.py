"""A call that is not allowed is found by whatever name it is reached."""

from __future__ import annotations

import pytest

from autograder.errors import AnswerForbidden
from autograder.suite.forbidden import torch_softmax
from autograder.suite.names import names_used

RULE = torch_softmax("write it yourself")

WAYS_AROUND = {
    "reference": "return torch._refs.softmax(x, -1)",
    "alias of the references": "return refs.special.softmax(x, -1)",
    "decomposition": "return torch._decomp.decompositions._softmax(x, -1, False)",
    "text": "return getattr(torch, 'softmax')(x, -1)",
    "text in parts": "return vars(torch)['soft' + 'max'](x, -1)",
    "dictionary of a module": "return torch.__dict__['softmax'](x, -1)",
    "thread": "threading.Thread(target=print).start()\n    return x",
    "custom backward": "return Own.apply(x)",
}
MODULE = """
import operator
import threading
import torch
import torch._refs as refs

class Own(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x
    @staticmethod
    def backward(ctx, grad):
        return vars(torch)["soft" + "max"](grad, -1)

def softmax(x):
    {body}
"""


def _check(body: str) -> None:
    source = MODULE.replace("{body}", body)
    RULE.check("softmax", frozenset(), names_used(source, "softmax"))


@pytest.mark.parametrize("way", WAYS_AROUND)
def test_a_way_around_is_found(way: str) -> None:
    with pytest.raises(AnswerForbidden, match="does not allow"):
        _check(WAYS_AROUND[way])


@pytest.mark.parametrize(
    "body",
    [
        "return getattr(x, 'exp')() / getattr(x, 'exp')().sum(-1, keepdim=True)",
        "return (x - x.logsumexp(-1, keepdim=True)).exp()",
        "names = {'softmax': 1}\n    return x * names['softmax']",
    ],
)
def test_what_is_allowed_is_let_through(body: str) -> None:
    _check(body)
