"""Recomputes published numbers, with one function for each file in `published/`.

Each function uses the solutions of our questions. Random inputs are in the file; nothing here
contains a published result.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from autograder.suite import load_module

HERE = Path(__file__).parent
SOLUTIONS = HERE.parents[1] / "solutions" / "decoder_attention"

Inputs = Mapping[str, torch.Tensor]


@cache
def solution(exercise: str) -> ModuleType:
    """Returns the solution module of an exercise in `decoder_attention`."""
    return load_module(SOLUTIONS / f"{exercise}.py", f"_published_{exercise}")


@cache
def entries() -> dict[str, dict[str, Any]]:
    """Returns every published output by the name of its file."""
    files = sorted((HERE / "published").glob("*.json"))
    return {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in files}


def computed(name: str) -> torch.Tensor:
    """Recomputes a published output from the inputs in its file."""
    given = entries()[name]["inputs"]
    return RECIPES[name]({key: torch.tensor(value) for key, value in given.items()})


def _llama3_frequencies(inputs: Inputs) -> torch.Tensor:
    angles = solution("rotary_embedding").rotary_angles(torch.tensor([1.0]), 128, 500000.0)
    return torch.as_tensor(angles[0])


def _turned(inputs: Inputs) -> torch.Tensor:
    module, x = solution("rotary_embedding"), inputs["x"]
    angles = module.rotary_angles(torch.arange(float(x.shape[0])), x.shape[1])
    return torch.as_tensor(module.apply_rotary(x, angles))


def _padded(values: torch.Tensor) -> torch.Tensor:
    """Returns attention with equal keys; 2 and 6 keys of the two sequences are not padding."""
    module = solution("cross_attention")
    mask = module.padding_mask(torch.tensor([2, 6]), 10)[:, None]
    # any queries would do, because equal keys get equal weights
    queries = torch.tensor([[[0.3, -1.2]], [[2.0, 0.7]]])
    return torch.as_tensor(module.masked_attention(queries, torch.ones(2, 10, 2), values, mask))


def _padded_values(inputs: Inputs) -> torch.Tensor:
    return _padded(torch.arange(40.0).reshape(1, 10, 4).repeat(2, 1, 1))


def _padded_weights(inputs: Inputs) -> torch.Tensor:
    return _padded(torch.eye(10).expand(2, 10, 10))[:, 0]


def _allowed(inputs: Inputs) -> torch.Tensor:
    return ~torch.as_tensor(solution("kv_cache").decoding_mask(2, 5))


def _groups(inputs: Inputs) -> torch.Tensor:
    """Returns attention with one key, so each query head returns the number of its key head."""
    number = torch.arange(2.0)[None, :, None, None]
    module = solution("grouped_query_attention")
    context = module.grouped_query_attention(torch.ones(1, 6, 1, 4), torch.ones(1, 2, 1, 4), number)
    return torch.as_tensor(context.flatten())


def _masked(inputs: Inputs) -> torch.Tensor:
    attend = solution("cross_attention").masked_attention
    mask = inputs["forbidden"].bool()
    return torch.as_tensor(attend(inputs["queries"], inputs["keys"], inputs["values"], mask))


RECIPES: dict[str, Callable[[Inputs], torch.Tensor]] = {
    "cs336-masked-sdpa": _masked,
    "cs336-rope": _turned,
    "d2l-dot-product": _padded_values,
    "d2l-weights": _padded_weights,
    "flash-bottom-right": _allowed,
    "flash-groups": _groups,
    "llama3-freqs": _llama3_frequencies,
}
