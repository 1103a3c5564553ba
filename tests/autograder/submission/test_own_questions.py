"""A correct answer that uses the same student's wrong answer is never rejected."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from autograder.records import SubmissionResult

from .conftest import Submitted
from .test_accidents import notebook

ROOT = Path(__file__).resolve().parents[3]

SCALING = """
import math
from functools import partial
import torch
def scale_scores(scores, d_k):
    return scores / math.sqrt(d_k)
def attention_weights(queries, keys):
    return torch.softmax(queries @ keys.transpose(-2, -1), -1)
"""
SDPA = "def scaled_dot_product_attention(queries, keys, values"
#: ways in which a correct answer calls the wrong answer `attention_weights`, which does not scale
WAYS = {
    "name": f"{SDPA}):\n    return attention_weights(queries, keys) @ values",
    "default": f"{SDPA}, weigh=attention_weights):\n    return weigh(queries, keys) @ values",
    "alias": f"_weigh = attention_weights\n{SDPA}):\n    return _weigh(queries, keys) @ values",
    "table": f"STEPS = {{'w': attention_weights}}\n{SDPA}):\n"
    "    return STEPS['w'](queries, keys) @ values",
    "item": f"STEPS = {{}}\nSTEPS['w'] = attention_weights\n{SDPA}):\n"
    "    return STEPS['w'](queries, keys) @ values",
    "partial": "def _attend(weigh, q, k, v):\n    return weigh(q, k) @ v\n"
    "scaled_dot_product_attention = partial(_attend, attention_weights)",
    "class": "class _Steps:\n    weigh = staticmethod(attention_weights)\n"
    f"{SDPA}):\n    return _Steps.weigh(queries, keys) @ values",
    "globals": f"{SDPA}):\n    return globals()['attention_weights'](queries, keys) @ values",
    "decorator": "def _weighed(f):\n"
    "    return lambda q, k, v: f(attention_weights(q, k), v)\n"
    "@_weighed\ndef scaled_dot_product_attention(weights, values):\n    return weights @ values",
    "layer": "class _Attend(torch.nn.Module):\n    def forward(self, q, k, v):\n"
    "        return attention_weights(q, k) @ v\nscaled_dot_product_attention = _Attend()",
}
SCORES = "simplified_attention/scores.py"
BLOCKWISE = "decoder_attention/blockwise_attention.py"
#: for each case, the file, its text, and the questions that are not right
OTHERS = {
    "later": (
        SCORES,
        "def query_scores(inputs, query):\n    return attention_scores(query[None], inputs)[0]\n"
        "def attention_scores(queries, keys):\n    return keys @ queries.transpose(-2, -1)\n",
        {"attention_scores"},
    ),
    "circle": (
        SCORES,
        "def query_scores(inputs, query):\n    return attention_scores(query[None], inputs)[0]\n"
        "def attention_scores(queries, keys):\n"
        "    return torch.stack([query_scores(keys, q) for q in queries])\n",
        {"query_scores", "attention_scores"},
    ),
    "never_ends": (
        SCORES,
        "def attention_scores(queries, keys):\n    while True: pass\n"
        "def query_scores(inputs, query):\n    return attention_scores(query[None], inputs)[0]\n",
        {"attention_scores"},
    ),
    "fails": (
        SCORES,
        "attention_scores = 1 / 0\n"
        "def query_scores(inputs, query):\n    return attention_scores(query[None], inputs)[0]\n",
        {"attention_scores"},
    ),
}


@pytest.fixture(scope="module")
def results(graded: Callable[[Submitted], dict[str, SubmissionResult]]) -> Mapping[str, set[str]]:
    """Returns, for each case, the questions that were not answered correctly."""
    solution = (ROOT / "solutions" / BLOCKWISE).read_text(encoding="utf-8")
    files = {way: {"self_attention/scaling.py": SCALING + text} for way, text in WAYS.items()}
    files |= {name: {path: f"import torch\n{text}"} for name, (path, text, _) in OTHERS.items()}
    files["forbidden"] = {BLOCKWISE: _with_a_softmax(solution)}
    submitted = {
        name: {path: text.encode() for path, text in one.items()} for name, one in files.items()
    }
    submitted["broken cell"] = {
        SCORES.replace(".py", ".ipynb"): notebook(
            "def attention_scores(queries, keys:\n    return queries",
            OTHERS["fails"][1].partition("\n")[2],
        )
    }
    return {
        name: {
            question.question
            for exercise in result.exercises
            if exercise.file
            for question in exercise.questions
            if question.score < question.max_score
        }
        for name, result in graded(submitted).items()
    }


def _with_a_softmax(solution: str) -> str:
    """Returns a solution whose `blockwise_attention` calls an answer with torch's softmax."""
    wrong = (
        "\n\ndef attend_block(queries, keys, values):\n"
        "    scores = queries @ keys.mT / queries.shape[-1] ** 0.5\n"
        "    return torch.softmax(scores, -1) @ values, torch.logsumexp(scores, -1)\n"
        "\n\ndef blockwise_attention(queries, keys, values, block_size):\n"
        "    parts = [attend_block(queries, k, v) for k, v in zip(\n"
        "        keys.split(block_size, -2), values.split(block_size, -2))]\n"
        "    output, lse = parts[0]\n"
        "    for other in parts[1:]:\n        output, lse = merge_blocks(output, lse, *other)\n"
        "    return output\n"
    )
    return solution + wrong


@pytest.mark.parametrize("way", WAYS)
def test_a_right_answer_keeps_points_however_it_uses_wrong_ones(
    way: str, results: Mapping[str, set[str]]
) -> None:
    assert results[way] == {"attention_weights"}


@pytest.mark.parametrize("name", OTHERS)
def test_each_mistake_costs_its_own_question(name: str, results: Mapping[str, set[str]]) -> None:
    assert results[name] == OTHERS[name][2]


def test_a_broken_cell_costs_its_own_question(results: Mapping[str, set[str]]) -> None:
    assert results["broken cell"] == {"attention_scores"}


def test_a_forbidden_call_costs_the_question_that_makes_it(
    results: Mapping[str, set[str]],
) -> None:
    assert results["forbidden"] == {"attend_block"}
