"""A forbidden call is detected, whatever name the code gives it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from autograder.errors import AnswerForbidden
from autograder.suite.forbidden_calls import Forbidden, rules_of
from autograder.suite.local import LocalImplementation
from autograder.suite.names import names_used

SUITES = Path(__file__).parents[2] / "hidden"


def _rule(assignment: str, question: str) -> Forbidden:
    return rules_of(str(SUITES / assignment / "test_any.py"))[question]


RULE = _rule("simplified_attention", "softmax")

WAYS_AROUND = {
    "reference": "return torch._refs.softmax(x, -1)",
    "alias of the references": "return refs.special.softmax(x, -1)",
    "decomposition": "return torch._decomp.decompositions._softmax(x, -1, False)",
    "text": "return getattr(torch, 'softmax')(x, -1)",
    "text in parts": "return vars(torch)['soft' + 'max'](x, -1)",
    "dictionary of a module": "return torch.__dict__['softmax'](x, -1)",
    "transform": "return torch.distributions.transforms.SoftmaxTransform()(x)",
    "registry": "return torch.distributions.constraint_registry.transform_to.register(x)",
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


def _check_names(source: str) -> None:
    found = frozenset(filter(RULE.excludes, names_used(source, "softmax")))
    RULE.check("softmax", frozenset(), found)


def _check(body: str) -> None:
    source = MODULE.replace("{body}", body)
    _check_names(source)


@pytest.mark.parametrize("way", WAYS_AROUND)
def test_code_that_evades_a_rule_is_found(way: str) -> None:
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
def test_allowed_calls_are_not_reported(body: str) -> None:
    _check(body)


OWN = {
    "layer": "class Net(torch.nn.Module):\n"
    "    def __init__(self):\n"
    "        super().__init__()\n"
    "        self.softmax = Own()\n"
    "    def forward(self, x):\n"
    "        return self.softmax(x)\n"
    "def softmax(x):\n    return Net()(x)\n",
    "static_method": "class Net:\n"
    "    softmax = staticmethod(lambda x: x.exp() / x.exp().sum())\n"
    "def softmax(x):\n    net = Net()\n    return net.softmax(x)\n",
    "field": "class Tools:\n"
    "    softmax: Callable\n"
    "def softmax(x):\n    return tools_of(Tools).softmax(x)\n",
    "name_space": "def softmax(x):\n"
    "    tools = SimpleNamespace(softmax=own)\n"
    "    return tools.softmax(x)\n",
}


@pytest.mark.parametrize("kind", OWN)
def test_a_students_attribute_is_not_a_method_of_tensors(kind: str) -> None:
    _check_names(f"import torch\n{OWN[kind]}")


@pytest.mark.parametrize(
    "code",
    [
        "class Net:\n    softmax = torch.softmax\ndef softmax(x):\n    return Net().softmax(x)\n",
        "softmax: object = torch.softmax\n",
        "def softmax(x):\n    return x.softmax(-1)\nsoftmax: object\n",
        "class Net:\n    softmax = 0\ndef softmax(x):\n    return x.softmax(-1)\n",
        "names = dict(softmax=0)\ndef softmax(x):\n    y = x * 1\n    return y.softmax(-1)\n",
    ],
)
def test_a_torch_function_under_another_name_is_found(code: str) -> None:
    with pytest.raises(AnswerForbidden, match="does not allow"):
        _check_names(f"import torch\n{code}")


#: each rule, with forbidden calls that are written as functions and as layers
FORMS: dict[str, tuple[Forbidden, dict[str, str]]] = {
    "layer_norm": (
        _rule("transformer_block", "add_and_norm"),
        {
            "function": "f.layer_norm(x, (4,))",
            "layer": "n.LayerNorm(4)(x)",
            "group_norm": "n.GroupNorm(1, 4)(x.reshape(-1, 4)).reshape(x.shape)",
            "instance_norm": "n.InstanceNorm1d(3)(x)",
            "batch_norm": "n.BatchNorm1d(3)(x)",
            "rms_norm": "n.RMSNorm(4)(x)",
            "inside_a_layer": "n.TransformerEncoderLayer(4, 1, 8, batch_first=True)(x)",
        },
    ),
    "dropout": (
        _rule("causal_attention", "dropout"),
        {
            "function": "f.dropout(x, 0.5)",
            "layer": "n.Dropout(0.5)(x)",
            "layer_in_eval": "n.Dropout(0.5).eval()(x)",
            "rate_of_zero": "n.Dropout(0.0)(x)",
            "features": "n.Dropout1d(0.5)(x)",
            "alpha": "n.AlphaDropout(0.5)(x)",
        },
    ),
    "softmax": (
        _rule("simplified_attention", "softmax"),
        {
            "function": "f.softmax(x, -1)",
            "layer": "n.Softmax(-1)(x)",
            "log": "n.LogSoftmax(-1)(x).exp()",
            "minimum": "n.Softmin(-1)(-x)",
            "transform": "torch.distributions.transforms.SoftmaxTransform()(x)",
            "simplex": "(d := torch.distributions).transform_to(d.constraints.simplex)(x)",
            "attention": "n.MultiheadAttention(4, 1, batch_first=True)(x, x, x)[0]",
        },
    ),
    "attention": (
        _rule("decoder_attention", "masked_attention"),
        {
            "function": "f.scaled_dot_product_attention(x, x, x)",
            "layer": "n.MultiheadAttention(4, 1, batch_first=True)(x, x, x)[0]",
            "without_weights": "n.MultiheadAttention(4, 1)(x, x, x, need_weights=False)[0]",
            "in_eval": "n.MultiheadAttention(4, 1, batch_first=True).eval()(x, x, x)[0]",
            "encoder": "n.TransformerEncoderLayer(4, 1, 8, batch_first=True)(x)",
            "decoder": "n.TransformerDecoderLayer(4, 1, 8, batch_first=True)(x, x)",
        },
    ),
}
#: places where only the executed operators reveal a call, because no name does
PLACES = {
    "forward": "def answer(x):\n    return {call}\n",
    "backward": (
        "class Own(torch.autograd.Function):\n"
        "    @staticmethod\n"
        "    def forward(ctx, x):\n"
        "        ctx.save_for_backward(x)\n"
        "        return x * 2\n"
        "    @staticmethod\n"
        "    def backward(ctx, grad):\n"
        "        (x,) = ctx.saved_tensors\n"
        "        with torch.enable_grad():\n"
        "            {call}\n"
        "        return grad * 2\n"
        "def answer(x):\n"
        "    return Own.apply(x)\n"
    ),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("rule", "form"), [(r, form) for r in FORMS for form in FORMS[r][1]])
def test_a_layer_is_recognized_like_its_function(rule: str, form: str, place: str) -> None:
    forbidden, forms = FORMS[rule]
    text = "import torch\nf, n = torch.nn.functional, torch.nn\n"
    text += PLACES[place].replace("{call}", forms[form])
    namespace: dict[str, object] = {}
    exec(text, namespace)
    implementation = LocalImplementation(namespace)
    inputs = [torch.randn(2, 3, 4)]
    watched = implementation.operators("answer", inputs, True, forbidden.watched)
    with pytest.raises(AnswerForbidden, match="uses the operator"):
        forbidden.check("answer", watched.operators, frozenset())


@pytest.mark.parametrize("rule", FORMS)
def test_code_that_breaks_no_rule_is_not_reported(rule: str) -> None:
    def answer(x: torch.Tensor) -> torch.Tensor:
        hidden = torch.nn.Linear(4, 4)(torch.nn.GELU()(x))
        return (hidden - hidden.logsumexp(-1, keepdim=True)).exp() @ x.transpose(-1, -2)

    forbidden, inputs = FORMS[rule][0], [torch.randn(2, 3, 4)]
    implementation = LocalImplementation({"answer": answer})
    watched = implementation.operators("answer", inputs, True, forbidden.watched)
    forbidden.check("answer", watched.operators, frozenset())
