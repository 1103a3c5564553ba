"""Our solutions reproduce published numbers about decoder attention."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch

from autograder.course import load_course
from autograder.suite import load_module

published = load_module(Path(__file__).with_name("published.py"), "_published_outputs")
ENTRIES: dict[str, dict[str, Any]] = published.entries()
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ENTRIES)
def test_published_output_is_computed_again(name: str) -> None:
    expected = torch.tensor(ENTRIES[name]["values"], dtype=torch.float64)
    bound = ENTRIES[name]["tolerance"]

    got = published.computed(name).double()

    torch.testing.assert_close(
        got, expected, rtol=bound.get("relative", 0.0), atol=bound.get("absolute", 0.0)
    )


def test_no_published_output_is_lost() -> None:
    assert set(ENTRIES) == set(published.RECIPES)
    sizes = {name: torch.tensor(entry["values"]).numel() for name, entry in ENTRIES.items()}
    assert sizes == {
        "cs336-masked-sdpa": 768,
        "cs336-rope": 768,
        "d2l-dot-product": 8,
        "d2l-weights": 20,
        "flash-bottom-right": 10,
        "flash-groups": 6,
        "llama3-freqs": 64,
    }


def test_every_output_has_its_source_and_license() -> None:
    licenses = Counter(entry["license"] for entry in ENTRIES.values())
    assert licenses == {"MIT": 3, "MIT-0 (code), CC BY-SA 4.0 (text)": 2, "BSD-3-Clause": 2}
    assert all(entry["source"] and entry["how"] for entry in ENTRIES.values())


def test_outputs_belong_to_questions_of_the_assignment() -> None:
    (assignment,) = [a for a in load_course(ROOT).assignments if a.name == "decoder_attention"]
    questions = {q.name for exercise in assignment.exercises for q in exercise.questions}
    assert {question for entry in ENTRIES.values() for question in entry["questions"]} <= questions


def test_the_turned_columns_are_those_of_the_published_seed() -> None:
    drawn = torch.randn(4, 12, 64, generator=torch.Generator().manual_seed(4))[0]
    halves = torch.cat([drawn[:, 0::2], drawn[:, 1::2]], dim=1)

    given = torch.tensor(ENTRIES["cs336-rope"]["inputs"]["x"])

    torch.testing.assert_close(given, halves, rtol=0.0, atol=1e-6)


def test_a_pairing_of_neighbours_would_show() -> None:
    module = published.solution("rotary_embedding")
    x = torch.tensor(ENTRIES["cs336-rope"]["inputs"]["x"])
    angles = module.rotary_angles(torch.arange(12.0), 64)
    even, odd = x[:, 0::2], x[:, 1::2]
    pairs = (even * angles.cos() - odd * angles.sin(), odd * angles.cos() + even * angles.sin())

    neighbours = torch.stack(pairs, dim=-1).flatten(1)

    distance = (neighbours - torch.tensor(ENTRIES["cs336-rope"]["values"])).abs().max()
    assert math.isfinite(distance) and distance > 1
