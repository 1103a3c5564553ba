"""If a module contains no answer, the notebook with the same name is graded instead."""

from __future__ import annotations

import pytest

from autograder.submission import is_unanswered

STUB = 'def half(x):\n    """Half of it."""\n    raise NotImplementedError\n\n'
LAYER = """
class Layer(nn.Module):
    def __init__(self, size):
        super().__init__()
        raise NotImplementedError

    def forward(self, x):
        raise NotImplementedError("later")
"""
BUILT = LAYER.replace("        raise NotImplementedError\n", "        self.size = size\n")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# nothing but a remark\n",
        STUB + LAYER,
        STUB.replace("Half of it.", "As an older release said it.") + LAYER,
        "import math\n\nprint(1)\n" + STUB.replace("    raise", "    y = x / 2\n    raise") + BUILT,
    ],
)
def test_stubs_are_not_answers_whatever_surrounds_them(text: str) -> None:
    assert is_unanswered(text, ["half", "Layer"])


@pytest.mark.parametrize(
    "text",
    [
        STUB.replace("raise NotImplementedError", "return x / 2") + LAYER,
        STUB.replace("    raise", "    return x / 2\n    raise") + LAYER,
        STUB.replace("    raise", "    if x is None:\n        raise") + LAYER,
        STUB + BUILT.replace('raise NotImplementedError("later")', "return x"),
        STUB + LAYER + "half = lambda x: x / 2\n",
        STUB + LAYER + "if True:\n    def half(x):\n        return x / 2\n",
        STUB + LAYER + "from answers import half\n",
        STUB + LAYER + "from answers import *\n",
        "@cached\n" + STUB + LAYER,
        LAYER,
        STUB + LAYER + "def half(x:\n",
    ],
)
def test_code_that_may_return_a_result_is_an_answer(text: str) -> None:
    assert not is_unanswered(text, ["half", "Layer"])
